// Softmax over rows, its online forms and its gradient.
#pragma once

#include "library_rows.h"

namespace AscendC {

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
struct SoftMaxParams {
    uint32_t srcM = 0, srcK = 0, oriSrcM = 0, oriSrcK = 0, loopCnt = 1, splitMeanCnt = 8;
    float alpha = 0.9375f;
    SoftMaxParams() = default;
    SoftMaxParams(uint32_t rows, uint32_t width, uint32_t real_rows, uint32_t real_width,
                  uint32_t loops, uint32_t parts, float factor)
        : srcM(rows), srcK(width), oriSrcM(real_rows), oriSrcK(real_width), loopCnt(loops),
          splitMeanCnt(parts), alpha(factor) {}
};

} // namespace AscendC

namespace host_model {

// Rows of a softmax; `spread`: a value of a row fills a block of 32 bytes.
struct Rows {
    int64_t rows, width, real;
    bool spread = true;
};
template <class T>
Rows rows_of(const AscendC::LocalTensor<T>& source, const AscendC::SoftMaxTiling& tiling,
             const AscendC::SoftMaxShapeInfo& shape,
             const AscendC::SoftmaxConfig& config = AscendC::SOFTMAX_DEFAULT_CFG) {
    int64_t width = shape.srcK ? shape.srcK : config.oriSrcK ? config.oriSrcK : tiling.srcK;
    int64_t rows = shape.srcM ? shape.srcM : config.oriSrcM ? config.oriSrcM : tiling.srcM;
    if (!width && source.shape.shapeDim) {
        width = source.shape.shape[source.shape.shapeDim - 1];
        rows = static_cast<int64_t>(source.elements) / std::max<int64_t>(width, 1);
    }
    int64_t real = shape.oriSrcK ? shape.oriSrcK : width;
    return {rows, width, real, config.mode == AscendC::SoftmaxMode::SOFTMAX_NORMAL};
}
// A softmax that starts: checks the rows, and takes hidden work space.
template <class T>
Instruction begin_softmax(const char* name, const Rows& rows, bool hidden, const Where& where) {
    Instruction op(Pipe::V, name, where);
    op.check(rows.width > 0 && rows.rows > 0, "argument",
             text_of("%s: the shape is unknown", op.name()),
             "give SoftMaxShapeInfo, a tiling of these sizes, or SetShapeInfo of the source");
    op.check(rows.real <= rows.width, "argument",
             text_of("%s: rows of %lld elements, of which %lld are real", op.name(),
                     static_cast<long long>(rows.width), static_cast<long long>(rows.real)),
             "oriSrcK is the width before padding, srcK that after it");
    op.check(rows.width * sizeof(T) % BLOCK_BYTES == 0, "alignment",
             text_of("%s: rows of %lld elements are %lld bytes, no multiple of 32", op.name(),
                     static_cast<long long>(rows.width),
                     static_cast<long long>(rows.width * sizeof(T))),
             "pad the rows to whole blocks, and give the real width as oriSrcK");
    if (hidden)
        take_workspace(name, softmax_workspace(static_cast<uint64_t>(rows.width), sizeof(T)),
                       where);
    return op;
}

// Values of rows: one element each, or a block of equal elements.
template <class S>
void put_row_value(Instruction& op, const AscendC::LocalTensor<S>& to, int64_t row, float value,
                   uint8_t state, bool spread = true) {
    int64_t lanes = spread ? BLOCK_BYTES / sizeof(S) : 1;
    auto out = op.out(to, row * lanes, lanes);
    for (int64_t i = 0; i < lanes; ++i) {
        out.data[i] = static_cast<S>(value);
        op.set(out, i, state);
    }
}
template <class S>
float row_value(Instruction& op, const AscendC::LocalTensor<S>& from, int64_t row, uint8_t& state,
                bool spread = true) {
    auto one = op.in(from, row * (spread ? BLOCK_BYTES / int64_t(sizeof(S)) : 1), 1);
    if (state == 1) state = one.state(0);
    return static_cast<float>(one.data[0]);
}

// Operands of a softmax; those that are null are not computed.
template <class T, class S> struct SoftmaxOperands {
    const AscendC::LocalTensor<T>& dst;
    const AscendC::LocalTensor<T>& src;
    const AscendC::LocalTensor<S>*sum = nullptr, *max = nullptr, *in_sum = nullptr,
                                 *in_max = nullptr, *reduced_max = nullptr;
    const AscendC::LocalTensor<T>* exp_max = nullptr;
};
enum class SoftmaxResult { QUOTIENT, LOGARITHM, EXPONENTIAL };

// max = rowmax(src), dst = exp(src - max), sum = rowsum(dst); with the maxima and sums of the
// columns before, these are joined, and exp_max is the factor of what was computed before.
template <SoftmaxResult result, class T, class S>
void softmax(const char* name, const SoftmaxOperands<T, S>& all, const Rows& rows, bool hidden,
             const Where& where) {
    Instruction op = begin_softmax<T>(name, rows, hidden, where);
    std::vector<float> powers(rows.real);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto from = op.in(all.src, row * rows.width, rows.real, 1, "the source");
        uint8_t state = state_of(from);
        float top = -std::numeric_limits<float>::infinity(), before = 0, sum_before = 0;
        for (int64_t i = 0; i < rows.real; ++i) top = std::fmax(top, float(from.data[i]));
        if (all.reduced_max) put_row_value(op, *all.reduced_max, row, top, state, rows.spread);
        if (all.in_max) {
            before = row_value(op, *all.in_max, row, state, rows.spread);
            sum_before = row_value(op, *all.in_sum, row, state, rows.spread);
            top = std::fmax(top, before);
        }
        for (int64_t i = 0; i < rows.real; ++i) powers[i] = std::exp(float(from.data[i]) - top);
        float total = tree_sum(powers.data(), rows.real), factor = 0;
        if (all.in_max) {
            factor = std::exp(before - top) * (result == SoftmaxResult::QUOTIENT ? sum_before : 1);
            total += std::exp(before - top) * sum_before;
            if (result == SoftmaxResult::QUOTIENT) factor /= total;
        }
        auto to = op.out(all.dst, row * rows.width, rows.real);
        for (int64_t i = 0; i < rows.real; ++i) {
            float value = result == SoftmaxResult::EXPONENTIAL ? powers[i] : powers[i] / total;
            if (result == SoftmaxResult::LOGARITHM) value = std::log10(value);
            to.data[i] = static_cast<T>(value);
            op.set(to, i, state);
        }
        if (all.exp_max && all.in_max)
            put_row_value(op, *all.exp_max, row, factor, state, rows.spread);
        if (all.sum) put_row_value(op, *all.sum, row, total, state, rows.spread);
        if (all.max) put_row_value(op, *all.max, row, top, state, rows.spread);
    }
}

