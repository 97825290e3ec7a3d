// Data movement within on-chip memory by index, by pattern and by transposition.
//
// This module exceeds 500 lines because each function has forms with a count, a mask, mask bits.
#pragma once

#include "data_copy.h"
#include "reduce.h"

namespace AscendC {

struct GatherRepeatParams {
    uint32_t blockNumber = DEFAULT_BLK_NUM, dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
    uint32_t dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
    GatherRepeatParams() = default;
    template <class A, class B>
    GatherRepeatParams(A block_stride, B repeat_stride)
        : dstBlkStride(static_cast<uint32_t>(block_stride)),
          dstRepStride(static_cast<uint32_t>(repeat_stride)) {}
};
using BrcbRepeatParams = GatherRepeatParams;
struct TransDataTo5HDParams {
    bool dstHighHalf = false, srcHighHalf = false;
    uint32_t repeatTimes = 1, dstRepStride = 0, srcRepStride = 0;
    TransDataTo5HDParams() = default;
    template <class A, class B, class C>
    TransDataTo5HDParams(bool dst_high, bool src_high, A repeats, B dst_repeat, C src_repeat)
        : dstHighHalf(dst_high), srcHighHalf(src_high), repeatTimes(static_cast<uint32_t>(repeats)),
          dstRepStride(static_cast<uint32_t>(dst_repeat)),
          srcRepStride(static_cast<uint32_t>(src_repeat)) {}
};
constexpr int32_t NCHW_CONV_ADDR_LIST_SIZE = 16;
enum class TransposeType : uint8_t {
    TRANSPOSE_TYPE_NONE,
    TRANSPOSE_NZ2ND_0213,
    TRANSPOSE_NZ2NZ_0213,
    TRANSPOSE_NZ2NZ_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITH_N,
    TRANSPOSE_NZ2ND_012_WITHOUT_N,
    TRANSPOSE_NZ2NZ_012_WITHOUT_N,
    TRANSPOSE_ND2ND_ONLY,
    TRANSPOSE_ND_UB_GM,
    TRANSPOSE_GRAD_ND_UB_GM,
    TRANSPOSE_ND2ND_B16,
    TRANSPOSE_NCHW2NHWC,
    TRANSPOSE_NHWC2NCHW,
    TRANSPOSE_ND2ND_021,
    TRANSPOSE_ND2ND_102,
    TRANSPOSE_ND2ND_210,
    TRANSPOSE_ND2NZ_WITH_INTLV,
};
struct TransposeParamsExt {
    uint32_t nSize = 0, cSize = 0, hSize = 0, wSize = 0;
    TransposeType transposeType = TransposeType::TRANSPOSE_ND2ND_B16;
    TransposeParamsExt() = default;
    template <class A, class B, class C, class D>
    TransposeParamsExt(A n, B c, C h, D w, TransposeType type)
        : nSize(static_cast<uint32_t>(n)), cSize(static_cast<uint32_t>(c)),
          hSize(static_cast<uint32_t>(h)), wSize(static_cast<uint32_t>(w)), transposeType(type) {}
};

} // namespace AscendC

