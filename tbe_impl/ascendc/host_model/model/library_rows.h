// Library functions over rows: sums, means, reductions by pattern, broadcast, cumulative sums.
#pragma once

#include <numeric>

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

// Axes of reductions: A stays, R is reduced.
namespace Pattern {
namespace Reduce {
struct AR {};
struct RA {};
} // namespace Reduce
} // namespace Pattern

} // namespace AscendC

namespace host_model {

// Sum by a binary tree over neighbours, in the precision of T: a0+a1, a2+a3, ... then pairs.
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

// 1 if all elements are defined, else the state of the first that is not.
template <class T> uint8_t state_of(const Span<T>& span) {
    if (span.whole) return 1;
    for (int64_t i = 0; i < span.count; ++i)
        if (span.state(i) != 1) return span.state(i);
    return 1;
}

// Sums (or means, in the type of the accumulator) of the first n elements of rows.
template <class Accumulator, class T, class Params>
void sum_rows(const char* name, const AscendC::LocalTensor<T>& dst,
              const AscendC::LocalTensor<T>& src, const Params& params, bool mean, bool hidden,
              const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, src);
    op.check(params.n <= params.inner && params.n > 0, "argument",
             text_of("%s: n is %u and inner %u", name, params.n, params.inner),
             "n is the real width of a row, inner its width in whole blocks");
    op.check(params.inner * sizeof(T) % BLOCK_BYTES == 0, "alignment",
             text_of("%s: rows of %u elements are %llu bytes, no multiple of 32", name,
                     params.inner,
                     static_cast<unsigned long long>(uint64_t(params.inner) * sizeof(T))),
             "pad the rows to whole blocks: inner is the padded width, n the real one");
    if (hidden) take_workspace(name, sum_workspace(params.inner, sizeof(Accumulator)), where);
    for (uint32_t row = 0; row < params.outter; ++row) {
        auto from = op.in(src, int64_t(row) * params.inner, params.n, 1, "the source");
        auto to = op.out(dst, row, 1);
        std::vector<Accumulator> values(from.data, from.data + params.n);
        auto total = tree_sum(values.data(), params.n);
        to.data[0] = static_cast<T>(mean ? total / params.n : total);
        op.derive_all(to, from);
    }
}

// Reduces the last axis (AR) or the first one (RA) of a matrix whose rows fill whole blocks.
template <class Pattern, class T, class F>
void reduce_pattern(const char* name, const AscendC::LocalTensor<T>& dst,
                    const AscendC::LocalTensor<T>& src, const uint32_t* shape, bool padded,
                    bool hidden, const Where& where, F&& reduce) {
    constexpr bool last = std::is_same<Pattern, AscendC::Pattern::Reduce::AR>::value;
    static_assert(last || std::is_same<Pattern, AscendC::Pattern::Reduce::RA>::value,
                  "the pattern of a reduction is Pattern::Reduce::AR or RA");
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, src);
    op.check(padded, "argument", text_of("%s: srcInnerPad is false", name),
             "Atlas A2 reduces rows that fill whole blocks of 32 bytes only");
    int64_t rows = shape[0], real = shape[1], block = BLOCK_BYTES / sizeof(T);
    int64_t width = (real + block - 1) / block * block;
    if (hidden)
        take_workspace(name, pattern_workspace(rows, width, sizeof(T)), where);
    std::vector<Span<T>> spans;
    for (int64_t row = 0; row < rows; ++row)
        spans.push_back(op.in(src, row * width, real, 1, "the source"));
    auto to = op.out(dst, 0, last ? rows : real);
    std::vector<T> values(last ? real : rows);
    for (int64_t i = 0; i < to.count; ++i) {
        uint8_t state = 1;
        for (size_t j = 0; j < values.size(); ++j) {
            const Span<T>& from = spans[last ? i : j];
            int64_t at = last ? static_cast<int64_t>(j) : i;
            values[j] = from.data[at];
            if (state == 1 && !from.whole) state = from.state(at);
        }
        to.data[i] = static_cast<T>(reduce(values.data(), static_cast<int64_t>(values.size())));
        op.set(to, i, state);
    }
}

} // namespace host_model

