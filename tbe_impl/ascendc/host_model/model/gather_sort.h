// Data movement within on-chip memory by index, by sort order and by transposition.
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
template <class T> struct MrgSortSrcList {
    LocalTensor<T> src1, src2, src3, src4;
    MrgSortSrcList() = default;
    MrgSortSrcList(const LocalTensor<T>& one, const LocalTensor<T>& two,
                   const LocalTensor<T>& three, const LocalTensor<T>& four)
        : src1(one), src2(two), src3(three), src4(four) {}
};
struct MrgSort4Info {
    uint16_t elementLengths[4] = {};
    bool ifExhaustedSuspension = false;
    uint16_t validBit = 0, repeatTimes = 1;
    MrgSort4Info() = default;
    template <class L, class A, class B>
    MrgSort4Info(const L lengths[4], bool suspend, A valid, B repeats)
        : ifExhaustedSuspension(suspend), validBit(static_cast<uint16_t>(valid)),
          repeatTimes(static_cast<uint16_t>(repeats)) {
        for (int i = 0; i < 4; ++i) elementLengths[i] = static_cast<uint16_t>(lengths[i]);
    }
};
enum class SortType { RADIX_SORT, MERGE_SORT };
struct SortConfig {
    SortType type = SortType::RADIX_SORT;
    bool isDescend = false, hasSrcIndex = false, hasDstIndex = false;
};
inline constexpr SortConfig DEFAULT_SORT_CONFIG = {SortType::RADIX_SORT, false};
enum class TopKMode { TOPK_NORMAL, TOPK_NSMALL };
struct TopKInfo {
    int32_t outter = 1, inner = 0, n = 0;
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

// A pair of score and index as Sort32 writes it: 8 bytes, the score first.
struct Scored {
    float score;
    uint32_t index;
    uint64_t bits;
    uint8_t state;
};
// NaN sorts before all numbers.
inline bool sorts_before(float a, float b) { return a > b || (a != a && b == b); }

constexpr int64_t PAIR_BYTES = 8;
template <class T> constexpr int64_t pair_elements() { return PAIR_BYTES / sizeof(T); }

template <class T>
void write_pairs(Instruction& op, const AscendC::LocalTensor<T>& dst, int64_t first_pair,
                 const std::vector<Scored>& pairs) {
    auto to = op.out(dst, first_pair * pair_elements<T>(),
                     static_cast<int64_t>(pairs.size()) * pair_elements<T>());
    for (size_t i = 0; i < pairs.size(); ++i) {
        std::memcpy(reinterpret_cast<uint8_t*>(to.data) + i * 8, &pairs[i].bits, 8);
        uint8_t state = pairs[i].state == 0 ? op.undefined_code() : pairs[i].state;
        std::memset(to.shadow + i * 8, state, 8);
    }
}
template <class T> Scored scored(T score, uint32_t index, uint8_t state) {
    Scored one{static_cast<float>(score), index, 0, state};
    std::memcpy(&one.bits, &score, sizeof(T));
    one.bits |= static_cast<uint64_t>(index) << 32;
    return one;
}
template <class T>
std::vector<Scored> read_pairs(Instruction& op, const AscendC::LocalTensor<T>& src,
                               int64_t first_pair, int64_t count) {
    auto from =
        op.in(src, first_pair * pair_elements<T>(), count * pair_elements<T>(), 1, "the source");
    std::vector<Scored> pairs;
    for (int64_t i = 0; i < count; ++i) {
        Scored one{};
        T score;
        std::memcpy(&one.bits, reinterpret_cast<const uint8_t*>(from.data) + i * 8, 8);
        std::memcpy(static_cast<void*>(&score), &one.bits, sizeof(T));
        one.score = score;
        one.index = static_cast<uint32_t>(one.bits >> 32);
        one.state = from.whole ? 1 : from.state(i * pair_elements<T>());
        pairs.push_back(one);
    }
    return pairs;
}
template <class T>
std::vector<Scored> read_scores(Instruction& op, const AscendC::LocalTensor<T>& scores,
                                const AscendC::LocalTensor<uint32_t>& indices, int64_t first,
                                int64_t count) {
    auto values = op.in(scores, first, count, 1, "the scores");
    auto places = op.in(indices, first, count, 1, "the indices");
    std::vector<Scored> pairs;
    for (int64_t i = 0; i < count; ++i) {
        uint8_t state = values.whole ? 1 : values.state(i);
        if (state == 1 && !places.whole) state = places.state(i);
        pairs.push_back(scored(values.data[i], places.data[i], state));
    }
    return pairs;
}
inline void sort_descending(std::vector<Scored>& pairs) {
    std::stable_sort(pairs.begin(), pairs.end(), [](const Scored& a, const Scored& b) {
        return sorts_before(a.score, b.score);
    });
}

// Merges lists; stops with the first exhausted list if `suspend`. `taken` counts the pairs of each
// list.
inline std::vector<Scored> merge_lists(const std::vector<std::vector<Scored>>& lists, bool suspend,
                                       std::array<size_t, 4>& taken) {
    std::vector<Scored> merged;
    taken = {};
    for (;;) {
        int best = -1;
        for (size_t i = 0; i < lists.size(); ++i) {
            if (taken[i] >= lists[i].size()) continue;
            if (best < 0 || sorts_before(lists[i][taken[i]].score, lists[best][taken[best]].score))
                best = static_cast<int>(i);
        }
        if (best < 0) return merged;
        merged.push_back(lists[best][taken[best]++]);
        if (suspend && taken[best] == lists[best].size()) return merged;
    }
}
template <class T>
void merge_sort(const char* name, const AscendC::LocalTensor<T>& dst,
                const AscendC::MrgSortSrcList<T>& src, const uint16_t lengths[4], bool suspend,
                uint32_t valid, int64_t repeats, std::array<size_t, 4>& taken, const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_dtype<Floating, T>(op);
    check_start(op, dst);
    if (valid != 3 && valid != 7 && valid != 15)
        op.fail("argument", text_of("%s: validBit is %u", op.name(), valid),
                "3, 7 and 15 are the first two, three and four lists");
    int count = valid == 3 ? 2 : valid == 7 ? 3 : 4;
    const AscendC::LocalTensor<T>* tensors[] = {&src.src1, &src.src2, &src.src3, &src.src4};
    int64_t step = 0;
    for (int i = 0; i < count; ++i) {
        check_start(op, *tensors[i], 8);
        if (lengths[i] > 4095)
            op.fail("argument", text_of("%s: a list of %u pairs", op.name(), lengths[i]),
                    "a list has at most 4095 pairs: merge in more steps");
        step += lengths[i];
    }
    if (repeats > 1) {
        bool equal = valid == 15 && !suspend;
        for (int i = 1; i < 4; ++i)
            equal = equal && lengths[i] == lengths[0] &&
                    tensors[i]->offset == tensors[0]->offset + i * lengths[0] * PAIR_BYTES;
        if (!equal)
            op.fail(
                "argument",
                text_of("%s: %lld repeats of lists that are not adjacent and of equal length",
                        op.name(), static_cast<long long>(repeats)),
                "repeats need four adjacent lists of one length, validBit 15 and no suspension");
    }
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        std::vector<std::vector<Scored>> lists;
        for (int i = 0; i < count; ++i)
            lists.push_back(read_pairs(op, *tensors[i], repeat * step, lengths[i]));
        write_pairs(op, dst, repeat * step, merge_lists(lists, suspend, taken));
    }
    for (int i = 0; i < 4; ++i) op.owner().registers.merged[i] = static_cast<uint16_t>(taken[i]);
}