namespace host_model {

// The element at a byte offset that a tensor of offsets names; checks its alignment.
template <class T>
int64_t element_at_offset(Instruction& op, uint64_t base, uint32_t offset, int64_t i) {
    uint64_t at = base + offset;
    if (at % sizeof(T))
        op.fail("alignment",
                text_of("%s: offset %lld is %llu bytes, no multiple of the %zu bytes of an element",
                        op.name(), static_cast<long long>(i), static_cast<unsigned long long>(at),
                        sizeof(T)),
                "offsets count bytes: multiply the index by the size of an element");
    return static_cast<int64_t>(at / sizeof(T));
}
// Runs of elements by offsets. `gather`: dst[i] = src[offset[i]], else dst[offset[i]] = src[i].
template <class T>
void move_by_offset(Instruction& op, const AscendC::LocalTensor<T>& linear,
                    const AscendC::LocalTensor<T>& indexed,
                    const AscendC::LocalTensor<uint32_t>& offsets, uint64_t base,
                    int64_t linear_first, int64_t offset_first, int64_t count, bool gather) {
    auto positions = op.in(offsets, offset_first, count, 1, "the offsets");
    op.require(positions, "the offsets");
    if (!count) return;
    int64_t low = INT64_MAX, high = -1;
    std::vector<int64_t> at(count);
    for (int64_t i = 0; i < count; ++i) {
        at[i] = element_at_offset<T>(op, base, positions.data[i], i);
        low = std::min(low, at[i]);
        high = std::max(high, at[i]);
    }
    if (gather) {
        auto from = op.in(indexed, low, high - low + 1, 1, "the source");
        auto to = op.out(linear, linear_first, count);
        for (int64_t i = 0; i < count; ++i) {
            to.data[i] = from.data[at[i] - low];
            op.set(to, i, from.whole ? 1 : from.state(at[i] - low));
        }
    } else {
        auto from = op.in(linear, linear_first, count, 1, "the source");
        auto to = op.out(indexed, low, high - low + 1);
        for (int64_t i = 0; i < count; ++i) {
            to.data[at[i] - low] = from.data[i];
            op.set(to, at[i] - low, from.whole ? 1 : from.state(i));
        }
    }
}
template <class T>
void move_lanes_by_offset(const char* name, const AscendC::LocalTensor<T>& linear,
                          const AscendC::LocalTensor<T>& indexed,
                          const AscendC::LocalTensor<uint32_t>& offsets, uint64_t base,
                          const Extent& extent, uint32_t repeat_stride, bool gather,
                          const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_dtype<Types<int16_t, uint16_t, half, bfloat16_t, int32_t, uint32_t, float>, T>(op);
    check_alignment(op, linear, indexed, offsets);
    if (extent.by_count) {
        move_by_offset(op, linear, indexed, offsets, base, 0, 0, extent.count, gather);
        return;
    }
    constexpr int64_t lanes = lanes_of<T, T>();
    std::array<Operand, 2> operands{{{sizeof(T), 1, repeat_stride}, {sizeof(T), 1, 8}}};
    for_each_run(op, extent, lanes, operands, [&](const auto& first, int64_t count) {
        move_by_offset(op, linear, indexed, offsets, base, first[0], first[1], count, gather);
    });
}

// The tensor at an address that GetPhyAddr gave, for instructions that take addresses.
template <class T> AscendC::LocalTensor<T> tensor_at(Instruction& op, uint64_t address) {
    Core& own = op.owner();
    auto* start = own.pad(Memory::UB).data();
    auto* byte = reinterpret_cast<uint8_t*>(static_cast<uintptr_t>(address));
    uint64_t offset = static_cast<uint64_t>(byte - start);
    if (byte >= start && offset < own.pad(Memory::UB).bytes())
        for (auto one = own.buffers.rbegin(); one != own.buffers.rend(); ++one)
            if (one->memory == Memory::UB && offset >= one->offset &&
                offset < one->offset + one->bytes)
                return {&*one, AscendC::TPosition::VECCALC, offset,
                        (one->offset + one->bytes - offset) / sizeof(T)};
    op.fail("argument", text_of("%s: an address that is in no buffer of UB", op.name()),
            "pass the address of LocalTensor::GetPhyAddr()");
}

} // namespace host_model