namespace AscendC {

// The sum, or the mean, of each row.
#define HOST_MODEL_SUMS(NAME, SHARED, HIDDEN)                                                      \
    template <class T, int32_t reduceDim = -1, bool isReuseSource = false,                         \
              bool isBasicBlock = false>                                                           \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src SHARED,                         \
              const SumParams& sumParams, HOST_MODEL_WHERE) {                                      \
        ::host_model::sum_rows<T>(#NAME, dst, src, sumParams, false, HIDDEN, where);               \
    }
#define HOST_MODEL_MEANS(NAME, SHARED, HIDDEN)                                                     \
    template <class T, class accType = T, bool isReuseSource = false, bool isBasicBlock = false,   \
              int32_t reduceDim = -1>                                                              \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src SHARED,                         \
              const MeanParams& meanParams, HOST_MODEL_WHERE) {                                    \
        ::host_model::sum_rows<accType>(#NAME, dst, src, meanParams, true, HIDDEN, where);         \
    }
HOST_MODEL_SUMS(Sum, HOST_MODEL_COMMA HOST_MODEL_SHARED, false)
HOST_MODEL_SUMS(Sum, , true)
HOST_MODEL_MEANS(Mean, HOST_MODEL_COMMA HOST_MODEL_SHARED, false)
HOST_MODEL_MEANS(Mean, , true)

// Reductions by pattern.
#define HOST_MODEL_PATTERN(NAME, ...)                                                              \
    template <class T, class pattern, bool isReuseSource = false>                                  \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_SHARED,             \
              const uint32_t srcShape[], bool srcInnerPad, HOST_MODEL_WHERE) {                     \
        ::host_model::reduce_pattern<pattern>(                                                     \
            #NAME, dst, src, srcShape, srcInnerPad, false, where,                                  \
            [](const T* values, int64_t count) { return __VA_ARGS__; });                           \
    }                                                                                              \
    template <class T, class pattern, bool isReuseSource = false>                                  \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t srcShape[],     \
              bool srcInnerPad, HOST_MODEL_WHERE) {                                                \
        ::host_model::reduce_pattern<pattern>(                                                     \
            #NAME, dst, src, srcShape, srcInnerPad, true, where,                                   \
            [](const T* values, int64_t count) { return __VA_ARGS__; });                           \
    }
HOST_MODEL_PATTERN(ReduceSum, ::host_model::tree_sum(values, count))
HOST_MODEL_PATTERN(ReduceMean, ::host_model::tree_sum(values, count) / count)
HOST_MODEL_PATTERN(ReduceMax, *std::max_element(values, values + count))
HOST_MODEL_PATTERN(ReduceMin, *std::min_element(values, values + count))
HOST_MODEL_PATTERN(ReduceProd, std::accumulate(values, values + count,
                                               ::host_model::Compute<T>(1), std::multiplies<>()))
HOST_MODEL_PATTERN(ReduceAny, std::any_of(values, values + count, [](T x) { return x != T(0); }))
HOST_MODEL_PATTERN(ReduceAll, std::all_of(values, values + count, [](T x) { return x != T(0); }))

// The sum of src0 ^ src1, saturated.
template <class T, bool isReuseSource = false>
void ReduceXorSum(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                  const LocalTensor<T>& src1, HOST_MODEL_SHARED, uint32_t calCount,
                  HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "ReduceXorSum", where);
    ::host_model::check_count(op, src0, calCount);
    ::host_model::check_count(op, src1, calCount);
    auto left = op.in(src0, 0, calCount), right = op.in(src1, 0, calCount);
    int64_t total = 0;
    for (int64_t i = 0; i < left.count; ++i) total += static_cast<T>(left.data[i] ^ right.data[i]);
    auto to = op.out(dst, 0, 1);
    to.data[0] = static_cast<T>(std::clamp<int64_t>(total, std::numeric_limits<T>::min(),
                                                    std::numeric_limits<T>::max()));
    op.derive_all(to, left, right);
}
template <class T, bool isReuseSource = false>
void ReduceXorSum(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
                  const LocalTensor<T>& src1, uint32_t calCount, HOST_MODEL_WHERE) {
    ::host_model::take_workspace(
        "ReduceXorSum", ::host_model::least_workspace(::host_model::temporaries::ReduceXorSum),
        where);
    ReduceXorSum(dst, src0, src1, LocalTensor<uint8_t>(), calCount, where);
}

// dst[.., i] = src[.., 0] + .. + src[.., i] along the last axis, or along the first one.
template <class T, const CumSumConfig& config = defaultCumSumConfig>
void CumSum(const LocalTensor<T>& dst, const LocalTensor<T>& lastRow, const LocalTensor<T>& src,
            HOST_MODEL_SHARED, const CumSumInfo& info, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "CumSum", where);
    int64_t rows = info.outter, width = info.inner;
    op.check(width * sizeof(T) % 32 == 0, "alignment",
             ::host_model::text_of("CumSum: rows of %lld elements are %lld bytes",
                                   static_cast<long long>(width),
                                   static_cast<long long>(width * sizeof(T))),
             "pad the rows to whole blocks of 32 bytes");
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
                 ::host_model::text_of("Broadcast: axis %d of the source has %u elements, of the "
                                       "destination %u",
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
    ::host_model::take_workspace(
        "Broadcast", ::host_model::least_workspace(::host_model::temporaries::Broadcast), where);
    Broadcast<T, dim, axis>(dst, src, dstShape, srcShape, LocalTensor<uint8_t>(), where);
}
// The name of Broadcast in earlier versions.
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t* dstShape,
               const uint32_t* srcShape, const LocalTensor<uint8_t>& sharedTmpBuffer,
               HOST_MODEL_WHERE) {
    Broadcast<T, dim, axis>(dst, src, dstShape, srcShape, sharedTmpBuffer, where);
}
template <class T, int32_t dim, int32_t axis, bool isReuseSource = false>
void BroadCast(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint32_t* dstShape,
               const uint32_t* srcShape, HOST_MODEL_WHERE) {
    Broadcast<T, dim, axis>(dst, src, dstShape, srcShape, where);
}

} // namespace AscendC
