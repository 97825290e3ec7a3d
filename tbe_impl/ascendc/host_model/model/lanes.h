// Masks, repeats and strides of vector instructions.
//
// A vector instruction repeats up to 255 times over 256 bytes (8 blocks of 32 bytes). The mask says
// which elements of a repeat take part; the block stride is the distance between the blocks of a
// repeat, the repeat stride that between repeats, both in blocks. In counter mode the mask is the
// number of elements of the whole instruction, and the number of repeats follows from it.
#pragma once

#include "allocators.h"

namespace AscendC {

enum class MaskMode : uint8_t { NORMAL = 0, COUNTER };

constexpr int32_t DEFAULT_BLK_NUM = 8, DEFAULT_BLK_STRIDE = 1;
constexpr uint8_t DEFAULT_REPEAT_STRIDE = 8;
// Stands for the mask of a call with isSetMask = false.
constexpr uint64_t MASK_PLACEHOLDER = 0;
constexpr uint64_t MASK_PLACEHOLDER_LIST[2] = {0, 0};

// Strides are wider than the instruction's fields, so that a value that does not fit is an error.
struct UnaryRepeatParams {
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint32_t dstBlkStride = 1, srcBlkStride = 1;
    uint32_t dstRepStride = 8, srcRepStride = 8;
    bool repeatStrideMode = false, strideSizeMode = false, halfBlock = false;
    UnaryRepeatParams() = default;
    template <class A, class B, class C, class D>
    UnaryRepeatParams(A dst_block, B src_block, C dst_repeat, D src_repeat, bool half_block = false)
        : dstBlkStride(static_cast<uint32_t>(dst_block)),
          srcBlkStride(static_cast<uint32_t>(src_block)),
          dstRepStride(static_cast<uint32_t>(dst_repeat)),
          srcRepStride(static_cast<uint32_t>(src_repeat)), halfBlock(half_block) {}
};
struct BinaryRepeatParams {
    uint32_t blockNumber = DEFAULT_BLK_NUM;
    uint32_t dstBlkStride = 1, src0BlkStride = 1, src1BlkStride = 1;
    uint32_t dstRepStride = 8, src0RepStride = 8, src1RepStride = 8;
    bool repeatStrideMode = false, strideSizeMode = false;
    BinaryRepeatParams() = default;
    template <class A, class B, class C, class D, class E, class F>
    BinaryRepeatParams(A dst_block, B a_block, C b_block, D dst_repeat, E a_repeat, F b_repeat)
        : dstBlkStride(static_cast<uint32_t>(dst_block)),
          src0BlkStride(static_cast<uint32_t>(a_block)),
          src1BlkStride(static_cast<uint32_t>(b_block)),
          dstRepStride(static_cast<uint32_t>(dst_repeat)),
          src0RepStride(static_cast<uint32_t>(a_repeat)),
          src1RepStride(static_cast<uint32_t>(b_repeat)) {}
};

} // namespace AscendC