namespace AscendC {

// dst[i] = src[(srcBaseAddr + srcOffset[i]) bytes].
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& srcOffset, uint32_t srcBaseAddr, int64_t count,
            HOST_MODEL_WHERE) {
    ::host_model::move_lanes_by_offset("Gather", dst, src, srcOffset, srcBaseAddr,
                                       ::host_model::counted(count), 8, true, where);
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& srcOffset, uint32_t srcBaseAddr, uint64_t mask,
            int64_t repeatTime, uint32_t dstRepStride, HOST_MODEL_WHERE) {
    ::host_model::move_lanes_by_offset("Gather", dst, src, srcOffset, srcBaseAddr,
                                       ::host_model::masked(mask, repeatTime), dstRepStride, true,
                                       where);
}
template <class T>
void Gather(const LocalTensor<T>& dst, const LocalTensor<T>& src,
            const LocalTensor<uint32_t>& srcOffset, uint32_t srcBaseAddr, const uint64_t mask[],
            int64_t repeatTime, uint32_t dstRepStride, HOST_MODEL_WHERE) {
    ::host_model::move_lanes_by_offset("Gather", dst, src, srcOffset, srcBaseAddr,
                                       ::host_model::masked(mask, sizeof(T), repeatTime),
                                       dstRepStride, true, where);
}
// dst[(dstBaseAddr + dstOffset[i]) bytes] = src[i].
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const LocalTensor<uint32_t>& dstOffset, uint32_t dstBaseAddr, int64_t count,
             HOST_MODEL_WHERE) {
    ::host_model::move_lanes_by_offset("Scatter", src, dst, dstOffset, dstBaseAddr,
                                       ::host_model::counted(count), 8, false, where);
}
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const LocalTensor<uint32_t>& dstOffset, uint32_t dstBaseAddr, uint64_t mask,
             int64_t repeatTime, uint32_t srcRepStride, HOST_MODEL_WHERE) {
    ::host_model::move_lanes_by_offset("Scatter", src, dst, dstOffset, dstBaseAddr,
                                       ::host_model::masked(mask, repeatTime), srcRepStride, false,
                                       where);
}
template <class T>
void Scatter(const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const LocalTensor<uint32_t>& dstOffset, uint32_t dstBaseAddr, const uint64_t mask[],
             int64_t repeatTime, uint32_t srcRepStride, HOST_MODEL_WHERE) {
    ::host_model::move_lanes_by_offset("Scatter", src, dst, dstOffset, dstBaseAddr,
                                       ::host_model::masked(mask, sizeof(T), repeatTime),
                                       srcRepStride, false, where);
}
// Gathers blocks of 32 bytes.
template <class T>
void Gatherb(const LocalTensor<T>& dst, const LocalTensor<T>& src,
             const LocalTensor<uint32_t>& offset, int64_t repeatTime,
             const GatherRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Gatherb", where);
    ::host_model::check_alignment(op, dst, src, offset);
    ::host_model::check_range_of_repeats(op, repeatTime);
    constexpr int64_t per_block = 32 / sizeof(T);
    uint32_t block_stride = repeatParams.dstBlkStride ? repeatParams.dstBlkStride : 1;
    auto positions = op.in(offset, 0, repeatTime * 8, 1, "the offsets");
    op.require(positions, "the offsets");
    for (int64_t i = 0; i < repeatTime * 8; ++i) {
        if (positions.data[i] % 32)
            op.fail("alignment",
                    ::host_model::text_of("Gatherb: offset %lld is %u bytes, no multiple of 32",
                                          static_cast<long long>(i), positions.data[i]),
                    "Gatherb moves whole blocks; Gather moves elements");
        int64_t at = (i / 8 * repeatParams.dstRepStride + i % 8 * block_stride) * per_block;
        ::host_model::copy_within(op, dst, at, src,
                                  positions.data[i] / static_cast<int64_t>(sizeof(T)), per_block);
    }
}
// Fills a block of 32 bytes with each element.
template <class T>
void Brcb(const LocalTensor<T>& dst, const LocalTensor<T>& src0, int64_t repeatTime,
          const BrcbRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Brcb", where);
    ::host_model::check_alignment(op, dst, src0);
    ::host_model::check_range_of_repeats(op, repeatTime);
    constexpr int64_t per_block = 32 / sizeof(T);
    uint32_t block_stride = repeatParams.dstBlkStride ? repeatParams.dstBlkStride : 1;
    auto from = op.in(src0, 0, repeatTime * 8, 1, "the source");
    for (int64_t i = 0; i < repeatTime * 8; ++i) {
        auto to =
            op.out(dst, (i / 8 * repeatParams.dstRepStride + i % 8 * block_stride) * per_block,
                   per_block);
        for (int64_t j = 0; j < per_block; ++j) {
            to.data[j] = from.data[i];
            op.set(to, j, from.whole ? 1 : from.state(i));
        }
    }
}

} // namespace AscendC

namespace host_model {

template <class T, class F>
void fill_lanes(const char* name, const AscendC::LocalTensor<T>& dst, const Extent& extent,
                uint32_t block_stride, uint32_t repeat_stride, const Where& where, F&& value) {
    Instruction op(Pipe::V, name, where);
    check_start(op, dst);
    std::array<Operand, 2> operands{{{sizeof(T), block_stride, repeat_stride}, {sizeof(T), 1, 8}}};
    for_each_run(op, extent, lanes_of<T, T>(), operands, [&](const auto& first, int64_t count) {
        auto to = op.out(dst, first[0], count);
        for (int64_t i = 0; i < count; ++i) to.data[i] = value(first[1] + i);
        op.derive(to);
    });
}

} // namespace host_model

