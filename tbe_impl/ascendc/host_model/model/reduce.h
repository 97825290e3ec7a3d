// Reductions: of blocks of 32 bytes, of repeats of 256 bytes, of pairs, of whole tensors.
//
// This module exceeds 500 lines because each function has forms with a count, a mask, mask bits.
#pragma once

#include "compare.h"

namespace AscendC {

enum class ReduceOrder {
    ORDER_VALUE_INDEX = 0,
    ORDER_INDEX_VALUE,
    ORDER_ONLY_VALUE,
    ORDER_ONLY_INDEX
};
enum class ReduceType : uint8_t { SUM = 0, MAX, MIN };

} // namespace AscendC

namespace host_model {

using Reduce = AscendC::ReduceType;

// Lanes of one repeat (or block) with their values; inactive lanes take no part.
template <class T> struct LaneValues {
    std::array<Compute<T>, 256> value;
    std::array<bool, 256> active;
    int64_t count = 0, number = 0; // lanes, active lanes
    uint8_t state = 1;
};

// Adds neighbours, then neighbours of the sums, and so on; each sum is rounded to T.
template <class T>
T sum_tree(Instruction& op, Compute<T>* values, int64_t count, uint64_t& overflows) {
    (void)op;
    if (count <= 0) return T(0);
    for (; count > 1; count = (count + 1) / 2)
        for (int64_t i = 0; i < (count + 1) / 2; ++i) {
            Compute<T> x = values[2 * i], y = 2 * i + 1 < count ? values[2 * i + 1] : Compute<T>(0);
            T sum = static_cast<T>(x + y);
            if constexpr (is_half<T>)
                overflows +=
                    std::isinf(static_cast<float>(sum)) && std::isfinite(x) && std::isfinite(y);
            values[i] = sum;
        }
    return static_cast<T>(values[0]);
}

// A value and the lane of its first occurrence.
template <class T> struct Extremum {
    Compute<T> value{};
    int64_t lane = -1;
    uint8_t state = 1;
    void take(Reduce type, Compute<T> candidate, int64_t at) {
        if (lane >= 0 && !(type == Reduce::MAX ? candidate > value : candidate < value)) return;
        value = candidate;
        lane = at;
    }
};

// Reads lanes [first, first + count) of a repeat.
template <class T, class Active>
void read_lanes(Instruction& op, const AscendC::LocalTensor<T>& src, const Operand& from,
                int64_t repeat, int64_t first, int64_t count, Active&& active,
                LaneValues<T>& lanes) {
    lanes.count = count;
    lanes.number = 0;
    lanes.state = 1;
    // Lanes that are contiguous are read at once.
    const int64_t per_block =
        from.block_stride == 1 ? count : BLOCK_BYTES / static_cast<int64_t>(sizeof(T));
    for (int64_t start = 0; start < count; start += per_block) {
        int64_t begin = start, end = std::min(start + per_block, count);
        while (begin < end && !active(first + begin)) ++begin;
        while (end > begin && !active(first + end - 1)) --end;
        for (int64_t i = start; i < std::min(start + per_block, count); ++i)
            lanes.active[i] = false;
        if (begin == end) continue;
        auto block = op.in(src, from.element(repeat, first + begin), end - begin, 1, "the source");
        for (int64_t i = begin; i < end; ++i) {
            lanes.active[i] = active(first + i);
            if (!lanes.active[i]) continue;
            ++lanes.number;
            lanes.value[i] = block.data[i - begin];
            if (!block.whole && lanes.state == 1) lanes.state = block.state(i - begin);
        }
    }
}
template <class T>
T reduce_sum_of(Instruction& op, const LaneValues<T>& lanes, uint64_t& overflows) {
    std::array<Compute<T>, 256> values;
    for (int64_t i = 0; i < lanes.count; ++i)
        values[i] = lanes.active[i] ? lanes.value[i] : Compute<T>(0);
    return sum_tree<T>(op, values.data(), lanes.count, overflows);
}
template <class T> Extremum<T> reduce_extremum_of(Reduce type, const LaneValues<T>& lanes) {
    Extremum<T> found;
    for (int64_t i = 0; i < lanes.count; ++i)
        if (lanes.active[i]) found.take(type, lanes.value[i], i);
    return found;
}

template <class T>
void write_element(Instruction& op, const AscendC::LocalTensor<T>& dst, int64_t at, T value,
                   uint8_t state) {
    auto to = op.out(dst, at, 1);
    to.data[0] = value;
    op.set(to, 0, state);
}
// An index is stored as the bits of an integer of the element's size.
template <class T> T index_bits(int64_t index) {
    T bits;
    if constexpr (sizeof(T) == 2) {
        auto word = static_cast<uint16_t>(index);
        std::memcpy(static_cast<void*>(&bits), &word, 2);
    } else {
        auto word = static_cast<uint32_t>(index);
        std::memcpy(static_cast<void*>(&bits), &word, 4);
    }
    return bits;
}
template <class T> uint32_t bits_of_element(T value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, std::min(sizeof(T), sizeof(bits)));
    return bits;
}

