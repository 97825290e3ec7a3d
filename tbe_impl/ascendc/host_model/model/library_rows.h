// Library functions over rows: sums, means, softmax, normalisations, broadcast, cumulative sums.
#pragma once

#include "../host/tiling_data.h"
#include "library_math.h"

namespace AscendC {

using namespace optiling;
namespace tiling = optiling;

struct SumParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
struct MeanParams {
    uint32_t outter = 1, inner = 0, n = 0;
};
struct CumSumInfo {
    uint32_t outter{0}, inner{0};
};
enum class CumSumAlgorithm { CUMSUM_ALGORITHM_LINEBYLINE = 0, CUMSUM_ALGORITHM_SKLANSKY = 1 };
struct CumSumConfig {
    bool isLastAxis{true}, isReuseSource{false}, outputLastRow{false};
    CumSumAlgorithm algorithm{CumSumAlgorithm::CUMSUM_ALGORITHM_LINEBYLINE};
};
constexpr CumSumConfig defaultCumSumConfig{};

enum class SoftmaxMode { SOFTMAX_NORMAL = 0, SOFTMAX_OUTPUT_WITHOUT_BRC = 1 };
struct SoftmaxConfig {
    bool isCheckTiling = true;
    uint32_t oriSrcM = 0, oriSrcK = 0;
    SoftmaxMode mode = SoftmaxMode::SOFTMAX_NORMAL;
};
constexpr SoftmaxConfig SOFTMAX_DEFAULT_CFG = {true, 0, 0, SoftmaxMode::SOFTMAX_NORMAL};
struct SoftMaxShapeInfo {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0;
    SoftMaxShapeInfo() = default;
    SoftMaxShapeInfo(uint32_t rows, uint32_t width, uint32_t real_rows, uint32_t real_width)
        : srcM(rows), srcK(width), oriSrcM(real_rows), oriSrcK(real_width) {}
};
enum class DataFormat : uint8_t { ND = 0, NZ, NCHW, NC1HWC0, NHWC, NCDHW, NDC1HWC0 };
struct LayerNormGradShapeInfo {
    DataFormat dataFormat = DataFormat::ND;
};

} // namespace AscendC

namespace host_model {

// Sum by a binary tree over neighbours, in the precision of T: a0+a1, a2+a3, ... then pairs of those.
template <class T> Compute<T> tree_sum(const T* values, int64_t count) {
    std::vector<Compute<T>> level(values, values + count);
    while (level.size() > 1) {
        size_t half = level.size() / 2;
        for (size_t i = 0; i < half; ++i)
            level[i] = static_cast<Compute<T>>(static_cast<T>(level[2 * i] + level[2 * i + 1]));
        if (level.size() % 2) level[half++] = level.back();
        level.resize(half);
    }
    return level.empty() ? Compute<T>(0) : level[0];
}

struct Rows {
    int64_t rows, width, real;
};
template <class T>
Rows rows_of(const AscendC::LocalTensor<T>& source, const AscendC::SoftMaxTiling& tiling,
             const AscendC::SoftMaxShapeInfo& shape, uint32_t config_rows, uint32_t config_width) {
    int64_t width = shape.srcK ? shape.srcK : config_width ? config_width : tiling.srcK;
    int64_t rows = shape.srcM ? shape.srcM : config_rows ? config_rows : tiling.srcM;
    if (!width && source.shape.shapeDim) {
        width = source.shape.shape[source.shape.shapeDim - 1];
        rows = static_cast<int64_t>(source.elements) / std::max<int64_t>(width, 1);
    }
    int64_t real = shape.oriSrcK ? shape.oriSrcK : width;
    return {rows, width, real};
}
// A softmax keeps a few values per row, filled to whole blocks, and a row of exponentials.
template <class T> uint64_t softmax_workspace(const Rows& rows) {
    return static_cast<uint64_t>(std::max<int64_t>(rows.width, 64) + 2 * BLOCK_BYTES / sizeof(T)) * sizeof(float);
}

template <class T>
void check_rows(Instruction& op, const Rows& rows) {
    op.check(rows.width > 0 && rows.rows > 0, "argument",
             text_of("%s: the shape is unknown", op.name()),
             "give SoftMaxShapeInfo, a tiling of these sizes, or SetShapeInfo of the source");
    op.check(rows.width * sizeof(T) % BLOCK_BYTES == 0, "alignment",
             text_of("%s: rows of %lld elements are %lld bytes, no multiple of 32", op.name(),
                     static_cast<long long>(rows.width), static_cast<long long>(rows.width * sizeof(T))),
             "pad the rows to whole blocks, and give the real width as oriSrcK");
}

// Writes a value per row, filled to a block.
template <class S>
void put_row_value(Instruction& op, const AscendC::LocalTensor<S>& to, int64_t row, float value, uint8_t state) {
    int64_t lanes = BLOCK_BYTES / sizeof(S);
    auto out = op.out(to, row * lanes, lanes);
    for (int64_t i = 0; i < lanes; ++i) {
        out.data[i] = static_cast<S>(value);
        op.set(out, i, state);
    }
}
template <class T> uint8_t state_of(const Span<T>& span) {
    if (span.whole) return 1;
    for (int64_t i = 0; i < span.count; ++i)
        if (span.state(i) != 1) return span.state(i) ? span.state(i) : 0;
    return 1;
}

template <class T, class S>
void softmax(const char* name, const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<S>* sum,
             const AscendC::LocalTensor<S>* maximum, const AscendC::LocalTensor<T>& src, const Rows& rows,
             bool hidden, bool logarithm, const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_rows<T>(op, rows);
    if (hidden) take_workspace(name, softmax_workspace<T>(rows), where);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto from = op.in(src, row * rows.width, rows.real);
        auto to = op.out(dst, row * rows.width, rows.real);
        float top = -std::numeric_limits<float>::infinity(), total = 0;
        for (int64_t i = 0; i < rows.real; ++i) top = std::fmax(top, float(from.data[i]));
        std::vector<float> powers(rows.real);
        for (int64_t i = 0; i < rows.real; ++i) powers[i] = std::exp(float(from.data[i]) - top);
        total = tree_sum(powers.data(), rows.real);
        for (int64_t i = 0; i < rows.real; ++i)
            to.data[i] = static_cast<T>(logarithm ? std::log10(powers[i] / total) : powers[i] / total);
        op.derive_all(to, from);
        uint8_t state = state_of(from);
        if (sum) put_row_value(op, *sum, row, total, state);
        if (maximum) put_row_value(op, *maximum, row, top, state);
    }
}

} // namespace host_model