// Operands of SoftmaxFlashV3; the last three are null in the first round.
template <class T, class S> struct ShiftedSoftmaxOperands {
    const AscendC::LocalTensor<T>& dst;
    const AscendC::LocalTensor<S>&mean, &sum, &max;
    const AscendC::LocalTensor<T>&src, &exp_max;
    const AscendC::LocalTensor<S>*in_mean, *in_sum, *in_max;
};
// Softmax in rounds (PASA): s = alpha / (1 - alpha); a row is shifted by (its mean - the mean of
// the part that holds the element) * s, and the rounds' maxima and sums are joined relative to the
// running mean. The parts are successive columns.
template <class T, class S>
void shifted_softmax(const ShiftedSoftmaxOperands<T, S>& all, const AscendC::SoftMaxParams& params,
                     bool hidden, const Where& where) {
    Rows rows{params.srcM, params.srcK, params.srcK};
    Instruction op = begin_softmax<T>("SoftmaxFlashV3", rows, hidden, where);
    op.check(params.splitMeanCnt == 8 && params.srcK >= 512 && params.srcK % 64 == 0 &&
                 params.srcM % 8 == 0 && params.loopCnt >= 1,
             "argument",
             text_of("SoftmaxFlashV3: %u rows of %u elements, %u parts, round %u", params.srcM,
                     params.srcK, params.splitMeanCnt, params.loopCnt),
             "rows a multiple of 8, 512 elements or more in multiples of 64, 8 parts, rounds from 1");
    float factor = params.alpha / (1 - params.alpha);
    int64_t width = rows.width, part = width / params.splitMeanCnt;
    std::vector<float> x(width), powers(width);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto from = op.in(all.src, row * width, width, 1, "the source");
        uint8_t state = state_of(from);
        for (int64_t i = 0; i < width; ++i) x[i] = float(from.data[i]);
        float mean = tree_sum(x.data(), width) / width, running = mean;
        for (int64_t first = 0; first < width; first += part) {
            float shift = (mean - tree_sum(&x[first], part) / part) * factor;
            for (int64_t i = first; i < first + part; ++i) x[i] -= shift;
        }
        float top = *std::max_element(x.begin(), x.end()), before = 0, sum_before = 0, scale = 0;
        if (all.in_mean) {
            float mean_before = row_value(op, *all.in_mean, row, state);
            float max_before = row_value(op, *all.in_max, row, state);
            sum_before = row_value(op, *all.in_sum, row, state);
            running = (mean + mean_before * (params.loopCnt - 1)) / params.loopCnt;
            before = (mean_before - running) * factor + max_before;
        }
        float shift = (mean - running) * factor;
        top += shift;
        if (all.in_mean) {
            top = std::max(top, before);
            scale = std::exp(before - top);
        }
        for (int64_t i = 0; i < width; ++i) powers[i] = std::exp(x[i] - (top - shift));
        auto to = op.out(all.dst, row * width, width);
        for (int64_t i = 0; i < width; ++i) {
            to.data[i] = static_cast<T>(powers[i]);
            op.set(to, i, state);
        }
        put_row_value(op, all.mean, row, running, state);
        put_row_value(op, all.sum, row, tree_sum(powers.data(), width) + scale * sum_before, state);
        put_row_value(op, all.max, row, top, state);
        if (all.in_mean) put_row_value(op, all.exp_max, row, scale, state);
    }
}