// Calls body(repeat, active) for each repeat, with active(lane); in counter mode the last one is
// partial.
template <class T, class Body>
void for_each_repeat(Instruction& op, const Extent& extent, int64_t src_block, int64_t src_repeat,
                     Body&& body) {
    constexpr int64_t lanes = lanes_of<T, T>();
    bool counter = op.owner().mask_counter;
    int64_t total = static_cast<int64_t>(extent.lanes.count());
    int64_t repeats = counter ? (total + lanes - 1) / lanes : extent.repeats;
    if (!counter) {
        check_range_of_repeats(op, repeats);
        check_repeats(op, extent, lanes,
                      std::array<Operand, 1>{{{sizeof(T), static_cast<uint32_t>(src_block), 0}}},
                      false);
    }
    if (src_repeat < 0 || src_repeat > 65535)
        op.fail("argument",
                text_of("%s: srcRepStride is %lld; it may be 0 to 65535", op.name(),
                        static_cast<long long>(src_repeat)),
                "check the stride of a row");
    for (int64_t repeat = 0; repeat < repeats; ++repeat)
        body(repeat, [&](int64_t lane) {
            return counter ? repeat * lanes + lane < total : extent.lanes.active(lane);
        });
}

// One result for each repeat of 256 bytes; of a maximum or minimum its lane, too.
template <class T>
void reduce_repeats(const char* name, Reduce type, const AscendC::LocalTensor<T>& dst,
                    const AscendC::LocalTensor<T>& src, const Extent& extent, int64_t dst_repeat,
                    int64_t src_block, int64_t src_repeat, AscendC::ReduceOrder order,
                    const Where& where) {
    using Order = AscendC::ReduceOrder;
    Instruction op(Pipe::V, name, where);
    check_dtype<Floating, T>(op);
    check_start(op, src);
    bool pair = type != Reduce::SUM &&
                (order == Order::ORDER_VALUE_INDEX || order == Order::ORDER_INDEX_VALUE);
    bool only_index = type != Reduce::SUM && order == Order::ORDER_ONLY_INDEX;
    check_start(op, dst, only_index ? 4 : static_cast<uint32_t>(pair ? 2 * sizeof(T) : sizeof(T)));
    Operand from{sizeof(T), static_cast<uint32_t>(src_block), static_cast<uint32_t>(src_repeat)};
    uint64_t overflows = 0;
    Extremum<T> best;
    for_each_repeat<T>(op, extent, src_block, src_repeat, [&](int64_t repeat, auto active) {
        LaneValues<T> lanes;
        read_lanes(op, src, from, repeat, 0, lanes_of<T, T>(), active, lanes);
        if (!lanes.number) return;
        if (type == Reduce::SUM) {
            write_element(op, dst, repeat * dst_repeat, reduce_sum_of(op, lanes, overflows),
                          lanes.state);
            return;
        }
        Extremum<T> one = reduce_extremum_of(type, lanes);
        best.take(type, one.value, repeat * lanes_of<T, T>() + one.lane);
        T value = static_cast<T>(one.value);
        if (pair) {
            int64_t at = repeat * dst_repeat * 2;
            bool value_first = order == Order::ORDER_VALUE_INDEX;
            write_element(op, dst, at + !value_first, value, lanes.state);
            write_element(op, dst, at + value_first, index_bits<T>(one.lane), lanes.state);
        } else if (only_index) {
            write_element(op, dst.template ReinterpretCast<uint32_t>(), repeat * dst_repeat,
                          static_cast<uint32_t>(one.lane), lanes.state);
        } else {
            write_element(op, dst, repeat * dst_repeat, value, lanes.state);
        }
    });
    op.count_overflow(overflows, name_of_dtype<T>());
    if (best.lane < 0) return;
    op.owner().registers.reduced_value = bits_of_element(static_cast<T>(best.value));
    op.owner().registers.reduced_index = static_cast<uint32_t>(best.lane);
}