namespace AscendC {

#define HOST_MODEL_SOFTMAX                                                                           \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false, bool isDataFormatNZ = false, \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
#define HOST_MODEL_ROWS                                                                              \
    ::host_model::rows_of(src, tiling, shape, config.oriSrcM, config.oriSrcK)

HOST_MODEL_SOFTMAX void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
                                const LocalTensor<T>& src, const SoftMaxTiling& tiling,
                                const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    ::host_model::softmax("SoftMax", dst, &sum, &max, src, HOST_MODEL_ROWS, true, false, where);
}
HOST_MODEL_SOFTMAX void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
                                const LocalTensor<T>& src, HOST_MODEL_SHARED, const SoftMaxTiling& tiling,
                                const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    ::host_model::softmax("SoftMax", dst, &sum, &max, src, HOST_MODEL_ROWS, false, false, where);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    ::host_model::softmax<T, T>("SoftMax", dst, nullptr, nullptr, src, HOST_MODEL_ROWS, true, false, where);
}
template <class T, bool isReuseSource = false, bool isBasicBlock = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>
void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED, const SoftMaxTiling& tiling,
             const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    ::host_model::softmax<T, T>("SoftMax", dst, nullptr, nullptr, src, HOST_MODEL_ROWS, false, false, where);
}
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max,
                const LocalTensor<T>& src, HOST_MODEL_SHARED, const LogSoftMaxTiling& tiling,
                const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    SoftMaxTiling sizes;
    sizes.srcM = tiling.srcM;
    sizes.srcK = tiling.srcK;
    ::host_model::softmax("LogSoftMax", dst, &sum, &max, src, ::host_model::rows_of(src, sizes, shape, 0, 0),
                          false, true, where);
}

