// Comparisons into bits, and selection by bits.
#pragma once

#include "elementwise.h"

namespace AscendC {

enum class CMPMODE : uint8_t { LT = 0, GT, EQ, LE, GE, NE };
enum class SELMODE : uint8_t {
    VSEL_CMPMASK_SPR = 0,
    VSEL_TENSOR_SCALAR_MODE,
    VSEL_TENSOR_TENSOR_MODE
};

} // namespace AscendC

namespace host_model {

template <class C> bool compares(AscendC::CMPMODE mode, C x, C y) {
    using M = AscendC::CMPMODE;
    switch (mode) {
    case M::LT: return x < y;
    case M::GT: return x > y;
    case M::EQ: return x == y;
    case M::LE: return x <= y;
    case M::GE: return x >= y;
    default: return x != y;
    }
}
// Warns of comparisons that Atlas A2 does not document: int32_t is compared for equality only.
template <class T> void check_compare(Instruction& op, AscendC::CMPMODE mode) {
    check_dtype<Types<half, float, int32_t>, T>(op);
    if (std::is_same<T, int32_t>::value && mode != AscendC::CMPMODE::EQ)
        op.warn(
            "unsupported",
            text_of("%s of int32_t: Atlas A2 (Ascend 910B) compares int32_t with CMPMODE::EQ only",
                    op.name()),
            "Cast to float first");
}

// bits[i] = a[i] mode b[i], in the order of the bytes; `index` maps an element to those of a and b.
template <class U, class Truth, class State>
void write_bits(Instruction& op, const AscendC::LocalTensor<U>& dst, int64_t first_byte,
                int64_t count, Truth&& truth, State&& state) {
    int64_t bytes = (count + 7) / 8;
    auto bits = op.out(dst.template ReinterpretCast<uint8_t>(), first_byte, bytes);
    for (int64_t byte = 0; byte < bytes; ++byte) {
        unsigned value = 0;
        int64_t n = std::min<int64_t>(8, count - byte * 8);
        for (int64_t i = 0; i < n; ++i) value |= static_cast<unsigned>(truth(byte * 8 + i)) << i;
        bits.data[byte] = static_cast<uint8_t>(value);
        uint8_t found = 1;
        for (int64_t i = 0; i < n; ++i) found = found == 1 ? state(byte * 8 + i) : found;
        op.set(bits, byte, found);
    }
}

// One operand of a comparison or selection: a tensor, or a scalar that all elements share.
template <class T> struct ScalarOperand {
    T value;
};
template <class T>
Span<T> elements(Instruction& op, const AscendC::LocalTensor<T>& tensor, int64_t first,
                 int64_t count, const char* name) {
    return op.in(tensor, first, count, 1, name);
}
template <class T>
ScalarOperand<T> elements(Instruction&, const ScalarOperand<T>& one, int64_t, int64_t,
                          const char*) {
    return one;
}
template <class T> T at(const Span<T>& span, int64_t i) { return span.data[i]; }
template <class T> T at(const ScalarOperand<T>& one, int64_t) { return one.value; }
template <class T> uint8_t state_at(const Span<T>& span, int64_t i) {
    return span.whole ? 1 : span.state(i);
}
template <class T> uint8_t state_at(const ScalarOperand<T>&, int64_t) { return 1; }
template <class T> void check_operand(Instruction& op, const AscendC::LocalTensor<T>& tensor) {
    check_start(op, tensor);
}
template <class T> void check_operand(Instruction&, const ScalarOperand<T>&) {}

// dst bit i = a[i] mode b[i]; each of a and b is a tensor or a scalar. `strides` are those of a and
// b.
template <class T, class U, class A, class B>
void compare(const char* name, const AscendC::LocalTensor<U>& dst, const A& a, const B& b,
             AscendC::CMPMODE mode, const Extent& extent, const AscendC::BinaryRepeatParams& params,
             const Where& where) {
    Instruction op(Pipe::V, name, where);
    check_compare<T>(op, mode);
    check_start(op, dst);
    check_operand(op, a);
    check_operand(op, b);
    auto run = [&](int64_t first_byte, int64_t a_first, int64_t b_first, int64_t count) {
        auto left = elements(op, a, a_first, count, "source 0");
        auto right = elements(op, b, b_first, count, "source 1");
        write_bits(
            op, dst, first_byte, count,
            [&](int64_t i) {
                return compares(mode, static_cast<Compute<T>>(at(left, i)),
                                static_cast<Compute<T>>(at(right, i)));
            },
            [&](int64_t i) {
                uint8_t state = state_at(left, i);
                return state == 1 ? state_at(right, i) : state;
            });
    };
    constexpr int64_t lanes = lanes_of<T, T>();
    bool counter = op.owner().mask_counter;
    if (extent.by_count || (counter && extent.from_registers)) {
        int64_t count = extent.by_count ? extent.count : static_cast<int64_t>(extent.lanes.count());
        if (count * static_cast<int64_t>(sizeof(T)) % REPEAT_BYTES)
            op.warn("alignment",
                    text_of("%s of %lld elements is %lld bytes, no multiple of 256", op.name(),
                            static_cast<long long>(count),
                            static_cast<long long>(count * static_cast<int64_t>(sizeof(T)))),
                    "round the count up to whole repeats of 256 bytes, in buffers of that length");
        if (count > 0) run(0, 0, 0, count);
        return;
    }
    // The mask has no effect: each repeat compares 256 bytes.
    check_range_of_repeats(op, extent.repeats);
    Operand left{sizeof(T), params.src0BlkStride, params.src0RepStride};
    Operand right{sizeof(T), params.src1BlkStride, params.src1RepStride};
    constexpr int64_t per_block = BLOCK_BYTES / sizeof(T);
    for (int64_t repeat = 0; repeat < extent.repeats; ++repeat) {
        if (left.block_stride == 1 && right.block_stride == 1) {
            run(repeat * lanes / 8, left.element(repeat, 0), right.element(repeat, 0), lanes);
        } else { // blocks one by one; 8, 16 or 4 bits each
            std::array<uint8_t, 32> values{}, states{};
            for (int64_t block = 0; block < 8; ++block) {
                auto x =
                    elements(op, a, left.element(repeat, block * per_block), per_block, "source 0");
                auto y = elements(op, b, right.element(repeat, block * per_block), per_block,
                                  "source 1");
                for (int64_t i = 0; i < per_block; ++i) {
                    int64_t lane = block * per_block + i;
                    bool holds = compares(mode, static_cast<Compute<T>>(at(x, i)),
                                          static_cast<Compute<T>>(at(y, i)));
                    values[lane / 8] =
                        static_cast<uint8_t>(values[lane / 8] | unsigned(holds) << lane % 8);
                    uint8_t state = state_at(x, i) == 1 ? state_at(y, i) : state_at(x, i);
                    if (state != 1) states[lane / 8] = state == 0 ? op.undefined_code() : state;
                }
            }
            auto bits =
                op.out(dst.template ReinterpretCast<uint8_t>(), repeat * lanes / 8, lanes / 8);
            for (int64_t i = 0; i < lanes / 8; ++i) {
                bits.data[i] = values[i];
                op.set(bits, i, states[i] ? states[i] : 1);
            }
        }
    }
}

// Elements of the selection: bit i of `bits` takes a[i], else b[i].
template <class T, class A, class B, class Bit>
void select_run(Instruction& op, const AscendC::LocalTensor<T>& dst, const A& a, const B& b,
                int64_t dst_first, int64_t a_first, int64_t b_first, int64_t count, Bit&& bit) {
    auto left = elements(op, a, a_first, count, "source 0");
    auto right = elements(op, b, b_first, count, "source 1");
    auto to = op.out(dst, dst_first, count);
    for (int64_t i = 0; i < count; ++i) {
        uint8_t state = 1;
        bool first = bit(i, state);
        uint8_t chosen = first ? state_at(left, i) : state_at(right, i);
        to.data[i] = first ? at(left, i) : at(right, i);
        op.set(to, i, state != 1 ? state : chosen);
    }
}

template <class T, class U, class A, class B>
void select(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<U>& mask_bits,
            const A& a, const B& b, AscendC::SELMODE mode, const Extent& extent,
            const AscendC::BinaryRepeatParams& params, const Where& where) {
    bool repeated = mode == AscendC::SELMODE::VSEL_CMPMASK_SPR; // each repeat uses the same bits
    if (!repeated) take_workspace("Select", core().chip.select_bytes, where);
    Instruction op(Pipe::V, "Select", where);
    check_dtype<Floating, T>(op);
    check_alignment(op, dst, mask_bits);
    check_operand(op, a);
    check_operand(op, b);
    constexpr int64_t lanes = lanes_of<T, T>();
    auto bytes = mask_bits.template ReinterpretCast<uint8_t>();
    bool counter = op.owner().mask_counter;
    int64_t elements_of_all = extent.by_count ? extent.count
                              : counter       ? static_cast<int64_t>(extent.lanes.count())
                                              : extent.repeats * lanes;
    if (elements_of_all <= 0) return;
    int64_t bits = repeated ? std::min(lanes, elements_of_all) : elements_of_all;
    auto chosen = op.in(bytes, 0, (bits + 7) / 8, 1, "the mask of the selection");
    auto bit_at = [&](int64_t position, uint8_t& state) {
        if (repeated) position %= lanes;
        if (!chosen.whole) state = chosen.state(position / 8);
        return (chosen.data[position / 8] >> position % 8 & 1) != 0;
    };
    if (extent.by_count) {
        select_run(op, dst, a, b, 0, 0, 0, extent.count,
                   [&](int64_t i, uint8_t& state) { return bit_at(i, state); });
        return;
    }
    check_range_of_repeats(op, extent.repeats);
    std::array<Operand, 3> operands = operands_of<T, T>(params);
    int64_t repeats = counter ? (elements_of_all + lanes - 1) / lanes : extent.repeats;
    for (int64_t repeat = 0; repeat < repeats; ++repeat) {
        int64_t lane = 0; // of the run
        auto body = [&](const auto& first, int64_t count) {
            select_run(op, dst, a, b, first[0], first[1], first[2], count,
                       [&](int64_t i, uint8_t& state) {
                           return bit_at(repeat * lanes + lane + i, state);
                       });
            lane += count;
        };
        auto active = [&](int64_t one) {
            return counter ? repeat * lanes + one < elements_of_all : extent.lanes.active(one);
        };
        // Runs within blocks, so that `lane` is that of the run's start.
        for (int64_t start = 0; start < lanes; ++start) {
            if (!active(start)) continue;
            int64_t count = 1, per_block = BLOCK_BYTES / sizeof(T);
            while ((start + count) % per_block && active(start + count)) ++count;
            lane = start;
            body(std::array<int64_t, 3>{operands[0].element(repeat, start),
                                        operands[1].element(repeat, start),
                                        operands[2].element(repeat, start)},
                 count);
            start += count - 1;
        }
    }
}

} // namespace host_model