namespace AscendC {

// Fills with a value.
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, ::host_model::Scalar<T> scalarValue, int64_t count,
               HOST_MODEL_WHERE) {
    ::host_model::fill_lanes("Duplicate", dst, ::host_model::counted(count, isSetMask), 1, 8, where,
                             [&](int64_t) { return scalarValue; });
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, ::host_model::Scalar<T> scalarValue, uint64_t mask,
               int64_t repeatTime, uint32_t dstBlockStride, uint32_t dstRepeatStride,
               HOST_MODEL_WHERE) {
    ::host_model::fill_lanes("Duplicate", dst, ::host_model::masked(mask, repeatTime, isSetMask),
                             dstBlockStride, dstRepeatStride, where,
                             [&](int64_t) { return scalarValue; });
}
template <class T, bool isSetMask = true>
void Duplicate(const LocalTensor<T>& dst, ::host_model::Scalar<T> scalarValue,
               const uint64_t mask[], int64_t repeatTime, uint32_t dstBlockStride,
               uint32_t dstRepeatStride, HOST_MODEL_WHERE) {
    ::host_model::fill_lanes("Duplicate", dst,
                             ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                             dstBlockStride, dstRepeatStride, where,
                             [&](int64_t) { return scalarValue; });
}
// Fills with firstValue, firstValue + 1, ...
#define HOST_MODEL_INDEX                                                                           \
    [&](int64_t i) { return static_cast<T>(firstValue + static_cast<::host_model::Compute<T>>(i)); }
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, ::host_model::Scalar<T> firstValue, int64_t count,
                    HOST_MODEL_WHERE) {
    ::host_model::fill_lanes("CreateVecIndex", dst, ::host_model::counted(count), 1, 8, where,
                             HOST_MODEL_INDEX);
}
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, ::host_model::Scalar<T> firstValue, uint64_t mask,
                    int64_t repeatTime, uint32_t dstBlkStride, uint32_t dstRepStride,
                    HOST_MODEL_WHERE) {
    ::host_model::fill_lanes("CreateVecIndex", dst, ::host_model::masked(mask, repeatTime),
                             dstBlkStride, dstRepStride, where, HOST_MODEL_INDEX);
}
template <class T>
void CreateVecIndex(const LocalTensor<T>& dst, ::host_model::Scalar<T> firstValue,
                    const uint64_t mask[], int64_t repeatTime, uint32_t dstBlkStride,
                    uint32_t dstRepStride, HOST_MODEL_WHERE) {
    ::host_model::fill_lanes("CreateVecIndex", dst,
                             ::host_model::masked(mask, sizeof(T), repeatTime), dstBlkStride,
                             dstRepStride, where, HOST_MODEL_INDEX);
}
#define HOST_MODEL_PROGRESSION(NAME)                                                               \
    template <class T>                                                                             \
    void NAME(const LocalTensor<T>& dst, ::host_model::Scalar<T> firstValue,                       \
              ::host_model::Scalar<T> diffValue, int64_t count, HOST_MODEL_WHERE) {                \
        ::host_model::fill_lanes(#NAME, dst, ::host_model::counted(count), 1, 8, where,            \
                                 [&](int64_t i) {                                                  \
                                     using C = ::host_model::Compute<T>;                           \
                                     return static_cast<T>(static_cast<C>(firstValue) +            \
                                                           static_cast<C>(diffValue) *             \
                                                               static_cast<C>(i));                 \
                                 });                                                               \
    }
HOST_MODEL_PROGRESSION(ArithProgression)
HOST_MODEL_PROGRESSION(Arange)

