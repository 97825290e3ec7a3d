// Copies that change the layout: slices, blocks of matrices, up to five dimensions.
#pragma once

#include "data_copy.h"

namespace host_model {

// Starts of the contiguous parts that a slice has, in elements.
template <class T>
std::vector<int64_t> slice_starts(Instruction& op, const AscendC::SliceInfo* info, uint32_t dims,
                                  int64_t length) {
    check_range(op, "dimValue", dims, 1, 8, "a slice has 1 to 8 dimensions");
    std::vector<int64_t> starts{0};
    int64_t pitch = 1;
    for (uint32_t d = 0; d < dims; ++d) {
        const AscendC::SliceInfo& one = info[d];
        int64_t part = d == 0 ? length : 1, extent = int64_t(one.endIndex) - one.startIndex + 1;
        if (extent <= 0 || (extent + one.stride) % (part + one.stride) != 0)
            op.fail(
                "argument",
                text_of(
                    "%s: elements %u to %u of dimension %u are not a whole number of parts of %lld "
                    "elements with gaps of %u",
                    op.name(), one.startIndex, one.endIndex, d, static_cast<long long>(part),
                    one.stride),
                "endIndex - startIndex + 1 must be N * part + (N - 1) * stride");
        if (d > 0 && one.burstLen != 1)
            op.fail("argument",
                    text_of("%s: burstLen of dimension %u is %u", op.name(), d, one.burstLen),
                    "from the second dimension on burstLen is 1");
        std::vector<int64_t> next;
        for (int64_t at = one.startIndex; at <= one.endIndex; at += part + one.stride)
            for (int64_t start : starts) next.push_back(at * pitch + start);
        starts = std::move(next);
        pitch *= one.shapeValue;
    }
    return starts;
}
template <class To, class From>
void copy_slices(Instruction& op, const To& dst, const From& src, const AscendC::SliceInfo* to,
                 const AscendC::SliceInfo* from, uint32_t dims) {
    using T = typename To::PrimType;
    int64_t length = int64_t(from[0].burstLen) * BLOCK_BYTES / sizeof(T);
    if (to[0].burstLen != from[0].burstLen || !length)
        op.fail("argument",
                text_of("%s: burstLen is %u in the source and %u in the destination", op.name(),
                        from[0].burstLen, to[0].burstLen),
                "both must be equal, in blocks of 32 bytes");
    auto targets = slice_starts<T>(op, to, dims, length),
         sources = slice_starts<T>(op, from, dims, length);
    if (targets.size() != sources.size())
        op.fail("argument",
                text_of("%s: the source slice has %zu parts, the destination %zu", op.name(),
                        sources.size(), targets.size()),
                "both slices must have the same number of parts");
    for (size_t i = 0; i < targets.size(); ++i) copy(op, dst, targets[i], src, sources[i], length);
}

// Rows of a matrix into blocks of 32 bytes: column block after column block, rows of C0 elements.
template <class T>
void copy_nd2nz(Instruction& op, const AscendC::LocalTensor<T>& dst,
                const AscendC::GlobalTensor<T>& src, const AscendC::Nd2NzParams& params) {
    check_range(op, "ndNum", params.ndNum, 0, 4095);
    check_range(op, "nValue", params.nValue, 0, 16384);
    check_range(op, "dValue", params.dValue, 0, 65535);
    check_range(op, "srcDValue", params.srcDValue, 1, 65535);
    check_range(op, "dstNzC0Stride", params.dstNzC0Stride, 1, 16384);
    check_range(op, "dstNzNStride", params.dstNzNStride, 1, 16384);
    constexpr int64_t c0 = BLOCK_BYTES / sizeof(T);
    for (int64_t matrix = 0; matrix < params.ndNum; ++matrix)
        for (int64_t row = 0; row < params.nValue; ++row) {
            auto from = op.in(src, matrix * params.srcNdMatrixStride + row * params.srcDValue,
                              params.dValue);
            for (int64_t column = 0; column < params.dValue; column += c0) {
                int64_t at = matrix * params.dstNzMatrixStride +
                             (column / c0 * params.dstNzC0Stride + row * params.dstNzNStride) * c0;
                auto to = op.out(dst, at, c0, BLOCK_BYTES);
                for (int64_t i = 0; i < c0; ++i) {
                    bool inside = column + i < params.dValue;
                    to.data[i] = inside ? from.data[column + i] : T(0);
                    op.set(to, i, inside ? from.state(column + i) : 1);
                }
            }
        }
}
template <class T>
void copy_nz2nd(Instruction& op, const AscendC::GlobalTensor<T>& dst,
                const AscendC::LocalTensor<T>& src, const AscendC::Nz2NdParamsFull& params) {
    check_range(op, "ndNum", params.ndNum, 0, 4095);
    check_range(op, "nValue", params.nValue, 1, 8192);
    check_range(op, "dValue", params.dValue, 1, 8192);
    check_range(op, "dstDStride", params.dstDStride, 1, 65535);
    if (params.dValue % 16)
        op.fail("argument",
                text_of("%s: dValue is %lld, no multiple of 16", op.name(),
                        static_cast<long long>(params.dValue)),
                "the matrix has whole blocks of 16 columns");
    for (int64_t matrix = 0; matrix < params.ndNum; ++matrix)
        for (int64_t row = 0; row < params.nValue; ++row)
            for (int64_t column = 0; column < params.dValue; column += 16)
                copy_out(op, dst,
                         matrix * params.dstNdMatrixStride + row * params.dstDStride + column, src,
                         matrix * params.srcNdMatrixStride * 256 +
                             (column / 16 * params.srcNStride + row) * 16,
                         16);
}

} // namespace host_model