// One result for each block of 32 bytes.
template <class T>
void reduce_blocks(const char* name, Reduce type, const AscendC::LocalTensor<T>& dst,
                   const AscendC::LocalTensor<T>& src, const Extent& extent, int64_t dst_repeat,
                   int64_t src_block, int64_t src_repeat, const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_dtype<Floating, T>(op);
    check_start(op, src);
    check_start(op, dst, sizeof(T) * 8);
    Operand from{sizeof(T), static_cast<uint32_t>(src_block), static_cast<uint32_t>(src_repeat)};
    constexpr int64_t per_block = BLOCK_BYTES / sizeof(T);
    uint64_t overflows = 0;
    for_each_repeat<T>(op, extent, src_block, src_repeat, [&](int64_t repeat, auto active) {
        for (int64_t block = 0; block < 8; ++block) {
            LaneValues<T> lanes;
            read_lanes(op, src, from, repeat, block * per_block, per_block, active, lanes);
            if (!lanes.number) continue; // keeps its value
            T value = type == Reduce::SUM ? reduce_sum_of(op, lanes, overflows)
                                          : static_cast<T>(reduce_extremum_of(type, lanes).value);
            write_element(op, dst, repeat * dst_repeat * 8 + block, value, lanes.state);
        }
    });
    op.count_overflow(overflows, name_of_dtype<T>());
}

// Sums of neighbours.
template <class T>
void reduce_pairs(const char* name, const AscendC::LocalTensor<T>& dst,
                  const AscendC::LocalTensor<T>& src, const Extent& extent, int64_t dst_repeat,
                  int64_t src_block, int64_t src_repeat, const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_dtype<Floating, T>(op);
    check_alignment(op, dst, src);
    Operand from{sizeof(T), static_cast<uint32_t>(src_block), static_cast<uint32_t>(src_repeat)};
    uint64_t overflows = 0;
    for_each_repeat<T>(op, extent, src_block, src_repeat, [&](int64_t repeat, auto active) {
        LaneValues<T> lanes;
        read_lanes(op, src, from, repeat, 0, lanes_of<T, T>(), active, lanes);
        for (int64_t pair = 0; pair < lanes.count / 2; ++pair) {
            if (!lanes.active[2 * pair] && !lanes.active[2 * pair + 1]) continue;
            LaneValues<T> two;
            two.count = 2;
            for (int i = 0; i < 2; ++i)
                two.active[i] = lanes.active[2 * pair + i],
                two.value[i] = lanes.value[2 * pair + i];
            write_element(op, dst,
                          repeat * dst_repeat * (128 / static_cast<int64_t>(sizeof(T))) + pair,
                          reduce_sum_of(op, two, overflows), lanes.state);
        }
    });
    op.count_overflow(overflows, name_of_dtype<T>());
}

