// Quantisation to integers and back, per tensor, channel, token and group.
#pragma once

#include "cast.h"
#include "library_logic.h"
#include "library_rows.h"

namespace AscendC {

struct AscendQuantConfig {
    uint32_t calcCount = 0, offsetCount = 0, scaleCount = 0, workLocalSize = 0;
};
inline constexpr AscendQuantConfig ASCEND_QUANT_DEFAULT_CFG = {0, 0, 0, 0};
enum class DeQuantMode { DEQUANT_WITH_SINGLE_ROW, DEQUANT_WITH_MULTI_ROW };
struct DequantParams {
    uint32_t m, n, calCount;
};
struct AntiQuantShapeInfo {
    uint32_t offsetHeight = 0, offsetWidth = 0, scaleHeight = 0, scaleWidth = 0;
};

enum class QuantizePolicy : int32_t { PER_TENSOR, PER_CHANNEL, PER_TOKEN, PER_GROUP };
enum class DequantizePolicy : int32_t { PER_TENSOR, PER_CHANNEL, PER_TOKEN, PER_GROUP };
enum class AntiQuantizePolicy : int32_t { PER_TENSOR, PER_CHANNEL, PER_TOKEN, PER_GROUP };
struct QuantizeConfig {
    QuantizePolicy policy;
    bool hasOffset;
    RoundMode roundMode = RoundMode::CAST_RINT;
    int32_t kDim = 1;
};
struct DequantizeConfig {
    DequantizePolicy policy;
    bool hasOffset = false;
    int32_t kDim = 1;
};
struct AntiQuantizeConfig {
    AntiQuantizePolicy policy;
    bool hasOffset;
    int32_t kDim = 1;
};
struct QuantizeParams {
    uint32_t m, n, groupSize = 0;
};
using DequantizeParams = QuantizeParams;
using AntiQuantizeParams = QuantizeParams;

} // namespace AscendC

namespace host_model {

// A quantisation parameter: a scalar, or a tensor with a value at `place(row, column)`. A uint64_t
// holds a float in its low half.
template <class P> float parameter_value(const P& value) {
    if constexpr (std::is_same<P, uint64_t>::value) {
        auto bits = static_cast<uint32_t>(value);
        float out;
        std::memcpy(&out, &bits, sizeof out);
        return out;
    } else {
        return static_cast<float>(value);
    }
}
template <class P> struct QuantParameter {
    const P& source;
    float at(Instruction& op, int64_t place, uint8_t& state) const {
        if constexpr (IsTensor<P>::value) {
            auto one = op.in(source, place, 1, 1, "the scale or offset");
            if (state == 1) state = one.state(0);
            return parameter_value(one.data[0]);
        } else {
            return parameter_value(source);
        }
    }
};

// dst[i][j] = function(src[i][j], scale, offset) for the first `real` columns of rows that lie
// `src_width` and `dst_width` elements apart; place(i, j) is that of the scale and the offset.
template <class D, class S, class Scale, class Offset, class Place, class F>
void quantise(const char* name, const AscendC::LocalTensor<D>& dst,
              const AscendC::LocalTensor<S>& src, const Scale& scale, const Offset& offset,
              int64_t rows, int64_t real, int64_t src_width, int64_t dst_width, int tensors,
              const Where& where, Place&& place, F&& function) {
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, src);
    if (tensors > 0) take_workspace(name, least_workspace(tensors), where);
    QuantParameter<Scale> scales{scale};
    QuantParameter<Offset> offsets{offset};
    for (int64_t row = 0; row < rows; ++row) {
        auto from = op.in(src, row * src_width, real, 1, "the source");
        auto to = op.out(dst, row * dst_width, real);
        for (int64_t i = 0; i < real; ++i) {
            uint8_t state = from.state(i);
            float a = scales.at(op, place(row, i), state), b = offsets.at(op, place(row, i), state);
            to.data[i] = function(static_cast<float>(from.data[i]), a, b);
            op.set(to, i, state);
        }
    }
}