// dst = exp(src - max) / sum, with the rows' sums and maxima given.
HOST_MODEL_SOFTMAX void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum,
                                      const LocalTensor<S>& max, const LocalTensor<T>& src,
                                      HOST_MODEL_SHARED, const SoftMaxTiling& tiling,
                                      const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    auto rows = HOST_MODEL_ROWS;
    ::host_model::Instruction op(::host_model::Pipe::V, "SimpleSoftMax", where);
    ::host_model::check_rows<T>(op, rows);
    for (int64_t row = 0; row < rows.rows; ++row) {
        int64_t lanes = 32 / sizeof(S);
        auto from = op.in(src, row * rows.width, rows.real);
        auto total = op.in(sum, row * lanes, 1);
        auto top = op.in(max, row * lanes, 1);
        auto to = op.out(dst, row * rows.width, rows.real);
        for (int64_t i = 0; i < rows.real; ++i)
            to.data[i] = static_cast<T>(std::exp(float(from.data[i]) - float(top.data[0])) / float(total.data[0]));
        op.derive_all(to, from, total, top);
    }
}
HOST_MODEL_SOFTMAX void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum,
                                      const LocalTensor<S>& max, const LocalTensor<T>& src,
                                      const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},
                                      HOST_MODEL_WHERE) {
    ::host_model::take_workspace("SimpleSoftMax", ::host_model::softmax_workspace<T>(HOST_MODEL_ROWS), where);
    SimpleSoftMax<T, isReuseSource, isBasicBlock, isDataFormatNZ, config>(dst, sum, max, src, LocalTensor<uint8_t>(),
                                                                         tiling, shape, where);
}

// Online softmax: joins the rows' maxima and sums with those of the blocks before.
template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<S>& inSum,
                    const LocalTensor<S>& inMax, HOST_MODEL_SHARED, const SoftMaxTiling& tiling,
                    const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    auto rows = HOST_MODEL_ROWS;
    ::host_model::Instruction op(::host_model::Pipe::V, "SoftmaxFlashV2", where);
    ::host_model::check_rows<T>(op, rows);
    int64_t lanes = 32 / sizeof(S);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto from = op.in(src, row * rows.width, rows.real);
        float top = -std::numeric_limits<float>::infinity(), before = 0, sum_before = 0;
        for (int64_t i = 0; i < rows.real; ++i) top = std::fmax(top, float(from.data[i]));
        if (isUpdate) {
            before = float(op.in(inMax, row * lanes, 1).data[0]);
            sum_before = float(op.in(inSum, row * lanes, 1).data[0]);
            top = std::fmax(top, before);
        }
        uint8_t state = ::host_model::state_of(from);
        auto to = op.out(dst, row * rows.width, rows.real);
        std::vector<float> powers(rows.real);
        for (int64_t i = 0; i < rows.real; ++i) {
            powers[i] = std::exp(float(from.data[i]) - top);
            to.data[i] = static_cast<T>(powers[i]);
        }
        op.derive_all(to, from);
        float total = ::host_model::tree_sum(powers.data(), rows.real);
        if (isUpdate) {
            float scale = std::exp(before - top);
            total += scale * sum_before;
            ::host_model::put_row_value(op, expMax, row, scale, state);
        }
        ::host_model::put_row_value(op, sum, row, total, state);
        ::host_model::put_row_value(op, max, row, top, state);
    }
}
template <class T, bool isUpdate = false, bool isReuseSource = false, bool isBasicBlock = false,
          bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>
void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,
                    const LocalTensor<T>& src, const LocalTensor<T>& expMax, const LocalTensor<S>& inSum,
                    const LocalTensor<S>& inMax, const SoftMaxTiling& tiling,
                    const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("SoftmaxFlashV2", ::host_model::softmax_workspace<T>(HOST_MODEL_ROWS), where);
    SoftmaxFlashV2<T, isUpdate, isReuseSource, isBasicBlock, isDataFormatNZ, config>(
        dst, sum, max, src, expMax, inSum, inMax, LocalTensor<uint8_t>(), tiling, shape, where);
}

// Gradient of a softmax: (grad - sum(grad * y)) * y, or the sums alone.
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                 HOST_MODEL_SHARED, const SoftMaxTiling& tiling, bool isFront = false,
                 const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    auto rows = ::host_model::rows_of(src, tiling, shape, 0, 0);
    ::host_model::Instruction op(::host_model::Pipe::V, "SoftmaxGrad", where);
    ::host_model::check_rows<T>(op, rows);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto y = op.in(src, row * rows.width, rows.real);
        auto slope = op.in(grad, row * rows.width, rows.real);
        std::vector<float> products(rows.real);
        for (int64_t i = 0; i < rows.real; ++i) products[i] = float(y.data[i]) * float(slope.data[i]);
        float total = ::host_model::tree_sum(products.data(), rows.real);
        if (isFront) {
            ::host_model::put_row_value(op, dst, row, total, ::host_model::state_of(y));
            continue;
        }
        auto to = op.out(dst, row * rows.width, rows.real);
        for (int64_t i = 0; i < rows.real; ++i)
            to.data[i] = static_cast<T>((float(slope.data[i]) - total) * float(y.data[i]));
        op.derive_all(to, y, slope);
    }
}
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                 const SoftMaxTiling& tiling, bool isFront = false, const SoftMaxShapeInfo& shape = {},
                 HOST_MODEL_WHERE) {
    auto rows = ::host_model::rows_of(src, tiling, shape, 0, 0);
    ::host_model::take_workspace("SoftmaxGrad", ::host_model::softmax_workspace<T>(rows), where);
    SoftmaxGrad(dst, grad, src, LocalTensor<uint8_t>(), tiling, isFront, shape, where);
}
template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>
void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad, const LocalTensor<T>& src,
                      const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    SoftmaxGrad(dst, grad, src, tiling, true, shape, where);
}