// Elements of work space that the documentation asks of ReduceMax and ReduceMin, and of ReduceSum
// with repeats: the results of each round, in whole blocks.
template <class T> int64_t reduce_workspace(Reduce type, int64_t repeats, bool with_index) {
    constexpr int64_t per_block = BLOCK_BYTES / sizeof(T), per_repeat = REPEAT_BYTES / sizeof(T);
    auto blocks = [](int64_t count) { return (count + per_block - 1) / per_block * per_block; };
    auto results = [](int64_t count) { return (count + per_repeat - 1) / per_repeat * 2; };
    if (type == Reduce::SUM) return blocks(repeats);
    int64_t first = blocks(repeats * 2);
    if (!with_index) return first;
    int64_t second_count = results(repeats * 2), second = blocks(second_count);
    if (second_count <= 2) return first + second;
    return first + second + blocks(results(second_count));
}
// Takes the work space: checks its size, and leaves its contents undefined.
template <class T>
void use_workspace(Instruction& op, const AscendC::LocalTensor<T>& work, int64_t needed) {
    check_start(op, work);
    if (static_cast<int64_t>(work.elements) < needed)
        op.fail("workspace_overflow",
                text_of("%s needs %lld bytes of work space, sharedTmpBuffer has %llu", op.name(),
                        static_cast<long long>(needed * static_cast<int64_t>(sizeof(T))),
                        static_cast<unsigned long long>(work.elements * sizeof(T))),
                "give InitBuffer that many bytes");
    auto space = op.out(work, 0, needed, 1, "the work space");
    std::memset(static_cast<void*>(space.data), 0xa5, needed * sizeof(T));
    std::memset(space.shadow, 0, needed * sizeof(T));
}

// Reduces a whole tensor to one element (and the index of a maximum or minimum). A sum adds within
// each repeat by a tree, then the sums of the repeats: by a tree too in the forms with repeats, in
// order in the form with a count.
template <class T>
void reduce_all(const char* name, Reduce type, const AscendC::LocalTensor<T>& dst,
                const AscendC::LocalTensor<T>& src, const AscendC::LocalTensor<T>& work,
                const Extent& extent, int64_t src_repeat, bool with_index, const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_dtype<Floating, T>(op);
    check_start(op, src);
    check_start(op, dst, static_cast<uint32_t>(type == Reduce::SUM ? sizeof(T) : 2 * sizeof(T)));
    constexpr int64_t lanes_per_repeat = lanes_of<T, T>();
    uint64_t overflows = 0;
    int64_t number = 0;
    uint8_t state = 1;
    Extremum<T> best;
    std::vector<Compute<T>> sums;
    auto take = [&](int64_t repeat, const LaneValues<T>& lanes) {
        if (!lanes.number) return;
        number += lanes.number;
        if (state == 1) state = lanes.state;
        if (type == Reduce::SUM) {
            sums.push_back(reduce_sum_of(op, lanes, overflows));
        } else {
            Extremum<T> one = reduce_extremum_of(type, lanes);
            best.take(type, one.value, repeat * lanes_per_repeat + one.lane);
        }
    };
    LaneValues<T> lanes;
    int64_t repeats = extent.repeats;
    if (extent.by_count) {
        if (extent.count < 0)
            op.fail("argument",
                    text_of("%s: a count of %lld elements", op.name(),
                            static_cast<long long>(extent.count)),
                    "check the arithmetic of the count: it is negative");
        auto from = op.in(src, 0, extent.count, 1, "the source");
        for (int64_t start = 0, repeat = 0; start < extent.count;
             start += lanes_per_repeat, ++repeat) {
            lanes.count = lanes.number = std::min(lanes_per_repeat, extent.count - start);
            lanes.state = 1;
            for (int64_t i = 0; i < lanes.count; ++i) {
                lanes.active[i] = true;
                lanes.value[i] = from.data[start + i];
                if (!from.whole && lanes.state == 1) lanes.state = from.state(start + i);
            }
            take(repeat, lanes);
        }
        repeats = std::max<int64_t>(1, extent.count / lanes_per_repeat);
    } else {
        Operand from{sizeof(T), 1, static_cast<uint32_t>(src_repeat)};
        // More repeats than an instruction has: the function splits them.
        for (int64_t repeat = 0; repeat < repeats; ++repeat) {
            read_lanes(
                op, src, from, repeat, 0, lanes_per_repeat,
                [&](int64_t lane) { return extent.lanes.active(lane); }, lanes);
            take(repeat, lanes);
        }
    }
    if (!number) return;
    if (type != Reduce::SUM)
        use_workspace(op, work, reduce_workspace<T>(type, repeats, with_index));
    else if (!extent.by_count)
        use_workspace(op, work, reduce_workspace<T>(type, repeats, false));
    if (type == Reduce::SUM) {
        T total = static_cast<T>(sums[0]);
        if (extent.by_count)
            for (size_t i = 1; i < sums.size(); ++i) {
                Compute<T> pair[2] = {static_cast<Compute<T>>(total), sums[i]};
                total = sum_tree<T>(op, pair, 2, overflows);
            }
        else
            total = sum_tree<T>(op, sums.data(), static_cast<int64_t>(sums.size()), overflows);
        write_element(op, dst, 0, total, state);
        op.owner().registers.reduced_sum = bits_of_element(total);
        op.count_overflow(overflows, name_of_dtype<T>());
        return;
    }
    write_element(op, dst, 0, static_cast<T>(best.value), state);
    if (with_index) {
        if (sizeof(T) == 2 && best.lane > 65535)
            op.fail("argument",
                    text_of("%s: index %lld does not fit in 16 bits", op.name(),
                            static_cast<long long>(best.lane)),
                    "compute in float, or split the row");
        write_element(op, dst, 1, index_bits<T>(best.lane), state);
    }
    op.owner().registers.reduced_value = bits_of_element(static_cast<T>(best.value));
    op.owner().registers.reduced_index = static_cast<uint32_t>(best.lane);
}