namespace AscendC {

template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const SliceInfo dstSliceInfo[],
              const SliceInfo srcSliceInfo[], uint32_t dimValue = 1, HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE2);
    ::host_model::copy_slices(op, dst, src, dstSliceInfo, srcSliceInfo, dimValue);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const SliceInfo dstSliceInfo[],
              const SliceInfo srcSliceInfo[], uint32_t dimValue = 1, HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE3);
    ::host_model::copy_slices(op, dst, src, dstSliceInfo, srcSliceInfo, dimValue);
}
template <class T>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src, const Nd2NzParams& params,
              HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE2);
    ::host_model::copy_nd2nz(op, dst, src, params);
}
template <class T>
void DataCopy(const GlobalTensor<T>& dst, const LocalTensor<T>& src, const Nz2NdParamsFull& params,
              HOST_MODEL_WHERE) {
    HOST_MODEL_COPY_OP(MTE3);
    ::host_model::copy_nz2nd(op, dst, src, params);
}

// Copies of up to five dimensions, each with its strides and padding, in elements.
struct NdDmaConfig {
    static constexpr uint16_t unsetPad = 0xffff;
    bool isNearestValueMode = false;
    uint16_t loopLpSize = unsetPad, loopRpSize = unsetPad;
    bool ascOptimize = false;
};
inline constexpr NdDmaConfig kDefaultNdDmaConfig = {};
template <uint8_t dim> struct NdDmaLoopInfo {
    uint64_t loopSrcStride[dim] = {};
    uint32_t loopDstStride[dim] = {}, loopSize[dim] = {};
    uint8_t loopLpSize[dim] = {}, loopRpSize[dim] = {};
};
template <class T, uint8_t dim> struct NdDmaParams {
    NdDmaLoopInfo<dim> loopInfo;
    T constantValue;
};
inline void NdDmaDci() {}

} // namespace AscendC

namespace host_model {

template <const AscendC::NdDmaConfig& config, class T, uint8_t dim>
void copy_dimensions(Instruction& op, const AscendC::LocalTensor<T>& dst,
                     const AscendC::GlobalTensor<T>& src,
                     const AscendC::NdDmaParams<T, dim>& params, int d, int64_t to, int64_t from,
                     bool inside) {
    const auto& info = params.loopInfo;
    if (d < 0) {
        auto target = op.out(dst, to, 1);
        target.data[0] = params.constantValue;
        op.derive(target);
        if (!inside) return;
        auto source = op.in(src, from, 1);
        target.data[0] = source.data[0];
        op.derive(target, source);
        return;
    }
    int64_t left = config.loopLpSize == AscendC::NdDmaConfig::unsetPad ? info.loopLpSize[d]
                                                                       : config.loopLpSize;
    int64_t right = config.loopRpSize == AscendC::NdDmaConfig::unsetPad ? info.loopRpSize[d]
                                                                        : config.loopRpSize;
    int64_t size = info.loopSize[d];
    check_range(op, "loopSize", size, 1, (1 << 20) - 1, "each dimension has at least one element");
    for (int64_t i = -left; i < size + right; ++i) {
        int64_t nearest = std::min(std::max<int64_t>(i, 0), size - 1);
        copy_dimensions<config>(op, dst, src, params, d - 1,
                                to + (i + left) * info.loopDstStride[d],
                                from + nearest * static_cast<int64_t>(info.loopSrcStride[d]),
                                inside && (config.isNearestValueMode || nearest == i));
    }
}

} // namespace host_model

namespace AscendC {

template <class T, uint8_t dim, const NdDmaConfig& config = kDefaultNdDmaConfig>
void DataCopy(const LocalTensor<T>& dst, const GlobalTensor<T>& src,
              const NdDmaParams<T, dim>& params, HOST_MODEL_WHERE) {
    static_assert(dim >= 1 && dim <= 5, "1 to 5 dimensions");
    HOST_MODEL_COPY_OP(MTE2);
    ::host_model::copy_dimensions<config>(op, dst, src, params, dim - 1, 0, 0, true);
}

} // namespace AscendC