// Region proposals: 8 elements each, of which element 4 is the score.
template <class T> std::vector<int64_t> order_by_score(const Span<T>& proposals) {
    std::vector<int64_t> order(proposals.count / 8);
    for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        return sorts_before(proposals.data[a * 8 + 4], proposals.data[b * 8 + 4]);
    });
    return order;
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

// Sorts 32 scores a repeat into descending pairs (score, index).
template <class T>
void Sort32(const LocalTensor<T>& dst, const LocalTensor<T>& src0,
            const LocalTensor<uint32_t>& src1, int64_t repeatTime, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Sort32", where);
    ::host_model::check_dtype<::host_model::Floating, T>(op);
    ::host_model::check_alignment(op, dst, src0, src1);
    ::host_model::check_range_of_repeats(op, repeatTime);
    for (int64_t repeat = 0; repeat < repeatTime; ++repeat) {
        auto pairs = ::host_model::read_scores(op, src0, src1, repeat * 32, 32);
        ::host_model::sort_descending(pairs);
        ::host_model::write_pairs(op, dst, repeat * 32, pairs);
    }
}
template <class T>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
             HOST_MODEL_WHERE) {
    std::array<size_t, 4> taken;
    ::host_model::merge_sort("MrgSort", dst, src, params.elementLengths,
                             params.ifExhaustedSuspension, params.validBit, params.repeatTimes,
                             taken, where);
}
template <class T, bool isExhaustedSuspension = false>
void MrgSort(const LocalTensor<T>& dst, const MrgSortSrcList<T>& sortList,
             const uint16_t elementCountList[4], uint32_t sortedNum[4], uint16_t validBit,
             int64_t repeatTime, HOST_MODEL_WHERE) {
    std::array<size_t, 4> taken;
    ::host_model::merge_sort("MrgSort", dst, sortList, elementCountList, isExhaustedSuspension,
                             validBit, repeatTime, taken, where);
    for (int i = 0; i < 4; ++i) sortedNum[i] = static_cast<uint32_t>(taken[i]);
}
inline void GetMrgSortResult(uint16_t& list1, uint16_t& list2, uint16_t& list3, uint16_t& list4) {
    auto& merged = ::host_model::core().registers.merged;
    list1 = merged[0], list2 = merged[1], list3 = merged[2], list4 = merged[3];
}
// Elements that `count` pairs of score and index take.
template <class T> constexpr uint32_t GetSortOffset(uint32_t elemOffset) {
    return elemOffset * static_cast<uint32_t>(::host_model::pair_elements<T>());
}
template <class T> constexpr uint32_t GetSortLen(uint32_t elemCount) {
    return GetSortOffset<T>(elemCount);
}