namespace host_model {

// Placement of one operand: size of its elements in bytes, strides in blocks.
struct Operand {
    uint32_t size, block_stride, repeat_stride;
    int64_t element(int64_t repeat, int64_t lane) const {
        int64_t per_block = BLOCK_BYTES / size, block = lane / per_block;
        return repeat * repeat_stride * per_block + block * block_stride * per_block +
               lane % per_block;
    }
};

// Active lanes of each repeat.
class Lanes {
public:
    // The first `count` lanes.
    static Lanes first(uint64_t count) {
        Lanes lanes;
        for (int i = 0; i < 4; ++i) {
            int64_t left = static_cast<int64_t>(std::min<uint64_t>(count, 256)) - i * 64;
            lanes.words_[i] = left >= 64 ? ~0ull : left > 0 ? (1ull << left) - 1 : 0;
        }
        lanes.count_ = count;
        lanes.prefix_ = true;
        return lanes;
    }
    // The lanes whose bits are 1, 64 lanes a word.
    static Lanes bits(const uint64_t* words, int number) {
        Lanes lanes;
        for (int i = 0; i < number; ++i) lanes.words_[i] = words[i];
        lanes.count_ = words[0];
        return lanes;
    }
    // The lanes of the mask register.
    static Lanes registers() {
        Lanes lanes = bits(core().mask, 2);
        if (core().mask[0] == ~0ull && core().mask[1] == ~0ull)
            lanes.words_[2] = lanes.words_[3] = ~0ull;
        return lanes;
    }
    bool active(uint64_t lane) const { return words_[lane / 64] >> (lane % 64) & 1; }
    // The argument of `first`, or the first word of the bits: the number of elements in counter
    // mode.
    uint64_t count() const { return count_; }
    bool is_prefix() const { return prefix_; }
    // The number of active lanes if they are the first ones, else -1.
    int64_t prefix(int64_t lanes) const {
        int64_t count = 0;
        while (count < lanes && active(count)) ++count;
        for (int64_t lane = count; lane < lanes; ++lane)
            if (active(lane)) return -1;
        return count;
    }

private:
    uint64_t words_[4] = {};
    uint64_t count_ = 0;
    bool prefix_ = false;
};

// What one call works on: the first `count` elements, or lanes of repeats.
struct Extent {
    bool by_count = false;
    int64_t count = 0;
    Lanes lanes;
    int64_t repeats = 0;
    bool from_registers = false;
};
inline Extent counted(int64_t count, bool set_mask = true) {
    Extent one;
    if (set_mask) {
        one.by_count = true;
        one.count = count;
    } else { // the mask register decides; in normal mode one repeat
        one.lanes = Lanes::registers();
        one.repeats = 1;
        one.from_registers = true;
    }
    return one;
}
template <class Repeats> Extent masked(uint64_t mask, Repeats repeats, bool set_mask = true) {
    Extent one;
    one.lanes = set_mask ? Lanes::first(mask) : Lanes::registers();
    one.repeats = static_cast<int64_t>(repeats);
    one.from_registers = !set_mask;
    return one;
}
// `size` is that of the widest element: with 4 bytes and more the mask has one word.
template <class Repeats>
Extent masked(const uint64_t* mask, size_t size, Repeats repeats, bool set_mask = true) {
    Extent one;
    one.lanes = set_mask ? Lanes::bits(mask, size >= 4 ? 1 : 2) : Lanes::registers();
    one.repeats = static_cast<int64_t>(repeats);
    one.from_registers = !set_mask;
    return one;
}

// Repeats of 0 to 255, strides of a repeat of 0 to 255 blocks, a mask within a repeat.
template <size_t N>
void check_repeats(Instruction& op, const Extent& extent, int64_t lanes_per_repeat,
                   const std::array<Operand, N>& operands, bool counter) {
    if (!counter && (extent.repeats < 0 || extent.repeats > 255))
        op.fail("argument",
                text_of("%s: %lld repeats; an instruction repeats 0 to 255 times", op.name(),
                        static_cast<long long>(extent.repeats)),
                "split the call, or use the form with a count");
    for (const Operand& one : operands)
        if (one.repeat_stride > 255 || one.block_stride > 65535)
            op.fail("argument",
                    text_of("%s: a stride of %lld blocks between %s; the limit is %d", op.name(),
                            static_cast<long long>(one.repeat_stride > 255 ? one.repeat_stride
                                                                           : one.block_stride),
                            one.repeat_stride > 255 ? "repeats" : "blocks",
                            one.repeat_stride > 255 ? 255 : 65535),
                    "the field is cut to its low bits on the chip: call once for each row");
    if (!counter && !extent.from_registers && extent.lanes.is_prefix() &&
        extent.lanes.count() > static_cast<uint64_t>(lanes_per_repeat))
        op.warn(
            "argument",
            text_of("%s: a mask of %llu elements; a repeat has %lld, and only those are computed",
                    op.name(), static_cast<unsigned long long>(extent.lanes.count()),
                    static_cast<long long>(lanes_per_repeat)),
            "256 bytes divided by the size of the widest element is the limit");
}

template <size_t N, class Body, class Active>
void for_each_run_of(int64_t lanes_per_repeat, const std::array<Operand, N>& operands,
                     int64_t repeat, Body&& body, Active&& active) {
    for (int64_t lane = 0; lane < lanes_per_repeat;) {
        if (!active(lane)) {
            ++lane;
            continue;
        }
        std::array<int64_t, N> first;
        for (size_t i = 0; i < N; ++i) first[i] = operands[i].element(repeat, lane);
        int64_t count = 1;
        for (; lane + count < lanes_per_repeat && active(lane + count); ++count) {
            bool contiguous = true;
            for (size_t i = 0; i < N; ++i)
                contiguous =
                    contiguous && operands[i].element(repeat, lane + count) == first[i] + count;
            if (!contiguous) break;
        }
        body(first, count);
        lane += count;
    }
}

// Calls body(first element of each operand, count) for runs of active lanes that are contiguous in
// every operand. `lanes_per_repeat` is 256 bytes by the widest operand.
template <size_t N, class Body>
void for_each_run(Instruction& op, const Extent& extent, int64_t lanes_per_repeat,
                  const std::array<Operand, N>& operands, Body&& body) {
    Core& own = op.owner();
    if (extent.by_count) {
        if (extent.count < 0)
            op.fail("argument",
                    text_of("%s: a count of %lld elements", op.name(),
                            static_cast<long long>(extent.count)),
                    "check the arithmetic of the count: it is negative");
        if (extent.count > 0) body(std::array<int64_t, N>{}, extent.count);
        own.mask_counter = false; // a form with a count leaves normal mode and a full mask
        own.mask[0] = own.mask[1] = ~0ull;
        return;
    }
    bool counter = own.mask_counter;
    check_repeats(op, extent, lanes_per_repeat, operands, counter);
    bool adjacent = true, dense = true;
    for (const Operand& one : operands) {
        adjacent = adjacent && one.block_stride == 1;
        dense = dense && one.repeat_stride * BLOCK_BYTES == lanes_per_repeat * one.size;
    }
    dense = dense && adjacent;
    int64_t repeats = extent.repeats, total = static_cast<int64_t>(extent.lanes.count());
    if (counter) repeats = (total + lanes_per_repeat - 1) / lanes_per_repeat;
    if (dense && counter) {
        if (total > 0) body(std::array<int64_t, N>{}, total);
        return;
    }
    int64_t prefix = counter ? lanes_per_repeat : extent.lanes.prefix(lanes_per_repeat);
    if (dense && prefix == lanes_per_repeat) {
        body(std::array<int64_t, N>{}, repeats * lanes_per_repeat);
        return;
    }
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        int64_t active =
            counter ? std::min(total - repeat * lanes_per_repeat, lanes_per_repeat) : prefix;
        if (adjacent && active >= 0) {
            std::array<int64_t, N> first;
            for (size_t i = 0; i < N; ++i) first[i] = operands[i].element(repeat, 0);
            if (active) body(first, active);
        } else if (active >= 0) {
            for_each_run_of(active, operands, repeat, body, [](int64_t) { return true; });
        } else {
            for_each_run_of(lanes_per_repeat, operands, repeat, body,
                            [&](int64_t lane) { return extent.lanes.active(lane); });
        }
    }
}