template <class T> T element_from_bits(uint32_t bits) {
    T value;
    std::memcpy(static_cast<void*>(&value), &bits, std::min(sizeof(T), sizeof(bits)));
    return value;
}

} // namespace host_model

namespace AscendC {

// The forms with a number of lanes and with mask bits of each function.
#define HOST_MODEL_REDUCE_REPEATS(NAME, TYPE)                                                      \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t mask,                  \
              int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,                      \
              int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,            \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::reduce_repeats(#NAME, ReduceType::TYPE, dst, src,                            \
                                     ::host_model::masked(static_cast<uint64_t>(mask), repeatTime, \
                                                          isSetMask),                              \
                                     dstRepStride, srcBlkStride, srcRepStride, order, where);      \
    }                                                                                              \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, const uint64_t mask[],         \
              int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,                      \
              int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,            \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::reduce_repeats(#NAME, ReduceType::TYPE, dst, src,                            \
                                     ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask), \
                                     dstRepStride, srcBlkStride, srcRepStride, order, where);      \
    }
HOST_MODEL_REDUCE_REPEATS(WholeReduceSum, SUM)
HOST_MODEL_REDUCE_REPEATS(WholeReduceMax, MAX)
HOST_MODEL_REDUCE_REPEATS(WholeReduceMin, MIN)

#define HOST_MODEL_REDUCE_BLOCKS(NAME, TYPE)                                                       \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,            \
              int64_t mask, int64_t dstRepStride, int64_t srcBlkStride, int64_t srcRepStride,      \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::reduce_blocks(#NAME, ReduceType::TYPE, dst, src,                             \
                                    ::host_model::masked(static_cast<uint64_t>(mask), repeatTime,  \
                                                         isSetMask),                               \
                                    dstRepStride, srcBlkStride, srcRepStride, where);              \
    }                                                                                              \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,            \
              const uint64_t mask[], int64_t dstRepStride, int64_t srcBlkStride,                   \
              int64_t srcRepStride, HOST_MODEL_WHERE) {                                            \
        ::host_model::reduce_blocks(#NAME, ReduceType::TYPE, dst, src,                             \
                                    ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),  \
                                    dstRepStride, srcBlkStride, srcRepStride, where);              \
    }