// The sum, or the mean, of each row.
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED, const SumParams& params,
         HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Sum", where);
    op.check(params.n <= params.inner && params.n > 0, "argument",
             ::host_model::text_of("Sum: n is %u and inner %u", params.n, params.inner),
             "n is the real width of a row, inner its width in whole blocks");
    for (uint32_t row = 0; row < params.outter; ++row) {
        auto from = op.in(src, int64_t(row) * params.inner, params.n);
        auto to = op.out(dst, row, 1);
        to.data[0] = static_cast<T>(::host_model::tree_sum(from.data, params.n));
        op.derive_all(to, from);
    }
}
template <class T, int32_t reduceDim = -1, bool isReuseSource = false, bool isBasicBlock = false>
void Sum(const LocalTensor<T>& dst, const LocalTensor<T>& src, const SumParams& params, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("Sum", std::max<uint64_t>(256, (uint64_t(params.inner) * sizeof(T) + 2047) / 2048 * 32), where);
    Sum(dst, src, LocalTensor<uint8_t>(), params, where);
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED, const MeanParams& params,
          HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Mean", where);
    for (uint32_t row = 0; row < params.outter; ++row) {
        auto from = op.in(src, int64_t(row) * params.inner, params.n);
        auto to = op.out(dst, row, 1);
        std::vector<accType> values(from.data, from.data + params.n);
        to.data[0] = static_cast<T>(::host_model::tree_sum(values.data(), params.n) / params.n);
        op.derive_all(to, from);
    }
}
template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false, int32_t reduceDim = -1>
void Mean(const LocalTensor<T>& dst, const LocalTensor<T>& src, const MeanParams& params, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("Mean", std::max<uint64_t>(256, (uint64_t(params.inner) * sizeof(accType) + 2047) / 2048 * 32), where);
    Mean<T, accType>(dst, src, LocalTensor<uint8_t>(), params, where);
}

// dst[.., i] = src[.., 0] + .. + src[.., i] along the last axis, or along the first one.
template <class T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src,
            HOST_MODEL_SHARED, const CumSumInfo& info, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "CumSum", where);
    int64_t rows = info.outter, width = info.inner;
    auto from = op.in(src, 0, rows * width);
    auto to = op.out(dst, 0, rows * width);
    for (int64_t row = 0; row < rows; ++row)
        for (int64_t i = 0; i < width; ++i) {
            bool first = config.isLastAxis ? i == 0 : row == 0;
            int64_t at = row * width + i, before = config.isLastAxis ? at - 1 : at - width;
            to.data[at] = first ? from.data[at] : static_cast<T>(to.data[before] + from.data[at]);
        }
    op.derive_all(to, from);
    if (!config.outputLastRow) return;
    int64_t count = config.isLastAxis ? rows : width;
    auto last = op.out(lastRow, 0, count);
    for (int64_t i = 0; i < count; ++i)
        last.data[i] = to.data[config.isLastAxis ? i * width + width - 1 : (rows - 1) * width + i];
    op.derive_all(last, from);
}
template <class T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src,
            const CumSumInfo& info, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("CumSum", uint64_t(info.outter) * info.inner * sizeof(T), where);
    CumSum<T, config>(dst, lastRow, src, LocalTensor<uint8_t>(), info, where);
}

// Repeats a tensor along the axis on which the source has one element.
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t* dstShape,
               const uint32_t* srcShape, HOST_MODEL_SHARED, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Broadcast", where);
    int64_t from_count = 1, to_count = 1;
    for (int i = 0; i < dim; ++i) {
        op.check(srcShape[i] == dstShape[i] || srcShape[i] == 1, "argument",
                 ::host_model::text_of("Broadcast: axis %d has %u elements in the source, %u in the destination",
                                       i, srcShape[i], dstShape[i]),
                 "an axis of the source is as long as that of the destination, or 1");
        from_count *= srcShape[i];
        to_count *= dstShape[i];
    }
    auto from = op.in(src, 0, from_count);
    auto to = op.out(dst, 0, to_count);
    for (int64_t i = 0; i < to_count; ++i) {
        int64_t rest = i, at = 0, step = 1;
        for (int one = dim - 1; one >= 0; --one) {
            int64_t index = rest % dstShape[one];
            rest /= dstShape[one];
            at += (srcShape[one] == 1 ? 0 : index) * step;
            step *= srcShape[one];
        }
        to.data[i] = from.data[at];
        op.set(to, i, from.state(at));
    }
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void Broadcast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t* dstShape,
               const uint32_t* srcShape, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("Broadcast", ::host_model::least_workspace(2), where);
    Broadcast<T, dim, axis>(dst, src, dstShape, srcShape, LocalTensor<uint8_t>(), where);
}