// Prepares scores for Sort: the scores themselves on this chip.
template <class T>
void Concat(LocalTensor<T>& concat, const LocalTensor<T>& src, const LocalTensor<T>&,
            int64_t repeatTime, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Concat", where);
    ::host_model::check_range_of_repeats(op, repeatTime);
    concat = src;
}
template <class T, bool isFullSort>
void Sort(const LocalTensor<T>& dst, const LocalTensor<T>& concat,
          const LocalTensor<uint32_t>& index, const LocalTensor<T>& tmp, int64_t repeatTime,
          HOST_MODEL_WHERE) {
    if (!isFullSort) return Sort32(dst, concat, index, repeatTime, where);
    ::host_model::Instruction op(::host_model::Pipe::V, "Sort", where);
    ::host_model::check_dtype<::host_model::Floating, T>(op);
    ::host_model::check_alignment(op, dst, concat, index, tmp);
    ::host_model::check_range_of_repeats(op, repeatTime);
    auto pairs = ::host_model::read_scores(op, concat, index, 0, repeatTime * 32);
    if (static_cast<int64_t>(tmp.elements * sizeof(T)) < repeatTime * 256)
        op.fail("workspace_overflow",
                ::host_model::text_of(
                    "Sort of %lld elements needs %lld bytes of work space, tmp has %llu",
                    static_cast<long long>(repeatTime * 32),
                    static_cast<long long>(repeatTime * 256),
                    static_cast<unsigned long long>(tmp.elements * sizeof(T))),
                "give InitBuffer 8 bytes for each element");
    ::host_model::sort_descending(pairs);
    ::host_model::write_pairs(op, dst, 0, pairs);
}
} // namespace AscendC

