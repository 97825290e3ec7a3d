// Conversions between element types with round modes, and the functions that end in one.
#pragma once

#include "elementwise.h"

namespace AscendC {

enum class RoundMode : uint8_t {
    CAST_NONE = 0,
    CAST_RINT,
    CAST_FLOOR,
    CAST_CEIL,
    CAST_ROUND,
    CAST_TRUNC,
    CAST_ODD,
    CAST_HYBRID,
};
struct VdeqInfo {
    VdeqInfo() = default;
    VdeqInfo(const float scales[16], const int16_t offsets[16], const bool signs[16]) {
        for (int i = 0; i < 16; ++i)
            vdeqScale[i] = scales[i], vdeqOffset[i] = offsets[i], vdeqSignMode[i] = signs[i];
    }
    float vdeqScale[16] = {};
    int16_t vdeqOffset[16] = {};
    bool vdeqSignMode[16] = {};
};

} // namespace AscendC

namespace host_model {

using Mode = AscendC::RoundMode;
inline const char* name_of(Mode mode) {
    static const char* const names[] = {"CAST_NONE",  "CAST_RINT",  "CAST_FLOOR", "CAST_CEIL",
                                        "CAST_ROUND", "CAST_TRUNC", "CAST_ODD",   "CAST_HYBRID"};
    return names[static_cast<int>(mode)];
}

// Rounds to an integer; ROUND takes halves away from zero.
template <Mode mode, class F> F to_integer(F x) {
    if constexpr (mode == Mode::CAST_FLOOR) return std::floor(x);
    if constexpr (mode == Mode::CAST_CEIL) return std::ceil(x);
    if constexpr (mode == Mode::CAST_ROUND) return std::round(x);
    if constexpr (mode == Mode::CAST_TRUNC) return std::trunc(x);
    return std::nearbyint(x);
}

// Whether a magnitude whose last kept bit is `odd` is increased; `part` of `unit` is cut off.
template <Mode mode> bool rounds_up(bool negative, bool odd, uint32_t part, uint32_t middle) {
    if constexpr (mode == Mode::CAST_FLOOR) return negative && part;
    if constexpr (mode == Mode::CAST_CEIL) return !negative && part;
    if constexpr (mode == Mode::CAST_ROUND) return part >= middle;
    if constexpr (mode == Mode::CAST_TRUNC) return false;
    if constexpr (mode == Mode::CAST_ODD) return part && !odd;
    return part > middle || (part == middle && odd);
}
// float to a 16-bit float; values beyond the largest finite one become it.
template <Mode mode, class D> D to_small_float(float value) {
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    constexpr bool is_bf16 = is_bfloat<D>;
    constexpr uint32_t infinity = is_bf16 ? 0x7f80 : 0x7c00;
    if (rest >= 0x7f800000)
        return D::from_bits(static_cast<uint16_t>(
            sign | infinity | (rest > 0x7f800000 ? (is_bf16 ? 0x40 : 0x200) : 0)));
    uint32_t kept, part, middle;
    if (is_bf16) {
        kept = rest >> 16, part = rest & 0xffff, middle = 0x8000;
    } else if (rest >= 0x38800000) {
        kept = (rest - 0x38000000) >> 13, part = rest & 0x1fff, middle = 0x1000;
    } else { // a subnormal half
        uint32_t shift = 126 - (rest >> 23),
                 mantissa = (rest & 0x7fffff) | (rest >> 23 ? 0x800000 : 0);
        if (shift > 25) {
            kept = 0, part = rest != 0, middle = 2;
        } else {
            kept = mantissa >> shift, part = mantissa & ((1u << shift) - 1),
            middle = 1u << (shift - 1);
        }
    }
    kept += rounds_up<mode>(sign != 0, kept & 1, part, middle);
    if (kept >= infinity) kept = infinity - 1;
    return D::from_bits(static_cast<uint16_t>(sign | kept));
}
// An integer to float, rounded.
template <Mode mode, class S> float integer_to_float(S x) {
    auto nearest = static_cast<float>(x);
    if constexpr (mode == Mode::CAST_NONE || mode == Mode::CAST_RINT || sizeof(S) <= 2)
        return nearest;
    auto exact = static_cast<long double>(x), rounded = static_cast<long double>(nearest);
    if (rounded == exact) return nearest;
    float inner = std::fabs(rounded) > std::fabs(exact) ? std::nextafter(nearest, 0.0f) : nearest;
    float outer = std::nextafter(inner, x < 0 ? -INFINITY : INFINITY);
    if constexpr (mode == Mode::CAST_FLOOR) return x < 0 ? outer : inner;
    if constexpr (mode == Mode::CAST_CEIL) return x < 0 ? inner : outer;
    if constexpr (mode == Mode::CAST_ROUND)
        return std::fabs(exact - inner) * 2 >= std::fabs(static_cast<long double>(outer) - inner)
                   ? outer
                   : inner;
    return inner;
}
// A rounded number to an integer; values beyond the type become its limits, NaN 0.
template <class D, class F> D saturate(F x) {
    using Limits = std::numeric_limits<D>;
    if (x != x) return D(0);
    if (x <= static_cast<F>(Limits::min())) return Limits::min();
    if (x >= static_cast<F>(Limits::max())) return Limits::max();
    return static_cast<D>(x);
}
template <class D, class S> D saturate_integer(S x) {
    using Limits = std::numeric_limits<D>;
    if (std::is_signed<S>::value && x < 0) {
        if (!std::is_signed<D>::value) return D(0);
        return static_cast<int64_t>(x) < static_cast<int64_t>(Limits::min()) ? Limits::min()
                                                                             : static_cast<D>(x);
    }
    return static_cast<uint64_t>(x) > static_cast<uint64_t>(Limits::max()) ? Limits::max()
                                                                           : static_cast<D>(x);
}

template <Mode mode, class D, class S> D convert(S x) {
    if constexpr (is_floating<S>) {
        using F = Compute<S>;
        auto value = static_cast<F>(x);
        if constexpr (std::is_integral<D>::value)
            return saturate<D>(to_integer<mode>(value));
        else if constexpr (std::is_same<D, S>::value)
            return static_cast<D>(to_integer<mode>(value));
        else if constexpr (is_small_float<D>)
            return to_small_float<mode, D>(static_cast<float>(value));
        else
            return static_cast<D>(value);
    } else {
        if constexpr (std::is_integral<D>::value)
            return saturate_integer<D>(x);
        else if constexpr (is_small_float<D>)
            return to_small_float<mode, D>(integer_to_float<Mode::CAST_NONE>(x));
        else if constexpr (sizeof(D) == 8)
            return static_cast<D>(x);
        else
            return integer_to_float<mode>(x);
    }
}

template <Mode mode, class D, class S> void convert_array(D* to, const S* from, int64_t count) {
    int64_t i = 0;
    constexpr bool nearest = mode == Mode::CAST_NONE || mode == Mode::CAST_RINT;
    if constexpr (is_half<S> && std::is_same<D, float>::value) return widen(from, to, count);
    if constexpr (std::is_same<S, float>::value && is_half<D> && nearest) {
        for (; i + CHUNK <= count; i += CHUNK) {
            narrow(from + i, to + i, CHUNK);
            if (infinite_halves(to + i, CHUNK)) // saturates
                for (int64_t j = 0; j < CHUNK; ++j) to[i + j] = convert<mode, D>(from[i + j]);
        }
    }
    if constexpr (is_half<S> && std::is_integral<D>::value) {
        float buffer[CHUNK];
        for (; i + CHUNK <= count; i += CHUNK) {
            widen(from + i, buffer, CHUNK);
            for (int64_t j = 0; j < CHUNK; ++j)
                to[i + j] = saturate<D>(to_integer<mode>(buffer[j]));
        }
    }
    for (; i < count; ++i) to[i] = convert<mode, D>(from[i]);
}
template <class D, class S> void convert_array(D* to, const S* from, int64_t count, Mode mode) {
    constexpr bool exact = (std::is_integral<D>::value && std::is_integral<S>::value) ||
                           (is_floating<D> && is_floating<S> && sizeof(D) > sizeof(S)) ||
                           (std::is_integral<S>::value && sizeof(S) == 1);
    if constexpr (exact)
        return convert_array<Mode::CAST_NONE>(to, from, count);
    else
        switch (mode) {
        case Mode::CAST_FLOOR: return convert_array<Mode::CAST_FLOOR>(to, from, count);
        case Mode::CAST_CEIL: return convert_array<Mode::CAST_CEIL>(to, from, count);
        case Mode::CAST_ROUND: return convert_array<Mode::CAST_ROUND>(to, from, count);
        case Mode::CAST_TRUNC: return convert_array<Mode::CAST_TRUNC>(to, from, count);
        case Mode::CAST_ODD:
            if constexpr (is_small_float<D>) return convert_array<Mode::CAST_ODD>(to, from, count);
            return;
        default: return convert_array<Mode::CAST_RINT>(to, from, count);
        }
}

// Round modes (a bit each) that Atlas A2 documents for a pair of types; 0: no such conversion.
template <class D, class S> constexpr uint32_t round_modes() {
    constexpr uint32_t none = 1, five = 0x3e, odd = 0x40;
    constexpr bool from_half = is_half<S>, from_float = std::is_same<S, float>::value;
    constexpr bool to_half = is_half<D>, to_float = std::is_same<D, float>::value;
#define HOST_MODEL_PAIR(FROM, TO) (std::is_same<S, FROM>::value && std::is_same<D, TO>::value)
    if (to_half && (HOST_MODEL_PAIR(int8_t, D) || HOST_MODEL_PAIR(uint8_t, D))) return none;
    if (HOST_MODEL_PAIR(int16_t, half)) return five | none;
    if (HOST_MODEL_PAIR(int16_t, float) || HOST_MODEL_PAIR(bfloat16_t, float)) return none;
    if (from_half && (HOST_MODEL_PAIR(S, int8_t) || HOST_MODEL_PAIR(S, uint8_t)))
        return five | none;
    if (from_half && (HOST_MODEL_PAIR(S, int16_t) || HOST_MODEL_PAIR(S, int32_t))) return five;
    if (from_half && to_float) return none;
    if (HOST_MODEL_PAIR(bfloat16_t, int32_t)) return five;
    if (HOST_MODEL_PAIR(int32_t, int16_t) || HOST_MODEL_PAIR(int32_t, int64_t)) return none;
    if (HOST_MODEL_PAIR(int32_t, half)) return ~0u;
    if (HOST_MODEL_PAIR(int32_t, float)) return five | none;
    if (from_float && to_half) return five | none | odd;
    if (from_float && (HOST_MODEL_PAIR(S, int16_t) || HOST_MODEL_PAIR(S, int32_t) ||
                       HOST_MODEL_PAIR(S, int64_t) || HOST_MODEL_PAIR(S, bfloat16_t) || to_float))
        return five;
    if (HOST_MODEL_PAIR(int64_t, int32_t)) return none;
    if (HOST_MODEL_PAIR(int64_t, float)) return five;
#undef HOST_MODEL_PAIR
    return 0;
}
template <class D, class S> void check_round_mode(Instruction& op, Mode mode) {
    constexpr uint32_t modes = round_modes<D, S>();
    if (modes >> static_cast<int>(mode) & 1) return;
    if (!modes) {
        op.warn("unsupported",
                text_of("%s from %s to %s: Atlas A2 (Ascend 910B) has no such conversion",
                        op.name(), name_of_dtype<S>(), name_of_dtype<D>()),
                "convert to float or half first");
        return;
    }
    std::string names;
    for (int i = 0; i < 8; ++i)
        if (modes >> i & 1)
            names += (names.empty() ? "" : ", ") + std::string(name_of(static_cast<Mode>(i)));
    auto message = text_of("%s from %s to %s with %s", op.name(), name_of_dtype<S>(),
                           name_of_dtype<D>(), name_of(mode));
    if (modes == 1)
        op.warn("argument", message, "this conversion is exact: use CAST_NONE");
    else
        op.fail("argument", message, "use one of " + names);
}

// Counts finite values that did not fit.
template <class D, class S> uint64_t count_saturated(const D* to, const S* from, int64_t count) {
    int32_t found = 0;
    if constexpr (is_half<D> && std::is_same<S, float>::value)
        for (int64_t i = 0; i < count; ++i)
            found += (bits_of_float(from[i]) & 0x7fffffff) >= 0x477ff000 &&
                     (bits_of_float(from[i]) & 0x7fffffff) < 0x7f800000;
    else if constexpr (std::is_integral<D>::value && std::is_integral<S>::value &&
                       sizeof(D) < sizeof(S))
        for (int64_t i = 0; i < count; ++i) found += static_cast<S>(to[i]) != from[i];
    return static_cast<uint64_t>(found);
}

template <class D, class S>
void cast(const AscendC::LocalTensor<D>& dst, const AscendC::LocalTensor<S>& src, Mode mode,
          const Extent& extent, const AscendC::UnaryRepeatParams& params, const Where& where) {
    Instruction op(Pipe::V, "Cast", where);
    check_round_mode<D, S>(op, mode);
    check_alignment(op, dst, src);
    constexpr bool scaled = std::is_same<S, int32_t>::value && is_half<D>;
    const Registers& registers = op.owner().registers;
    if (scaled && !registers.deq_set)
        op.fail("argument",
                "Cast from int32_t to half multiplies by the scale of SetDeqScale, which was not "
                "called",
                "call SetDeqScale(static_cast<half>(1.0f)) first");
    for_each_run(op, extent, lanes_of<D, S>(), operands_of<D, S>(params),
                 [&](const auto& first, int64_t count) {
                     auto from = op.in(src, first[1], count, 1, "the source");
                     auto to = op.out(dst, first[0], count);
                     if constexpr (scaled) {
                         for (int64_t i = 0; i < count; ++i)
                             to.data[i] = static_cast<half>(static_cast<float>(from.data[i]) *
                                                            registers.deq_scale);
                         op.count_overflow(infinite_halves(to.data, count), "half");
                     } else {
                         convert_array(to.data, from.data, count, mode);
                         if constexpr (is_small_float<D> && std::is_same<S, float>::value)
                             if (registers.control >> 48 & 1) // does not saturate
                                 for (int64_t i = 0; i < count; ++i)
                                     if (std::isinf(
                                             static_cast<float>(static_cast<D>(from.data[i]))))
                                         to.data[i] = static_cast<D>(from.data[i]);
                         op.count_overflow(count_saturated(to.data, from.data, count),
                                           name_of_dtype<D>());
                     }
                     op.derive(to, from);
                 });
}

// The conversion that ends a compound function: to nearest even, saturating.
template <class D, class C> D finish(C x) { return convert<Mode::CAST_RINT, D>(x); }
// dst = convert(function(a, b)).
template <class D, class A, class F>
void binary_cast(const char* name, const AscendC::LocalTensor<D>& dst,
                 const AscendC::LocalTensor<A>& a, const AscendC::LocalTensor<A>& b,
                 const Extent& extent, const AscendC::BinaryRepeatParams& params,
                 const Where& where, F&& function) {
    Instruction op(Pipe::V, name, where);
    check_alignment(op, dst, a, b);
    for_each_run(op, extent, lanes_of<D, A>(), operands_of<D, A>(params),
                 [&](const auto& first, int64_t count) {
                     auto left = op.in(a, first[1], count, 1, "source 0");
                     auto right = op.in(b, first[2], count, 1, "source 1");
                     auto to = op.out(dst, first[0], count);
                     for (int64_t i = 0; i < count; ++i) {
                         using C =
                             std::conditional_t<std::is_integral<A>::value, int64_t, Compute<A>>;
                         to.data[i] = finish<D>(
                             function(static_cast<C>(left.data[i]), static_cast<C>(right.data[i])));
                     }
                     op.derive(to, left, right);
                 });
}

} // namespace host_model