// x * a + b in half, then rounded to an integer: the documented steps of AscendQuant.
inline int8_t quantise_in_half(float x, float a, float b) {
    half product = float(half(x)) * float(half(a));
    return finish<int8_t>(float(half(float(product) + float(half(b)))));
}

// The place of a parameter under a policy: 0 tensor, 1 channel (column), 2 token (row), 3 group.
template <class Params>
auto place_of_policy(int policy, int32_t k_axis, const Params& params) {
    int64_t group = std::max<int64_t>(params.groupSize, 1), width = params.n;
    int64_t groups = (width + group - 1) / group;
    return [=](int64_t row, int64_t column) -> int64_t {
        if (policy == 0) return 0;
        if (policy == 1) return column;
        if (policy == 2) return row;
        return k_axis == 0 ? row / group * width + column : row * groups + column / group;
    };
}

} // namespace host_model

namespace AscendC {

// Function-like, so that an argument that names one is not expanded before its last use.
#define HOST_MODEL_WITH_SHARED() , HOST_MODEL_SHARED
#define HOST_MODEL_WITHOUT_SHARED()

// Round(src * scale + offset) in half, saturated, with scalars.
#define HOST_MODEL_QUANT(NAME, SHARED, COUNT, ELEMENTS, TENSORS)                                   \
    template <class T, bool isReuseSource = false,                                                 \
              const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>                          \
    void NAME(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src SHARED(), float scale,     \
              float offset COUNT, HOST_MODEL_WHERE) {                                              \
        int64_t count = ELEMENTS;                                                                  \
        ::host_model::quantise(                                                                    \
            #NAME, dst, src, scale, offset, 1, count, count, count, TENSORS, where,                \
            [](int64_t, int64_t) { return int64_t(0); },                                           \
            [](float x, float a, float b) { return ::host_model::quantise_in_half(x, a, b); });    \
    }
// The same per channel: the scales have the length of a row.
#define HOST_MODEL_QUANT_CHANNEL(NAME, SHARED, OFFSET, COUNT, WIDTH, ELEMENTS, TENSORS)            \
    template <class T, bool isReuseSource = false,                                                 \
              const AscendQuantConfig& config = ASCEND_QUANT_DEFAULT_CFG>                          \
    void NAME(const LocalTensor<int8_t>& dst, const LocalTensor<T>& src SHARED(),                  \
              const LocalTensor<T>& scaleTensor, OFFSET COUNT, HOST_MODEL_WHERE) {                 \
        int64_t width = std::max<int64_t>(WIDTH, 1), count = ELEMENTS;                             \
        ::host_model::quantise(                                                                    \
            #NAME, dst, src, scaleTensor, offset, count / width, width, width, width, TENSORS,     \
            where, [](int64_t, int64_t column) { return column; },                                 \
            [](float x, float a, float b) { return ::host_model::quantise_in_half(x, a, b); });    \
    }
#define HOST_MODEL_QUANT_COUNT , uint32_t calCount
#define HOST_MODEL_QUANT_COUNTS , uint32_t scaleCount, uint32_t calCount
#define HOST_MODEL_QUANT_THREE_COUNTS , uint32_t scaleCount, uint32_t, uint32_t calCount
#define HOST_MODEL_QUANT_OFFSET ::host_model::Scalar<T> offset
#define HOST_MODEL_QUANT_OFFSETS const LocalTensor<T>& offset
#define HOST_MODEL_QUANT_FORMS(NAME, SHARED, TENSORS)                                              \
    HOST_MODEL_QUANT(NAME, SHARED, HOST_MODEL_QUANT_COUNT, calCount, TENSORS)                      \
    HOST_MODEL_QUANT(NAME, SHARED, , (config.calcCount ? config.calcCount : src.elements),         \
                     TENSORS)                                                                      \
    HOST_MODEL_QUANT_CHANNEL(NAME, SHARED, HOST_MODEL_QUANT_OFFSET, HOST_MODEL_QUANT_COUNTS,       \
                             scaleCount, calCount, TENSORS)                                        \
    HOST_MODEL_QUANT_CHANNEL(NAME, SHARED, HOST_MODEL_QUANT_OFFSETS,                               \
                             HOST_MODEL_QUANT_THREE_COUNTS, scaleCount, calCount, TENSORS)         \
    HOST_MODEL_QUANT_CHANNEL(NAME, SHARED, HOST_MODEL_QUANT_OFFSET, , scaleTensor.elements,        \
                             src.elements, TENSORS)                                                \
    HOST_MODEL_QUANT_CHANNEL(NAME, SHARED, HOST_MODEL_QUANT_OFFSETS, , scaleTensor.elements,       \
                             src.elements, TENSORS)
HOST_MODEL_QUANT_FORMS(AscendQuant, HOST_MODEL_WITH_SHARED, 0)
HOST_MODEL_QUANT_FORMS(AscendQuant, HOST_MODEL_WITHOUT_SHARED,
                       ::host_model::temporaries::AscendQuant)

// src * deqScale, with a scale per column or one scale. The rows of dst fill whole blocks; a single
// row of several times calCount elements counts as that many rows.
#define HOST_MODEL_LIBRARY_DEQUANT(NAME, SHARED, SCALE, TENSORS)                                   \
    template <class dstT, class scaleT, DeQuantMode mode = DeQuantMode::DEQUANT_WITH_SINGLE_ROW>   \
    void NAME(const LocalTensor<dstT>& dst, const LocalTensor<int32_t>& src,                       \
              SCALE deqScale SHARED, DequantParams params, HOST_MODEL_WHERE) {                     \
        constexpr uint32_t block = 32 / sizeof(dstT);                                              \
        if (mode == DeQuantMode::DEQUANT_WITH_SINGLE_ROW && params.m == 1 && params.calCount &&    \
            params.calCount % block == 0 && params.n % params.calCount == 0)                       \
            params = {params.n / params.calCount, params.calCount, params.calCount};               \
        ::host_model::quantise(                                                                    \
            #NAME, dst, src, deqScale, 0.0f, params.m, params.calCount, params.n,                  \
            (params.n + block - 1) / block * block, TENSORS, where,                                \
            [](int64_t, int64_t column) { return column; },                                        \
            [](float x, float a, float) { return static_cast<dstT>(x * a); });                     \
    }
HOST_MODEL_LIBRARY_DEQUANT(AscendDequant, HOST_MODEL_COMMA HOST_MODEL_SHARED,
                           const LocalTensor<scaleT>&, 0)
HOST_MODEL_LIBRARY_DEQUANT(AscendDequant, , const LocalTensor<scaleT>&,
                   ::host_model::temporaries::AscendDequant)
HOST_MODEL_LIBRARY_DEQUANT(AscendDequant, HOST_MODEL_COMMA HOST_MODEL_SHARED, scaleT, 0)
HOST_MODEL_LIBRARY_DEQUANT(AscendDequant, , scaleT, ::host_model::temporaries::AscendDequant)

// scale * (src + offset): parameters per group of rows, per group of columns if transposed, or
// scalars.
#define HOST_MODEL_LIBRARY_ANTIQUANT(NAME, SHARED, TENSORS)                                        \
    template <class InputDataType, class OutputDataType, bool isTranspose>                         \
    void NAME(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,       \
              const LocalTensor<OutputDataType>& offset,                                           \
              const LocalTensor<OutputDataType>& scale SHARED, uint32_t k,                         \
              const AntiQuantShapeInfo& shapeInfo = {}, HOST_MODEL_WHERE) {                        \
        int64_t height = shapeInfo.scaleHeight, width = shapeInfo.scaleWidth;                      \
        if (!height || !width) height = scale.shape.shape[0], width = scale.shape.shape[1];        \
        int64_t parts = std::max<int64_t>(isTranspose ? width : height, 1);                        \
        int64_t group = std::max<int64_t>(k / parts, 1);                                           \
        int64_t rows = isTranspose ? height : k, columns = isTranspose ? k : width;                \
        ::host_model::quantise(                                                                    \
            #NAME, dst, src, scale, offset, rows, columns, columns, columns, TENSORS, where,       \
            [=](int64_t row, int64_t column) {                                                     \
                return isTranspose ? row * width + column / group : row / group * width + column;  \
            },                                                                                     \
            [](float x, float a, float b) { return static_cast<OutputDataType>((x + b) * a); });   \
    }                                                                                              \
    template <class InputDataType, class OutputDataType, bool isTranspose>                         \
    void NAME(const LocalTensor<OutputDataType>& dst, const LocalTensor<InputDataType>& src,       \
              ::host_model::Scalar<OutputDataType> offset,                                         \
              ::host_model::Scalar<OutputDataType> scale SHARED, uint32_t k,                       \
              const AntiQuantShapeInfo& shapeInfo = {}, HOST_MODEL_WHERE) {                        \
        (void)k, (void)shapeInfo;                                                                  \
        int64_t count = static_cast<int64_t>(src.elements);                                        \
        ::host_model::quantise(                                                                    \
            #NAME, dst, src, scale, offset, 1, count, count, count, TENSORS, where,                \
            [](int64_t, int64_t) { return int64_t(0); },                                           \
            [](float x, float a, float b) { return static_cast<OutputDataType>((x + b) * a); });   \
    }
HOST_MODEL_LIBRARY_ANTIQUANT(AscendAntiQuant, HOST_MODEL_COMMA HOST_MODEL_SHARED, 0)
HOST_MODEL_LIBRARY_ANTIQUANT(AscendAntiQuant, , ::host_model::temporaries::AscendAntiQuant)

// The same three with the policy in the configuration.
#define HOST_MODEL_POLICY(NAME, BEFORE, AFTER, TENSORS, EXPRESSION)                                \
    template <const NAME##Config& config, class DstT, class SrcT, class ScaleT, class OffsetT>     \
    void NAME(const LocalTensor<DstT>& dst, const LocalTensor<SrcT>& src BEFORE,                   \
              const ScaleT& scale, const OffsetT& offset AFTER, const NAME##Params& params,        \
              HOST_MODEL_WHERE) {                                                                  \
        auto compute = [](float x, float a, float b) {                                             \
            (void)b;                                                                               \
            return EXPRESSION;                                                                     \
        };                                                                                         \
        auto place = ::host_model::place_of_policy(static_cast<int>(config.policy), config.kDim,   \
                                                   params);                                        \
        if constexpr (config.hasOffset)                                                            \
            ::host_model::quantise(#NAME, dst, src, scale, offset, params.m, params.n, params.n,   \
                                   params.n, TENSORS, where, place, compute);                      \
        else                                                                                       \
            ::host_model::quantise(#NAME, dst, src, scale, 0.0f, params.m, params.n, params.n,     \
                                   params.n, TENSORS, where, place, compute);                      \
    }
#define HOST_MODEL_ONE_MORE , HOST_MODEL_SHARED
HOST_MODEL_POLICY(Quantize, HOST_MODEL_ONE_MORE, , 0,
                  (::host_model::convert<config.roundMode, DstT>(x * a + b)))
HOST_MODEL_POLICY(Quantize, , , ::host_model::temporaries::Quantize,
                  (::host_model::convert<config.roundMode, DstT>(x * a + b)))
HOST_MODEL_POLICY(Dequantize, , HOST_MODEL_ONE_MORE, 0, static_cast<DstT>(x * a))
HOST_MODEL_POLICY(Dequantize, , , ::host_model::temporaries::Dequantize, static_cast<DstT>(x * a))
HOST_MODEL_POLICY(AntiQuantize, , HOST_MODEL_ONE_MORE, 0, static_cast<DstT>((x + b) * a))
HOST_MODEL_POLICY(AntiQuantize, , , ::host_model::temporaries::AntiQuantize,
                  static_cast<DstT>((x + b) * a))

} // namespace AscendC