namespace host_model {

// Stable sort of any element type; without source indices an index is the position.
template <class T, class U>
void sort_elements(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>* dst_index,
                   const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<U>* src_index,
                   int64_t count, const AscendC::SortConfig& config, const Where& where) {
    Instruction op(Pipe::V, "Sort", where);
    check_alignment(op, dst, src);
    bool merge = config.type == AscendC::SortType::MERGE_SORT;
    if (merge && count % 32)
        op.fail("argument",
                text_of("Sort of %lld elements by MERGE_SORT", static_cast<long long>(count)),
                "pad them to a multiple of 32, or use RADIX_SORT");
    auto from = op.in(src, 0, count, 1, "the source");
    std::vector<int64_t> order(count);
    for (int64_t i = 0; i < count; ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
        Compute<T> x = from.data[a], y = from.data[b];
        return config.isDescend ? y < x : x < y;
    });
    std::vector<T> values(from.data, from.data + count);
    std::vector<U> indices(count);
    std::vector<uint8_t> states(count);
    for (int64_t i = 0; i < count; ++i) states[i] = from.state(i), indices[i] = static_cast<U>(i);
    if (src_index) {
        auto given = op.in(*src_index, 0, count, 1, "the indices");
        std::copy(given.data, given.data + count, indices.begin());
    }
    auto to = op.out(dst, 0, count);
    for (int64_t i = 0; i < count; ++i)
        to.data[i] = values[order[i]], op.set(to, i, states[order[i]]);
    if (!dst_index) return;
    auto places = op.out(*dst_index, 0, count);
    for (int64_t i = 0; i < count; ++i)
        places.data[i] = indices[order[i]], op.set(places, i, states[order[i]]);
}

} // namespace host_model

namespace AscendC {

// Sorts with SortConfig: values only, values and positions, values and given indices.
#define HOST_MODEL_SORT(NAME, TMP)                                                                 \
    template <class T, bool isReuseSource = false, const SortConfig& config = DEFAULT_SORT_CONFIG> \
    void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<T>& srcTensor TMP,                \
              int64_t calCount, HOST_MODEL_WHERE) {                                                \
        ::host_model::sort_elements<T, uint32_t>(dstTensor, nullptr, srcTensor, nullptr, calCount, \
                                                 config, where);                                   \
    }                                                                                              \
    template <class T, bool isReuseSource = false, const SortConfig& config = DEFAULT_SORT_CONFIG> \
    void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<uint32_t>& dstIndexTensor,        \
              const LocalTensor<T>& srcTensor TMP, int64_t calCount, HOST_MODEL_WHERE) {           \
        ::host_model::sort_elements<T, uint32_t>(dstTensor, &dstIndexTensor, srcTensor, nullptr,   \
                                                 calCount, config, where);                         \
    }                                                                                              \
    template <class T, class U, bool isReuseSource = false,                                        \
              const SortConfig& config = DEFAULT_SORT_CONFIG>                                      \
    void NAME(const LocalTensor<T>& dstTensor, const LocalTensor<U>& dstIndexTensor,               \
              const LocalTensor<T>& srcTensor, const LocalTensor<U>& srcIndexTensor TMP,           \
              int64_t calCount, HOST_MODEL_WHERE) {                                                \
        ::host_model::sort_elements<T, U>(dstTensor, &dstIndexTensor, srcTensor, &srcIndexTensor,  \
                                          calCount, config, where);                                \
    }
#define HOST_MODEL_SORT_TMP , const LocalTensor<uint8_t>&
HOST_MODEL_SORT(Sort, )
HOST_MODEL_SORT(Sort, HOST_MODEL_SORT_TMP)

// Values and indices of sorted pairs, 32 a repeat.
template <class T>
void Extract(const LocalTensor<T>& dstValue, const LocalTensor<uint32_t>& dstIndex,
             const LocalTensor<T>& sorted, int64_t repeatTime, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "Extract", where);
    ::host_model::check_alignment(op, dstValue, dstIndex, sorted);
    ::host_model::check_range_of_repeats(op, repeatTime);
    auto pairs = ::host_model::read_pairs(op, sorted, 0, repeatTime * 32);
    auto values = op.out(dstValue, 0, repeatTime * 32);
    auto places = op.out(dstIndex, 0, repeatTime * 32);
    for (size_t i = 0; i < pairs.size(); ++i) {
        std::memcpy(static_cast<void*>(values.data + i), &pairs[i].bits, sizeof(T));
        places.data[i] = pairs[i].index;
        op.set(values, static_cast<int64_t>(i), pairs[i].state);
        op.set(places, static_cast<int64_t>(i), pairs[i].state);
    }
}