HOST_MODEL_REDUCE_BLOCKS(BlockReduceSum, SUM)
HOST_MODEL_REDUCE_BLOCKS(BlockReduceMax, MAX)
HOST_MODEL_REDUCE_BLOCKS(BlockReduceMin, MIN)

#define HOST_MODEL_REDUCE_ALL(NAME, TYPE)                                                          \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                \
              const LocalTensor<T>& sharedTmpBuffer, int64_t count, bool calIndex = false,         \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::reduce_all(#NAME, ReduceType::TYPE, dst, src, sharedTmpBuffer,               \
                                 ::host_model::counted(count), 8, calIndex, where);                \
    }                                                                                              \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                \
              const LocalTensor<T>& sharedTmpBuffer, int64_t mask, int64_t repeatTime,             \
              int64_t srcRepStride, bool calIndex = false, HOST_MODEL_WHERE) {                     \
        ::host_model::reduce_all(#NAME, ReduceType::TYPE, dst, src, sharedTmpBuffer,               \
                                 ::host_model::masked(static_cast<uint64_t>(mask), repeatTime,     \
                                                      isSetMask),                                  \
                                 srcRepStride, calIndex, where);                                   \
    }                                                                                              \
    template <class T, bool isSetMask = true>                                                      \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<T>& src,                                \
              const LocalTensor<T>& sharedTmpBuffer, const uint64_t mask[], int64_t repeatTime,    \
              int64_t srcRepStride, bool calIndex = false, HOST_MODEL_WHERE) {                     \
        ::host_model::reduce_all(#NAME, ReduceType::TYPE, dst, src, sharedTmpBuffer,               \
                                 ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),     \
                                 srcRepStride, calIndex, where);                                   \
    }
HOST_MODEL_REDUCE_ALL(ReduceSum, SUM)
HOST_MODEL_REDUCE_ALL(ReduceMax, MAX)
HOST_MODEL_REDUCE_ALL(ReduceMin, MIN)