template <class T>
void Interleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src0,
                const LocalTensor<T>& src1, int64_t count, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Interleave", where);
    ::host_model::check_alignment(op, dst0, dst1, src0, src1);
    auto a = op.in(src0, 0, count, 1, "source 0"), b = op.in(src1, 0, count, 1, "source 1");
    ::host_model::Span<T> to[2] = {op.out(dst0, 0, count), op.out(dst1, 0, count)};
    for (int64_t i = 0; i < 2 * count; ++i) {
        auto& from = i % 2 ? b : a;
        auto& target = to[i >= count];
        target.data[i % count] = from.data[i / 2];
        op.set(target, i % count, from.state(i / 2));
    }
}
template <class T>
void DeInterleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1,
                  const LocalTensor<T>& src0, const LocalTensor<T>& src1, int64_t count,
                  HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "DeInterleave", where);
    ::host_model::check_alignment(op, dst0, dst1, src0, src1);
    ::host_model::Span<T> from[2] = {op.in(src0, 0, count, 1, "source 0"),
                                     op.in(src1, 0, count, 1, "source 1")};
    ::host_model::Span<T> to[2] = {op.out(dst0, 0, count), op.out(dst1, 0, count)};
    for (int64_t i = 0; i < 2 * count; ++i) {
        to[i % 2].data[i / 2] = from[i >= count].data[i % count];
        op.set(to[i % 2], i / 2, from[i >= count].state(i % count));
    }
}
template <class T>
void DeInterleave(const LocalTensor<T>& dst0, const LocalTensor<T>& dst1, const LocalTensor<T>& src,
                  int64_t srcCount, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "DeInterleave", where);
    ::host_model::check_alignment(op, dst0, dst1, src);
    if (srcCount % 2)
        op.fail("argument",
                ::host_model::text_of("DeInterleave of %lld elements",
                                      static_cast<long long>(srcCount)),
                "the number must be even");
    auto from = op.in(src, 0, srcCount, 1, "the source");
    ::host_model::Span<T> to[2] = {op.out(dst0, 0, srcCount / 2), op.out(dst1, 0, srcCount / 2)};
    for (int64_t i = 0; i < srcCount; ++i) {
        to[i % 2].data[i / 2] = from.data[i];
        op.set(to[i % 2], i / 2, from.state(i));
    }
}

// The transpose of a 16 x 16 matrix of 16-bit elements.
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Transpose", where);
    ::host_model::check_dtype<::host_model::Types<int16_t, uint16_t, half>, T>(op);
    ::host_model::check_alignment(op, dst, src);
    auto from = op.in(src, 0, 256, 1, "the source");
    T values[256];
    uint8_t states[256];
    for (int i = 0; i < 256; ++i)
        values[i] = from.data[i], states[i] = from.whole ? 1 : from.state(i);
    auto to = op.out(dst, 0, 256);
    for (int i = 0; i < 256; ++i) {
        to.data[i] = values[i % 16 * 16 + i / 16];
        op.set(to, i, states[i % 16 * 16 + i / 16]);
    }
}
template <class T>
void Transpose(const LocalTensor<T>& dst, const LocalTensor<T>& src,
               const LocalTensor<uint8_t>& sharedTmpBuffer, const TransposeParamsExt& params,
               HOST_MODEL_WHERE) {
    if (params.transposeType == TransposeType::TRANSPOSE_TYPE_NONE) return;
    if (params.transposeType == TransposeType::TRANSPOSE_ND2ND_B16)
        return Transpose(dst, src, where);
    ::host_model::Instruction op(::host_model::Pipe::V, "Transpose", where);
    ::host_model::check_alignment(op, dst, src);
    bool to_nhwc = params.transposeType == TransposeType::TRANSPOSE_NCHW2NHWC;
    if (!to_nhwc && params.transposeType != TransposeType::TRANSPOSE_NHWC2NCHW)
        op.fail("unsupported", "Transpose: this transposeType is not supported on any chip",
                "use TRANSPOSE_NCHW2NHWC, TRANSPOSE_NHWC2NCHW or TRANSPOSE_ND2ND_B16");
    int64_t plane = int64_t(params.hSize) * params.wSize, channels = params.cSize;
    if (params.nSize == 0 || plane == 0 || channels == 0) return;
    if (plane > 4095 || channels > 4095 || plane * static_cast<int64_t>(sizeof(T)) % 32)
        op.fail("argument",
                ::host_model::text_of("Transpose: hSize * wSize is %lld and cSize %lld",
                                      static_cast<long long>(plane),
                                      static_cast<long long>(channels)),
                "both are at most 4095, and a plane is whole blocks of 32 bytes");
    int64_t needed = (to_nhwc ? channels + 2 : channels * 2 + 1) * (sizeof(T) == 1 ? 32 : 16) * 32;
    if (static_cast<int64_t>(sharedTmpBuffer.elements) < needed)
        op.fail("workspace_overflow",
                ::host_model::text_of(
                    "Transpose needs %lld bytes of work space, sharedTmpBuffer has %llu",
                    static_cast<long long>(needed),
                    static_cast<unsigned long long>(sharedTmpBuffer.elements)),
                "give InitBuffer that many bytes");
    int64_t total = params.nSize * plane * channels;
    auto from = op.in(src, 0, total, 1, "the source");
    auto to = op.out(dst, 0, total);
    for (int64_t n = 0; n < params.nSize; ++n)
        for (int64_t c = 0; c < channels; ++c)
            for (int64_t p = 0; p < plane; ++p) {
                int64_t nchw = (n * channels + c) * plane + p,
                        nhwc = (n * plane + p) * channels + c;
                int64_t target = to_nhwc ? nhwc : nchw, source = to_nhwc ? nchw : nhwc;
                to.data[target] = from.data[source];
                op.set(to, target, from.whole ? 1 : from.state(source));
            }
}

} // namespace AscendC