// Region proposals of 8 elements: [x1, y1, x2, y2, score, label, -, -].
template <class T>
void ProposalConcat(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                    int64_t modeNumber, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "ProposalConcat", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::check_range(op, "modeNumber", modeNumber, 0, 5,
                              "0 to 5 are x1, y1, x2, y2, score, label");
    auto from = op.in(src, 0, repeatTime * 16, 1, "the source");
    for (int64_t i = 0; i < repeatTime * 16; ++i)
        ::host_model::write_element(op, dst, i * 8 + modeNumber, from.data[i], from.state(i));
}
template <class T>
void ProposalExtract(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                     int64_t modeNumber, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "ProposalExtract", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::check_range(op, "modeNumber", modeNumber, 0, 5,
                              "0 to 5 are x1, y1, x2, y2, score, label");
    auto from = op.in(src, 0, repeatTime * 128, 1, "the source");
    auto to = op.out(dst, 0, repeatTime * 16);
    for (int64_t i = 0; i < to.count; ++i) {
        to.data[i] = from.data[i * 8 + modeNumber];
        op.set(to, i, from.state(i * 8 + modeNumber));
    }
}
template <class T>
void RpSort16(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
              HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "RpSort16", where);
    ::host_model::check_alignment(op, dst, src);
    ::host_model::check_range_of_repeats(op, repeatTime);
    for (int64_t repeat = 0; repeat < repeatTime; ++repeat) {
        auto from = op.in(src, repeat * 128, 128, 1, "the source");
        T values[128];
        uint8_t states[128];
        for (int i = 0; i < 128; ++i) values[i] = from.data[i], states[i] = from.state(i);
        auto order = ::host_model::order_by_score(from);
        auto to = op.out(dst, repeat * 128, 128);
        for (int64_t i = 0; i < 128; ++i) {
            to.data[i] = values[order[i / 8] * 8 + i % 8];
            op.set(to, i, states[order[i / 8] * 8 + i % 8]);
        }
    }
}
template <class T>
void MrgSort4(const LocalTensor<T>& dst, const MrgSortSrcList<T>& src, const MrgSort4Info& params,
              HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "MrgSort4", where);
    int count = params.validBit == 3 ? 2 : params.validBit == 7 ? 3 : params.validBit == 15 ? 4 : 0;
    if (!count)
        op.fail("argument", ::host_model::text_of("MrgSort4: validBit is %u", params.validBit),
                "3, 7 and 15 are the first two, three and four lists");
    const LocalTensor<T>* tensors[] = {&src.src1, &src.src2, &src.src3, &src.src4};
    int64_t step = 0;
    for (int i = 0; i < count; ++i) step += params.elementLengths[i];
    std::array<size_t, 4> taken{};
    for (int64_t repeat = 0; repeat < params.repeatTimes; ++repeat) {
        std::vector<std::vector<::host_model::Scored>> lists(count);
        std::vector<::host_model::Span<T>> spans;
        for (int i = 0; i < count; ++i) {
            spans.push_back(
                op.in(*tensors[i], repeat * step * 8, params.elementLengths[i] * 8, 1, "a source"));
            for (int64_t j = 0; j < params.elementLengths[i]; ++j)
                lists[i].push_back({static_cast<float>(spans[i].data[j * 8 + 4]),
                                    static_cast<uint32_t>(j), static_cast<uint64_t>(i), 1});
        }
        auto merged = ::host_model::merge_lists(lists, params.ifExhaustedSuspension, taken);
        auto to = op.out(dst, repeat * step * 8, static_cast<int64_t>(merged.size()) * 8);
        for (size_t i = 0; i < merged.size(); ++i)
            for (int64_t j = 0; j < 8; ++j) {
                const auto& from = spans[merged[i].bits];
                to.data[i * 8 + j] = from.data[merged[i].index * 8 + j];
                op.set(to, static_cast<int64_t>(i) * 8 + j, from.state(merged[i].index * 8 + j));
            }
    }
    for (int i = 0; i < 4; ++i) op.owner().registers.merged[i] = static_cast<uint16_t>(taken[i]);
}

} // namespace AscendC