// y = (x - mean) / sqrt(variance + epsilon) * gamma + beta, over the last axis of [B, S, H].
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
               HOST_MODEL_SHARED, ::host_model::Scalar<T> epsilon, const LayerNormTiling& tiling, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "LayerNorm", where);
    int64_t rows = int64_t(tiling.bLength) * tiling.sLength, width = tiling.hLength;
    int64_t real = tiling.originalHLength ? tiling.originalHLength : width;
    auto scale = op.in(gamma, 0, real);
    auto shift = op.in(beta, 0, real);
    for (int64_t row = 0; row < rows; ++row) {
        auto from = op.in(inputX, row * width, real);
        auto to = op.out(output, row * width, real);
        std::vector<float> values(from.data, from.data + real);
        float mean = ::host_model::tree_sum(values.data(), real) / real;
        for (float& one : values) one = (one - mean) * (one - mean);
        float variance = ::host_model::tree_sum(values.data(), real) / real;
        float factor = 1 / std::sqrt(variance + float(epsilon));
        for (int64_t i = 0; i < real; ++i)
            to.data[i] = static_cast<T>((float(from.data[i]) - mean) * factor * float(scale.data[i]) + float(shift.data[i]));
        op.derive_all(to, from, scale, shift);
        auto mean_out = op.out(outputMean, row, 1);
        auto variance_out = op.out(outputVariance, row, 1);
        mean_out.data[0] = static_cast<T>(mean);
        variance_out.data[0] = static_cast<T>(variance);
        op.derive_all(mean_out, from);
        op.derive_all(variance_out, from);
    }
}
template <class T, bool isReuseSource = false>
void LayerNorm(const LocalTensor<T>& output, const LocalTensor<T>& outputMean, const LocalTensor<T>& outputVariance,
               const LocalTensor<T>& inputX, const LocalTensor<T>& gamma, const LocalTensor<T>& beta,
               ::host_model::Scalar<T> epsilon, const LayerNormTiling& tiling, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("LayerNorm", 3ull * tiling.hLength * sizeof(float), where);
    LayerNorm(output, outputMean, outputVariance, inputX, gamma, beta, LocalTensor<uint8_t>(), epsilon, tiling, where);
}

// y = x / sqrt(mean(x * x) + epsilon) * gamma, over the last axis of [B, S, H].
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma, HOST_MODEL_SHARED,
             ::host_model::Scalar<T> epsilon, const RmsNormTiling& tiling, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "RmsNorm", where);
    int64_t rows = int64_t(tiling.bLength) * tiling.sLength, width = tiling.hLength;
    int64_t real = tiling.originalHLength ? tiling.originalHLength : width;
    auto scale = op.in(gamma, 0, real);
    for (int64_t row = 0; row < rows; ++row) {
        auto from = op.in(src, row * width, real);
        auto to = op.out(dst, row * width, real);
        std::vector<float> squares(real);
        for (int64_t i = 0; i < real; ++i) squares[i] = float(from.data[i]) * float(from.data[i]);
        float factor = 1 / std::sqrt(::host_model::tree_sum(squares.data(), real) / real + float(epsilon));
        for (int64_t i = 0; i < real; ++i)
            to.data[i] = static_cast<T>(float(from.data[i]) * factor * float(scale.data[i]));
        op.derive_all(to, from, scale);
    }
}
template <class T, bool isBasicBlock = false>
void RmsNorm(const LocalTensor<T>& dst, const LocalTensor<T>& src, const LocalTensor<T>& gamma,
             ::host_model::Scalar<T> epsilon, const RmsNormTiling& tiling, HOST_MODEL_WHERE) {
    ::host_model::take_workspace("RmsNorm", 2ull * tiling.hLength * sizeof(float), where);
    RmsNorm(dst, src, gamma, LocalTensor<uint8_t>(), epsilon, tiling, where);
}

} // namespace AscendC