// dst = exp(src - max) / sum, with the rows' sums and maxima given.
template <class T, class S>
void simple_softmax(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<S>& sum,
                    const AscendC::LocalTensor<S>& max, const AscendC::LocalTensor<T>& src,
                    const Rows& rows, bool hidden, const Where& where) {
    Instruction op = begin_softmax<T>("SimpleSoftMax", rows, hidden, where);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto from = op.in(src, row * rows.width, rows.real, 1, "the source");
        uint8_t state = state_of(from);
        float total = row_value(op, sum, row, state, rows.spread);
        float top = row_value(op, max, row, state, rows.spread);
        auto to = op.out(dst, row * rows.width, rows.real);
        for (int64_t i = 0; i < rows.real; ++i) {
            to.data[i] = static_cast<T>(std::exp(float(from.data[i]) - top) / total);
            op.set(to, i, state);
        }
    }
}

// (grad - sum(grad * y)) * y, or the sums alone.
template <class T>
void softmax_grad(const char* name, const AscendC::LocalTensor<T>& dst,
                  const AscendC::LocalTensor<T>& grad, const AscendC::LocalTensor<T>& src,
                  const Rows& rows, bool front, bool hidden, const Where& where) {
    Instruction op = begin_softmax<T>(name, rows, hidden, where);
    std::vector<float> products(rows.real);
    for (int64_t row = 0; row < rows.rows; ++row) {
        auto y = op.in(src, row * rows.width, rows.real);
        auto slope = op.in(grad, row * rows.width, rows.real);
        for (int64_t i = 0; i < rows.real; ++i)
            products[i] = float(y.data[i]) * float(slope.data[i]);
        float total = tree_sum(products.data(), rows.real);
        if (front) {
            uint8_t state = state_of(y);
            put_row_value(op, dst, row, total, state == 1 ? state_of(slope) : state);
            continue;
        }
        auto to = op.out(dst, row * rows.width, rows.real);
        for (int64_t i = 0; i < rows.real; ++i)
            to.data[i] = static_cast<T>((float(slope.data[i]) - total) * float(y.data[i]));
        op.derive_all(to, y, slope);
    }
}

} // namespace host_model