namespace AscendC {

template <class T, class U>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, int64_t count, HOST_MODEL_WHERE) {
    ::host_model::compare<T>("Compare", dst, src0, src1, cmpMode, ::host_model::counted(count), {},
                             where);
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, uint64_t mask, int64_t repeatTime,
             const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::compare<T>("Compare", dst, src0, src1, cmpMode,
                             ::host_model::masked(mask, repeatTime, isSetMask), repeatParams,
                             where);
}
template <class T, class U, bool isSetMask = true>
void Compare(const LocalTensor<U>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
             CMPMODE cmpMode, const uint64_t mask[], int64_t repeatTime,
             const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::compare<T>("Compare", dst, src0, src1, cmpMode,
                             ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),
                             repeatParams, where);
}

// Result in the compare mask register: one repeat.
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode, uint64_t mask,
             const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    (void)mask;
    ::host_model::Instruction op(::host_model::Pipe::V, "Compare", where);
    ::host_model::check_dtype<::host_model::Floating, T>(op);
    ::host_model::check_alignment(op, src0, src1);
    auto operands = ::host_model::operands_of<T, T>(repeatParams);
    auto& registers = op.owner().registers;
    registers.compare_mask[0] = registers.compare_mask[1] = 0;
    constexpr int64_t per_block = 32 / sizeof(T);
    for (int64_t lane = 0; lane < per_block * 8; lane += per_block) {
        auto x = op.in(src0, operands[1].element(0, lane), per_block, 1, "source 0");
        auto y = op.in(src1, operands[2].element(0, lane), per_block, 1, "source 1");
        for (int64_t i = 0; i < per_block; ++i)
            if (::host_model::compares(cmpMode, static_cast<::host_model::Compute<T>>(x.data[i]),
                                       static_cast<::host_model::Compute<T>>(y.data[i])))
                registers.compare_mask[(lane + i) / 64] |= 1ull << (lane + i) % 64;
    }
}
template <class T, bool isSetMask = true>
void Compare(const LocalTensor<T>& src0, const LocalTensor<T>& src1, CMPMODE cmpMode,
             const uint64_t mask[], const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    Compare<T, isSetMask>(src0, src1, cmpMode, mask[0], repeatParams, where);
}
template <class T> void GetCmpMask(const LocalTensor<T>& dst, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "GetCmpMask", where);
    ::host_model::check_start(op, dst, 16);
    auto to = op.out(dst, 0, 16 / sizeof(T));
    std::memcpy(static_cast<void*>(to.data), op.owner().registers.compare_mask, 16);
    op.derive(to);
}
template <class T> void SetCmpMask(const LocalTensor<T>& src, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::V, "SetCmpMask", where);
    ::host_model::check_start(op, src, 16);
    auto from = op.in(src, 0, 16 / sizeof(T));
    std::memcpy(op.owner().registers.compare_mask, from.data, 16);
}

} // namespace AscendC