template <class T, bool isSetMask = true>
void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                   int64_t mask, int64_t dstRepStride, int64_t srcBlkStride, int64_t srcRepStride,
                   HOST_MODEL_WHERE) {
    ::host_model::reduce_pairs("PairReduceSum", dst, src,
                               ::host_model::masked(static_cast<uint64_t>(mask), repeatTime,
                                                    isSetMask),
                               dstRepStride, srcBlkStride, srcRepStride, where);
}
template <class T, bool isSetMask = true>
void PairReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                   const uint64_t mask[], int64_t dstRepStride, int64_t srcBlkStride,
                   int64_t srcRepStride, HOST_MODEL_WHERE) {
    ::host_model::reduce_pairs("PairReduceSum", dst, src,
                               ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                               dstRepStride, srcBlkStride, srcRepStride, where);
}
template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                     int64_t mask, int64_t dstBlkStride, int64_t srcBlkStride, int64_t dstRepStride,
                     int64_t srcRepStride, HOST_MODEL_WHERE) {
    (void)dstBlkStride;
    ::host_model::reduce_repeats("RepeatReduceSum", ReduceType::SUM, dst, src,
                                 ::host_model::masked(static_cast<uint64_t>(mask), repeatTime,
                                                      isSetMask),
                                 dstRepStride, srcBlkStride, srcRepStride,
                                 ReduceOrder::ORDER_ONLY_VALUE, where);
}
template <class T, bool isSetMask = true>
void RepeatReduceSum(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t repeatTime,
                     const uint64_t mask[], int64_t dstBlkStride, int64_t srcBlkStride,
                     int64_t dstRepStride, int64_t srcRepStride, HOST_MODEL_WHERE) {
    (void)dstBlkStride;
    ::host_model::reduce_repeats("RepeatReduceSum", ReduceType::SUM, dst, src,
                                 ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                                 dstRepStride, srcBlkStride, srcRepStride,
                                 ReduceOrder::ORDER_ONLY_VALUE, where);
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t mask,
                  int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                  int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                  HOST_MODEL_WHERE) {
    ::host_model::reduce_repeats("ReduceRepeat", reduceType, dst, src,
                                 ::host_model::masked(static_cast<uint64_t>(mask), repeatTime,
                                                      isSetMask),
                                 dstRepStride, srcBlkStride, srcRepStride, order, where);
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
void ReduceRepeat(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                  int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                  int64_t srcRepStride, ReduceOrder order = ReduceOrder::ORDER_VALUE_INDEX,
                  HOST_MODEL_WHERE) {
    ::host_model::reduce_repeats("ReduceRepeat", reduceType, dst, src,
                                 ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                                 dstRepStride, srcBlkStride, srcRepStride, order, where);
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t mask,
                     int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                     int64_t srcRepStride, HOST_MODEL_WHERE) {
    ::host_model::reduce_blocks("ReduceDataBlock", reduceType, dst, src,
                                ::host_model::masked(static_cast<uint64_t>(mask), repeatTime,
                                                     isSetMask),
                                dstRepStride, srcBlkStride, srcRepStride, where);
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
void ReduceDataBlock(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                     int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                     int64_t srcRepStride, HOST_MODEL_WHERE) {
    ::host_model::reduce_blocks("ReduceDataBlock", reduceType, dst, src,
                                ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                                dstRepStride, srcBlkStride, srcRepStride, where);
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, int64_t mask,
                    int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                    int64_t srcRepStride, HOST_MODEL_WHERE) {
    ::host_model::reduce_pairs("ReducePairElem", dst, src,
                               ::host_model::masked(static_cast<uint64_t>(mask), repeatTime,
                                                    isSetMask),
                               dstRepStride, srcBlkStride, srcRepStride, where);
}
template <ReduceType reduceType, class T, class U, bool isSetMask = true>
void ReducePairElem(const LocalTensor<T>& dst, const LocalTensor<U>& src, const uint64_t mask[],
                    int64_t repeatTime, int64_t dstRepStride, int64_t srcBlkStride,
                    int64_t srcRepStride, HOST_MODEL_WHERE) {
    ::host_model::reduce_pairs("ReducePairElem", dst, src,
                               ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                               dstRepStride, srcBlkStride, srcRepStride, where);
}

// What the last reduction of this core left in registers.
template <class T> void GetReduceRepeatMaxMinSpr(T& maxMinValue, T& maxMinIndex) {
    auto& registers = ::host_model::core().registers;
    maxMinValue = ::host_model::element_from_bits<T>(registers.reduced_value);
    maxMinIndex = ::host_model::element_from_bits<T>(registers.reduced_index);
}
template <class T> void GetReduceRepeatMaxMinSpr(T& maxMinValue) {
    maxMinValue = ::host_model::element_from_bits<T>(::host_model::core().registers.reduced_value);
}
template <class T> void GetReduceMaxMinCount(T& maxMinValue, T& maxMinIndex) {
    GetReduceRepeatMaxMinSpr(maxMinValue, maxMinIndex);
}
template <class T> void GetReduceMaxMinCount(T& maxMinValue) {
    GetReduceRepeatMaxMinSpr(maxMinValue);
}
template <class T> T GetReduceRepeatSumSpr() {
    return ::host_model::element_from_bits<T>(::host_model::core().registers.reduced_sum);
}
template <class T> T GetAccVal() { return GetReduceRepeatSumSpr<T>(); }

} // namespace AscendC