namespace AscendC {

template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, RoundMode roundMode, int64_t count,
          HOST_MODEL_WHERE) {
    ::host_model::cast(dst, src, roundMode, ::host_model::counted(count, isSetMask),
                       ::host_model::dense_unary<T, U>(), where);
}
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, RoundMode roundMode, uint64_t mask,
          int64_t repeatTime, const UnaryRepeatParams& repeatParams, HOST_MODEL_WHERE) {
    ::host_model::cast(dst, src, roundMode, ::host_model::masked(mask, repeatTime, isSetMask),
                       repeatParams, where);
}
template <class T, class U, bool isSetMask = true>
void Cast(const LocalTensor<T>& dst, const LocalTensor<U>& src, RoundMode roundMode,
          const uint64_t mask[], int64_t repeatTime, const UnaryRepeatParams& repeatParams,
          HOST_MODEL_WHERE) {
    ::host_model::cast(dst, src, roundMode,
                       ::host_model::masked(mask, std::max(sizeof(T), sizeof(U)), repeatTime,
                                            isSetMask),
                       repeatParams, where);
}
template <class T, RoundMode roundMode>
void Truncate(const LocalTensor<T>& dst, const LocalTensor<T>& src, int64_t count,
              HOST_MODEL_WHERE) {
    ::host_model::unary("Truncate", dst, src, ::host_model::counted(count), {}, where,
                        [](auto x) { return ::host_model::to_integer<roundMode>(x); });
}