namespace AscendC {

// The forms with a tensor for the work space, and with hidden work space.
#define HOST_MODEL_SOFTMAX(SHARED, HIDDEN)                                                         \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false,                      \
              bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG,      \
              class S>                                                                             \
    void SoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum, const LocalTensor<S>& max,  \
                 const LocalTensor<T>& src SHARED, const SoftMaxTiling& tiling,                    \
                 const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {                           \
        ::host_model::softmax<::host_model::SoftmaxResult::QUOTIENT, T, S>(                        \
            "SoftMax", {dst, src, &sum, &max},                                                     \
            ::host_model::rows_of(src, tiling, shape, config), HIDDEN, where);                     \
    }                                                                                              \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false,                      \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                                   \
    void SoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& src SHARED,                      \
                 const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},                  \
                 HOST_MODEL_WHERE) {                                                               \
        ::host_model::softmax<::host_model::SoftmaxResult::QUOTIENT, T, T>(                        \
            "SoftMax", {dst, src}, ::host_model::rows_of(src, tiling, shape, config), HIDDEN,      \
            where);                                                                                \
    }                                                                                              \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false,                      \
              bool isDataFormatNZ = false, const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG,      \
              class S>                                                                             \
    void SimpleSoftMax(const LocalTensor<T>& dst, const LocalTensor<S>& sum,                       \
                       const LocalTensor<S>& max, const LocalTensor<T>& src SHARED,                \
                       const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},            \
                       HOST_MODEL_WHERE) {                                                         \
        ::host_model::simple_softmax(                                                              \
            dst, sum, max, src, ::host_model::rows_of(src, tiling, shape, config), HIDDEN, where); \
    }                                                                                              \
    template <class T, bool isReuseSource = false, bool isBasicBlock = false, class S>             \
    void SoftmaxFlash(const LocalTensor<T>& dst, const LocalTensor<S>& sum,                        \
                      const LocalTensor<S>& max, const LocalTensor<T>& src,                        \
                      const LocalTensor<T>& expMax, const LocalTensor<S>& inSum,                   \
                      const LocalTensor<S>& inMax SHARED, const SoftMaxTiling& tiling,             \
                      bool isUpdate = false, const SoftMaxShapeInfo& shape = {},                   \
                      HOST_MODEL_WHERE) {                                                          \
        ::host_model::softmax<::host_model::SoftmaxResult::QUOTIENT, T, S>(                        \
            "SoftmaxFlash",                                                                        \
            {dst, src, &sum, &max, isUpdate ? &inSum : nullptr, isUpdate ? &inMax : nullptr,       \
             nullptr, &expMax},                                                                    \
            ::host_model::rows_of(src, tiling, shape), HIDDEN, where);                             \
    }                                                                                              \
    template <class T, bool isUpdate = false, bool isReuseSource = false,                          \
              bool isBasicBlock = false, bool isDataFormatNZ = false,                              \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG, class S>                          \
    void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<S>& sum,                      \
                        const LocalTensor<S>& max, const LocalTensor<T>& src,                      \
                        const LocalTensor<T>& expMax, const LocalTensor<S>& inSum,                 \
                        const LocalTensor<S>& inMax SHARED, const SoftMaxTiling& tiling,           \
                        const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {                    \
        ::host_model::softmax<::host_model::SoftmaxResult::EXPONENTIAL, T, S>(                     \
            "SoftmaxFlashV2",                                                                      \
            {dst, src, &sum, &max, isUpdate ? &inSum : nullptr, isUpdate ? &inMax : nullptr,       \
             nullptr, &expMax},                                                                    \
            ::host_model::rows_of(src, tiling, shape, config), HIDDEN, where);                     \
    }                                                                                              \
    template <class T, bool isUpdate = false, bool isReuseSource = false,                          \
              bool isBasicBlock = false, bool isDataFormatNZ = false,                              \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                                   \
    void SoftmaxFlashV2(const LocalTensor<T>& dst, const LocalTensor<T>& outReduceMax,             \
                        const LocalTensor<T>& sum, const LocalTensor<T>& max,                      \
                        const LocalTensor<T>& src, const LocalTensor<T>& expMax,                   \
                        const LocalTensor<T>& inSum, const LocalTensor<T>& inMax SHARED,           \
                        const SoftMaxTiling& tiling, const SoftMaxShapeInfo& shape = {},           \
                        HOST_MODEL_WHERE) {                                                        \
        ::host_model::softmax<::host_model::SoftmaxResult::EXPONENTIAL, T, T>(                     \
            "SoftmaxFlashV2",                                                                      \
            {dst, src, &sum, &max, isUpdate ? &inSum : nullptr, isUpdate ? &inMax : nullptr,       \
             isUpdate ? &outReduceMax : nullptr, &expMax},                                         \
            ::host_model::rows_of(src, tiling, shape, config), HIDDEN, where);                     \
    }                                                                                              \
    template <class T, class U, bool isUpdate = false, bool isReuseSource = false,                 \
              bool isBasicBlock = false, bool isDataFormatNZ = false,                              \
              const SoftmaxConfig& config = SOFTMAX_DEFAULT_CFG>                                   \
    void SoftmaxFlashV3(const LocalTensor<T>& dst, const LocalTensor<U>& mean,                     \
                        const LocalTensor<U>& sum, const LocalTensor<U>& max,                      \
                        const LocalTensor<T>& src, const LocalTensor<T>& expMax,                   \
                        const LocalTensor<U>& inMean, const LocalTensor<U>& inSum,                 \
                        const LocalTensor<U>& inMax SHARED, const SoftMaxTiling&,                  \
                        const SoftMaxParams& params, HOST_MODEL_WHERE) {                           \
        ::host_model::shifted_softmax<T, U>(                                                       \
            {dst, mean, sum, max, src, expMax, isUpdate ? &inMean : nullptr,                       \
             isUpdate ? &inSum : nullptr, isUpdate ? &inMax : nullptr},                            \
            params, HIDDEN, where);                                                                \
    }                                                                                              \
    template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>                    \
    void SoftmaxGrad(const LocalTensor<T>& dst, const LocalTensor<T>& grad,                        \
                     const LocalTensor<T>& src SHARED, const SoftMaxTiling& tiling,                \
                     bool isFront = false, const SoftMaxShapeInfo& shape = {},                     \
                     HOST_MODEL_WHERE) {                                                           \
        ::host_model::softmax_grad("SoftmaxGrad", dst, grad, src,                                  \
                                   ::host_model::rows_of(src, tiling, shape), isFront, HIDDEN,     \
                                   where);                                                         \
    }                                                                                              \
    template <class T, bool isBasicBlock = false, bool isDataFormatNZ = false>                     \
    void SoftmaxGradFront(const LocalTensor<T>& dst, const LocalTensor<T>& grad,                   \
                          const LocalTensor<T>& src SHARED, const SoftMaxTiling& tiling,           \
                          const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {                  \
        ::host_model::softmax_grad("SoftmaxGradFront", dst, grad, src,                             \
                                   ::host_model::rows_of(src, tiling, shape), true, HIDDEN,        \
                                   where);                                                         \
    }
HOST_MODEL_SOFTMAX(HOST_MODEL_COMMA HOST_MODEL_SHARED, false)
HOST_MODEL_SOFTMAX(, true)

// log10 of the softmax.
template <class T, bool isReuseSource = false, bool isDataFormatNZ = false>
void LogSoftMax(const LocalTensor<T>& dst, const LocalTensor<T>& sum, const LocalTensor<T>& max,
                const LocalTensor<T>& src, HOST_MODEL_SHARED, const LogSoftMaxTiling& tiling,
                const SoftMaxShapeInfo& shape = {}, HOST_MODEL_WHERE) {
    SoftMaxTiling sizes;
    sizes.srcM = tiling.srcM;
    sizes.srcK = tiling.srcK;
    ::host_model::softmax<::host_model::SoftmaxResult::LOGARITHM, T, T>(
        "LogSoftMax", {dst, src, &sum, &max}, ::host_model::rows_of(src, sizes, shape), false,
        where);
}

// The tiling of SoftmaxFlashV2 for a shape that the kernel knows.
inline SoftMaxTiling SoftMaxFlashV2TilingFunc(const SoftMaxShapeInfo& shapeInfo, uint32_t,
                                              uint32_t, uint32_t, bool = false, bool = false,
                                              bool = false, bool = false) {
    SoftMaxTiling tiling;
    tiling.srcM = shapeInfo.srcM;
    tiling.srcK = shapeInfo.srcK;
    return tiling;
}

// Sets the rows whose maximum has the bits `from` to a value; returns whether there are any.
template <class T1, class T2, bool isDataFormatNZ = false, uint8_t stepSizeMode = 0>
bool AdjustSoftMaxRes(const LocalTensor<T1>& softMaxRes, const LocalTensor<T2>& maxTensor,
                      uint32_t from, ::host_model::Scalar<T1> to, const SoftMaxShapeInfo& shape,
                      HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "AdjustSoftMaxRes", where);
    bool found = false;
    for (int64_t row = 0; row < shape.srcM; ++row) {
        auto top = op.in(maxTensor, row * (stepSizeMode ? 1 : 32 / int64_t(sizeof(T2))), 1);
        op.require(top, "the maxima");
        uint32_t bits = 0;
        std::memcpy(&bits, top.data, sizeof(T2));
        if (bits != from) continue;
        found = true;
        auto out = op.out(softMaxRes, row * shape.srcK, shape.srcK);
        std::fill(out.data, out.data + out.count, static_cast<T1>(to));
        op.derive(out);
    }
    return found;
}

} // namespace AscendC