namespace host_model {

// The largest (or smallest) k of each row, with their indices; ties keep the order of the input.
template <class T>
void top_k(const AscendC::LocalTensor<T>& values, const AscendC::LocalTensor<int32_t>& indices,
           const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<int32_t>& src_indices,
           const AscendC::LocalTensor<bool>& finished, bool has_indices, bool has_finished,
           bool small, int64_t k, const AscendC::TopKInfo& info, bool largest, const Where& where) {
    Instruction op(Pipe::V, "TopK", where);
    check_dtype<Floating, T>(op);
    check_alignment(op, values, indices, src);
    if (info.inner % 32 || info.n < 1 || info.n > info.inner || k < 1 || k > info.n ||
        (small && info.inner != 32))
        op.fail("argument",
                text_of("TopK: k %lld, n %d, inner %d", static_cast<long long>(k), info.n,
                        info.inner),
                small ? "in small mode inner is 32, and 1 <= k <= n <= inner"
                      : "inner is a multiple of 32, and 1 <= k <= n <= inner");
    int64_t value_pitch = small ? k : (k * sizeof(T) + 31) / 32 * 32 / sizeof(T);
    int64_t index_pitch = small ? k : (k + 7) / 8 * 8;
    for (int64_t row = 0; row < info.outter; ++row) {
        auto from = op.in(src, row * info.inner, info.n, 1, "the source");
        std::vector<Scored> pairs;
        for (int64_t i = 0; i < info.n; ++i) {
            int64_t index = i;
            if (has_indices)
                index = op.in(src_indices, (small ? row * info.inner : 0) + i, 1).data[0];
            Scored one =
                scored(from.data[i], static_cast<uint32_t>(index), from.whole ? 1 : from.state(i));
            if (!largest && one.score == one.score) one.score = -one.score;
            pairs.push_back(one);
        }
        sort_descending(pairs);
        bool invalid = has_finished && op.in(finished, row, 1).data[0];
        auto to = op.out(values, row * value_pitch, k);
        auto places = op.out(indices, row * index_pitch, k);
        for (int64_t i = 0; i < k; ++i) {
            std::memcpy(static_cast<void*>(to.data + i), &pairs[i].bits, sizeof(T));
            places.data[i] = invalid ? info.n : static_cast<int32_t>(pairs[i].index);
            op.set(to, i, pairs[i].state);
            op.set(places, i, pairs[i].state);
        }
    }
}

} // namespace host_model

namespace AscendC {

template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL, class Tiling>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
          const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, int32_t k, const Tiling& tiling, const TopKInfo& info,
          bool isLargest = true, HOST_MODEL_WHERE) {
    (void)tiling;
    ::host_model::top_k(dstValue, dstIndex, src, srcIndex, finish, isInitIndex, isHasfinish,
                        topkMode == TopKMode::TOPK_NSMALL, k, info, isLargest, where);
}
template <class T, bool isInitIndex = false, bool isHasfinish = false, bool isReuseSrc = false,
          TopKMode topkMode = TopKMode::TOPK_NORMAL, class Tiling>
void TopK(const LocalTensor<T>& dstValue, const LocalTensor<int32_t>& dstIndex,
          const LocalTensor<T>& src, const LocalTensor<int32_t>& srcIndex,
          const LocalTensor<bool>& finish, const LocalTensor<uint8_t>& tmp, int32_t k,
          const Tiling& tiling, const TopKInfo& info, bool isLargest = true, HOST_MODEL_WHERE) {
    (void)tiling, (void)tmp;
    ::host_model::top_k(dstValue, dstIndex, src, srcIndex, finish, isInitIndex, isHasfinish,
                        topkMode == TopKMode::TOPK_NSMALL, k, info, isLargest, where);
}

} // namespace AscendC