// A list of element types, and whether it holds one.
template <class... T> struct Types {
    static std::string names() {
        std::string text;
        ((text += (text.empty() ? "" : ", ") + std::string(name_of_dtype<T>())), ...);
        return text;
    }
};
using AnyType = Types<>;
template <class T, class... Allowed> constexpr bool holds(Types<Allowed...>) {
    return sizeof...(Allowed) == 0 || (std::is_same<T, Allowed>::value || ...);
}
// Warns of an element type that the documentation does not list for the Atlas A2 series.
template <class Allowed, class T> void check_dtype(Instruction& op) {
    if constexpr (!holds<T>(Allowed{}))
        op.warn("unsupported",
                text_of("%s of %s: Atlas A2 (Ascend 910B) computes it for %s", op.name(),
                        name_of_dtype<T>(), Allowed::names().c_str()),
                "Cast to one of those first");
}

} // namespace host_model

namespace AscendC {

// Mask register and mode of the calls with isSetMask = false.
template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(uint64_t maskHigh, uint64_t maskLow,
                   ::host_model::Where where = ::host_model::Where::here()) {
    (void)where;
    auto& core = ::host_model::core();
    core.mask[0] = maskLow;
    core.mask[1] = maskHigh;
}
template <class T, MaskMode mode = MaskMode::NORMAL>
void SetVectorMask(int32_t len, ::host_model::Where where = ::host_model::Where::here()) {
    auto& core = ::host_model::core();
    if (len < 0)
        core.fail("argument", ::host_model::text_of("SetVectorMask of %d elements", len),
                  "the number of elements is 0 or more", where);
    if (mode == MaskMode::COUNTER) {
        core.mask[0] = static_cast<uint64_t>(len);
        core.mask[1] = 0;
        return;
    }
    constexpr int lanes = 256 / static_cast<int>(sizeof(T));
    if (len > lanes)
        core.warn("argument",
                  ::host_model::text_of("SetVectorMask of %d elements; a repeat has %d", len,
                                        lanes),
                  "use SetMaskCount and MaskMode::COUNTER for a count of all elements", where);
    for (int i = 0; i < 2; ++i) {
        int left = std::min(len, lanes) - i * 64;
        core.mask[i] = left >= 64 ? ~0ull : left > 0 ? (1ull << left) - 1 : 0;
    }
}
inline void SetMaskCount() { ::host_model::core().mask_counter = true; }
inline void SetMaskNorm() { ::host_model::core().mask_counter = false; }
inline void ResetMask() { ::host_model::core().mask[0] = ::host_model::core().mask[1] = ~0ull; }

} // namespace AscendC

inline void set_vector_mask(uint64_t high, uint64_t low) {
    ::host_model::core().mask[0] = low;
    ::host_model::core().mask[1] = high;
}
inline void set_mask_count() { AscendC::SetMaskCount(); }
inline void set_mask_norm() { AscendC::SetMaskNorm(); }