// Whether conversions to 16-bit floats saturate, which they do by default.
enum class SaturationMode { FLOAT = 0, CAST };
template <SaturationMode mode> void SetSaturationFlag(bool enableSat) {
    uint64_t& control = ::host_model::core().registers.control;
    control = (control & ~(1ull << 48)) | static_cast<uint64_t>(!enableSat) << 48;
}
template <SaturationMode mode> bool GetSaturationFlag() {
    return !(::host_model::core().registers.control >> 48 & 1);
}

// Scalars.
inline bfloat16_t Cast(const float& value) { return value; }
inline float Cast(const bfloat16_t& value) { return value; }
inline bfloat16_t ToBfloat16(const float& value) { return value; }
template <class T> float ToFloat(const T& value) { return static_cast<float>(value); }
template <class T, class U, RoundMode roundMode> U Cast(T value) {
    return ::host_model::convert<roundMode, U>(value);
}
template <class T, class U, RoundMode roundMode> U ScalarCast(T value) {
    return ::host_model::convert<roundMode, U>(value);
}

// The scale (and offset) of the conversions from int32_t to half and from int16_t to bytes.
inline void SetDeqScale(half scale) {
    auto& registers = ::host_model::core().registers;
    registers.deq_scale = scale;
    registers.deq_set = true;
}
inline void SetDeqScale(float scale, int16_t offset, bool signMode) {
    auto& registers = ::host_model::core().registers;
    registers.deq_scales.fill(scale);
    registers.deq_offsets.fill(static_cast<int16_t>(static_cast<uint16_t>(offset) << 7) >> 7);
    registers.deq_signs.fill(signMode);
    registers.deq_set = true;
}
template <class T>
void SetDeqScale(const LocalTensor<T>& vdeq, const VdeqInfo& vdeqInfo, HOST_MODEL_WHERE) {
    ::host_model::Instruction op(::host_model::Pipe::S, "SetDeqScale", where);
    auto to = op.out(vdeq, 0, 128 / sizeof(T), 32);
    auto& registers = op.owner().registers;
    for (int i = 0; i < 16; ++i) {
        registers.deq_scales[i] = vdeqInfo.vdeqScale[i];
        registers.deq_offsets[i] = vdeqInfo.vdeqOffset[i];
        registers.deq_signs[i] = vdeqInfo.vdeqSignMode[i];
    }
    std::memset(static_cast<void*>(to.data), 0, 128);
    op.derive(to);
    registers.deq_set = true;
}