namespace host_model {

// A tensor with a scalar on either side; a second tensor stands for its element 0.
template <class U, class A, class B>
void compare_scalar(const char* name, const AscendC::LocalTensor<U>& dst, const A& a, const B& b,
                    int scalar_index, AscendC::CMPMODE mode, const Extent& extent,
                    const AscendC::UnaryRepeatParams& params, const Where& where) {
    static_assert(IsTensor<A>::value || IsTensor<B>::value, "one of the operands must be a tensor");
    AscendC::BinaryRepeatParams strides{1, params.srcBlkStride, params.srcBlkStride,
                                        8, params.srcRepStride, params.srcRepStride};
    Instruction read(Pipe::V, name, where);
    if constexpr (IsTensor<A>::value) {
        if (!IsTensor<B>::value || scalar_index == 1) {
            using T = typename A::PrimType;
            return compare<T>(name, dst, a, ScalarOperand<T>{scalar_of<T>(read, b)}, mode, extent,
                              strides, where);
        }
    }
    if constexpr (IsTensor<B>::value) {
        using T = typename B::PrimType;
        compare<T>(name, dst, ScalarOperand<T>{scalar_of<T>(read, a)}, b, mode, extent, strides,
                   where);
    }
}

} // namespace host_model

namespace AscendC {

#define HOST_MODEL_COMPARE_SCALAR(NAME)                                                            \
    template <class T0 = BinaryDefaultType, class T1 = BinaryDefaultType, bool isSetMask = true,   \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, class U, class A, class B>       \
    void NAME(const LocalTensor<U>& dst, const A& src0, const B& src1, CMPMODE cmpMode,            \
              int64_t count, HOST_MODEL_WHERE) {                                                   \
        ::host_model::compare_scalar(#NAME, dst, src0, src1, config.scalarTensorIndex, cmpMode,    \
                                     ::host_model::counted(count), {}, where);                     \
    }                                                                                              \
    template <class T0 = BinaryDefaultType, class T1 = BinaryDefaultType, bool isSetMask = true,   \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, class U, class A, class B>       \
    void NAME(const LocalTensor<U>& dst, const A& src0, const B& src1, CMPMODE cmpMode,            \
              uint64_t mask, int64_t repeatTime, const UnaryRepeatParams& repeatParams,            \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::compare_scalar(#NAME, dst, src0, src1, config.scalarTensorIndex, cmpMode,    \
                                     ::host_model::masked(mask, repeatTime, isSetMask),            \
                                     repeatParams, where);                                         \
    }                                                                                              \
    template <class T0 = BinaryDefaultType, class T1 = BinaryDefaultType, bool isSetMask = true,   \
              const BinaryConfig& config = DEFAULT_BINARY_CONFIG, class U, class A, class B>       \
    void NAME(const LocalTensor<U>& dst, const A& src0, const B& src1, CMPMODE cmpMode,            \
              const uint64_t mask[], int64_t repeatTime, const UnaryRepeatParams& repeatParams,    \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::compare_scalar(#NAME, dst, src0, src1, config.scalarTensorIndex, cmpMode,    \
                                     ::host_model::masked(mask, 4, repeatTime, isSetMask),         \
                                     repeatParams, where);                                         \
    }
HOST_MODEL_COMPARE_SCALAR(CompareScalar)
HOST_MODEL_COMPARE_SCALAR(Compares)

// Where the bit is 1 src0, else src1, which is a tensor or (VSEL_TENSOR_SCALAR_MODE) a scalar.
#define HOST_MODEL_SELECT(NAME, A_TYPE, A, B_TYPE, B)                                              \
    template <class T, class U>                                                                    \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, A_TYPE src0, B_TYPE src1,  \
              SELMODE selMode, int64_t count, HOST_MODEL_WHERE) {                                  \
        ::host_model::select(dst, selMask, A, B, selMode, ::host_model::counted(count), {},        \
                             where);                                                               \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, A_TYPE src0, B_TYPE src1,  \
              SELMODE selMode, uint64_t mask, int64_t repeatTime,                                  \
              const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {                          \
        ::host_model::select(dst, selMask, A, B, selMode,                                          \
                             ::host_model::masked(mask, repeatTime, isSetMask), repeatParams,      \
                             where);                                                               \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, A_TYPE src0, B_TYPE src1,  \
              SELMODE selMode, const uint64_t mask[], int64_t repeatTime,                          \
              const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {                          \
        ::host_model::select(dst, selMask, A, B, selMode,                                          \
                             ::host_model::masked(mask, sizeof(T), repeatTime, isSetMask),         \
                             repeatParams, where);                                                 \
    }
HOST_MODEL_SELECT(Select, const LocalTensor<T>&, src0, const LocalTensor<T>&, src1)
HOST_MODEL_SELECT(Select, const LocalTensor<T>&, src0, ::host_model::Scalar<T>,
                  ::host_model::ScalarOperand<T>{src1})
HOST_MODEL_SELECT(Select, ::host_model::Scalar<T>, ::host_model::ScalarOperand<T>{src0},
                  const LocalTensor<T>&, src1)

} // namespace AscendC

namespace host_model {

// Selection by the compare mask register: its bits, or in mode 2 the address of the bits.
template <class T, class B>
void select_by_register(const AscendC::LocalTensor<T>& dst, const AscendC::LocalTensor<T>& a,
                        const B& b, int64_t repeats, const AscendC::BinaryRepeatParams& params,
                        const Where& where) {
    Instruction op(Pipe::V, "Select", where);
    check_alignment(op, dst, a);
    check_operand(op, b);
    auto operands = operands_of<T, T>(params);
    const uint64_t* bits = op.owner().registers.compare_mask;
    Extent extent = masked(AscendC::MASK_PLACEHOLDER, repeats, false);
    constexpr int64_t lanes = lanes_of<T, T>(), per_block = BLOCK_BYTES / sizeof(T);
    for (int64_t repeat = 0; repeat < repeats; ++repeat)
        for (int64_t lane = 0; lane < lanes; ++lane) {
            if (!extent.lanes.active(lane)) continue;
            int64_t count = 1;
            while ((lane + count) % per_block && extent.lanes.active(lane + count)) ++count;
            select_run(op, dst, a, b, operands[0].element(repeat, lane),
                       operands[1].element(repeat, lane), operands[2].element(repeat, lane), count,
                       [&](int64_t i, uint8_t&) {
                           return (bits[(lane + i) / 64] >> (lane + i) % 64 & 1) != 0;
                       });
            lane += count - 1;
        }
}

} // namespace host_model

namespace AscendC {

template <class T, SELMODE selMode>
void Select(const LocalTensor<T>& dst, const LocalTensor<T>& src0, const LocalTensor<T>& src1,
            int64_t repeatTime, const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    if (selMode != SELMODE::VSEL_CMPMASK_SPR)
        ::host_model::core()
            .fail("unsupported",
                  "Select without a mask in VSEL_TENSOR_TENSOR_MODE reads the mask from an address",
                  "pass the mask tensor to Select", where);
    ::host_model::select_by_register(dst, src0, src1, repeatTime, repeatParams, where);
}
// Bits from selMask, the scalar from SetCmpMask.
template <class T, class U>
void Select(const LocalTensor<T>& dst, const LocalTensor<U>& selMask, const LocalTensor<T>& src0,
            int64_t repeatTime, const BinaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    T scalar;
    std::memcpy(&scalar, ::host_model::core().registers.compare_mask, sizeof(T));
    ::host_model::select(dst, selMask, src0, ::host_model::ScalarOperand<T>{scalar},
                         SELMODE::VSEL_TENSOR_SCALAR_MODE,
                         ::host_model::masked(MASK_PLACEHOLDER, repeatTime, false), repeatParams,
                         where);
}

} // namespace AscendC