namespace host_model {

// 16 blocks of 32 bytes, transposed: block i of the destination takes element i of each source
// block.
template <class T>
void transpose_blocks(Instruction& op, const std::array<AscendC::LocalTensor<T>, 16>& dst,
                      const std::array<AscendC::LocalTensor<T>, 16>& src,
                      const AscendC::TransDataTo5HDParams& params) {
    check_range_of_repeats(op, params.repeatTimes);
    constexpr int64_t per_block = BLOCK_BYTES / sizeof(T);
    for (int i = 0; i < 16; ++i) check_alignment(op, dst[i], src[i]);
    for (int64_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
        T values[16][per_block];
        uint8_t states[16][per_block];
        for (int j = 0; j < 16; ++j) {
            auto from =
                op.in(src[j], repeat * params.srcRepStride * per_block, per_block, 1, "a source");
            for (int64_t i = 0; i < per_block; ++i)
                values[j][i] = from.data[i], states[j][i] = from.state(i);
        }
        for (int i = 0; i < 16; ++i) {
            int64_t at = repeat * params.dstRepStride * per_block;
            auto take = [&](const Span<T>& to, int64_t position, int row, int64_t column) {
                to.data[position] = values[row][column];
                op.set(to, position, states[row][column]);
            };
            if constexpr (sizeof(T) == 1) {
                auto to = op.out(dst[i], at + (params.dstHighHalf ? 16 : 0), 16);
                for (int j = 0; j < 16; ++j) take(to, j, j, i + (params.srcHighHalf ? 16 : 0));
            } else if constexpr (sizeof(T) == 2) {
                auto to = op.out(dst[i], at, 16);
                for (int j = 0; j < 16; ++j) take(to, j, j, i);
            } else {
                auto to = op.out(dst[i], at, 8);
                for (int j = 0; j < 8; ++j) take(to, j, i % 2 * 8 + j, i / 2);
            }
        }
    }
}

} // namespace host_model

namespace AscendC {

template <class T>
void TransDataTo5HD(const LocalTensor<T> (&dstList)[16], const LocalTensor<T> (&srcList)[16],
                    const TransDataTo5HDParams& params, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "TransDataTo5HD", where);
    std::array<LocalTensor<T>, 16> dst, src;
    for (int i = 0; i < 16; ++i) dst[i] = dstList[i], src[i] = srcList[i];
    ::host_model::transpose_blocks<T>(op, dst, src, params);
}
template <class T>
void TransDataTo5HD(const uint64_t dstList[16], const uint64_t srcList[16],
                    const TransDataTo5HDParams& params, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "TransDataTo5HD", where);
    std::array<LocalTensor<T>, 16> dst, src;
    for (int i = 0; i < 16; ++i) {
        dst[i] = ::host_model::tensor_at<T>(op, dstList[i]);
        src[i] = ::host_model::tensor_at<T>(op, srcList[i]);
    }
    ::host_model::transpose_blocks<T>(op, dst, src, params);
}
template <class T>
void TransDataTo5HD(const LocalTensor<uint64_t>& dst, const LocalTensor<uint64_t>& src,
                    const TransDataTo5HDParams& params, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "TransDataTo5HD", where);
    auto to = op.in(dst, 0, 16), from = op.in(src, 0, 16);
    op.require(to, "the addresses");
    op.require(from, "the addresses");
    TransDataTo5HD<T>(to.data, from.data, params, where);
}

} // namespace AscendC