#define HOST_MODEL_BINARY_CAST(NAME, EXPRESSION)                                                   \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,   \
              int64_t count, HOST_MODEL_WHERE) {                                                   \
        ::host_model::binary_cast(#NAME, dst, src0, src1, ::host_model::counted(count, isSetMask), \
                                  ::host_model::dense_binary<T, U>(), where,                       \
                                  [](auto x, auto y) { return EXPRESSION; });                      \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,   \
              uint64_t mask, int64_t repeatTime, const BinaryRepeatParams& repeatParams,           \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::binary_cast(#NAME, dst, src0, src1,                                          \
                                  ::host_model::masked(mask, repeatTime, isSetMask), repeatParams, \
                                  where, [](auto x, auto y) { return EXPRESSION; });               \
    }                                                                                              \
    template <class T, class U, bool isSetMask = true>                                             \
    void NAME(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,   \
              const uint64_t mask[], int64_t repeatTime, const BinaryRepeatParams& repeatParams,   \
              HOST_MODEL_WHERE) {                                                                  \
        ::host_model::binary_cast(#NAME, dst, src0, src1,                                          \
                                  ::host_model::masked(mask, std::max(sizeof(T), sizeof(U)),       \
                                                       repeatTime, isSetMask),                     \
                                  repeatParams, where, [](auto x, auto y) { return EXPRESSION; }); \
    }
HOST_MODEL_BINARY_CAST(AddReluCast, ::host_model::AddReluFunction{}(x, y))
HOST_MODEL_BINARY_CAST(SubReluCast, ::host_model::SubReluFunction{}(x, y))
HOST_MODEL_BINARY_CAST(MulCast, x* y)
template <class T, class U>
void ExpSub(const LocalTensor<T>& dst, const LocalTensor<U>& src0, const LocalTensor<U>& src1,
            int64_t count, HOST_MODEL_WHERE) {
    ::host_model::binary_cast("ExpSub", dst, src0, src1, ::host_model::counted(count),
                              ::host_model::dense_binary<T, U>(), where,
                              [](auto x, auto y) { return std::exp(x - y); });
}

} // namespace AscendC
