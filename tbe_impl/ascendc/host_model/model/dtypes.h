// half and bfloat16_t: stored as 16 bits, computed in float and rounded to nearest even.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#if defined(__F16C__)
#include <immintrin.h>
#endif

namespace host_model {

constexpr float float_from_bits(uint32_t bits) { return __builtin_bit_cast(float, bits); }
constexpr uint32_t bits_of_float(float value) { return __builtin_bit_cast(uint32_t, value); }

constexpr float half_to_float(uint16_t bits) {
#if defined(__F16C__)
    if (!__builtin_is_constant_evaluated()) return _cvtsh_ss(bits);
#endif
    uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return float_from_bits(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    if (rest >= 0x0400) return float_from_bits(sign | ((rest << 13) + 0x38000000));
    float small = static_cast<float>(rest) * 5.9604644775390625e-8f;
    return sign ? -small : small;
}

// Rounds to nearest even; values from 65520 on become infinite.
constexpr uint16_t half_from_float(float value) {
#if defined(__F16C__)
    if (!__builtin_is_constant_evaluated())
        return static_cast<uint16_t>(_cvtss_sh(value, _MM_FROUND_TO_NEAREST_INT));
#endif
    uint32_t bits = bits_of_float(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
    if (rest > 0x7f800000) return static_cast<uint16_t>(sign | 0x7e00);
    if (rest >= 0x477ff000) return static_cast<uint16_t>(sign | 0x7c00);
    if (rest >= 0x38800000)
        return static_cast<uint16_t>(sign | (rest + 0xfff + (rest >> 13 & 1) - 0x38000000) >> 13);
    if (rest <= 0x33000000) return static_cast<uint16_t>(sign);
    // A subnormal: the mantissa in units of 2^-24, rounded to nearest even.
    uint32_t shift = 126 - (rest >> 23), mantissa = (rest & 0x7fffff) | 0x800000;
    uint32_t whole = mantissa >> shift, part = mantissa & ((1u << shift) - 1);
    uint32_t middle = 1u << (shift - 1);
    whole += part > middle || (part == middle && (whole & 1));
    return static_cast<uint16_t>(sign | whole);
}

constexpr float bfloat_to_float(uint16_t bits) {
    return float_from_bits(static_cast<uint32_t>(bits) << 16);
}
constexpr uint16_t bfloat_from_float(float value) {
    uint32_t bits = bits_of_float(value);
    if ((bits & 0x7fffffff) > 0x7f800000) return static_cast<uint16_t>(bits >> 16 | 0x40);
    return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

// A 16-bit floating-point number. Conversions are implicit, as those of a built-in type;
// arithmetic happens in float.
template <float (*ToFloat)(uint16_t), uint16_t (*FromFloat)(float)> class SixteenBits {
public:
    SixteenBits() = default;
    template <class T, class = std::enable_if_t<std::is_arithmetic<T>::value>>
    constexpr SixteenBits(T value) : bits_(FromFloat(static_cast<float>(value))) {}
    constexpr operator float() const { return ToFloat(bits_); }
    template <class T> SixteenBits& operator+=(T other) { return *this = float(*this) + float(other); }
    template <class T> SixteenBits& operator-=(T other) { return *this = float(*this) - float(other); }
    template <class T> SixteenBits& operator*=(T other) { return *this = float(*this) * float(other); }
    template <class T> SixteenBits& operator/=(T other) { return *this = float(*this) / float(other); }
    uint16_t bits() const { return bits_; }
    static SixteenBits from_bits(uint16_t bits) {
        SixteenBits one;
        one.bits_ = bits;
        return one;
    }

private:
    uint16_t bits_;
};

} // namespace host_model

using half = host_model::SixteenBits<host_model::half_to_float, host_model::half_from_float>;
using float16_t = half;
using bfloat16_t =
    host_model::SixteenBits<host_model::bfloat_to_float, host_model::bfloat_from_float>;
static_assert(sizeof(half) == 2 && std::is_trivially_copyable<half>::value, "half has 16 bits");

namespace host_model {

template <class T> constexpr bool is_half = std::is_same<T, half>::value;
template <class T> constexpr bool is_bfloat = std::is_same<T, bfloat16_t>::value;
template <class T> constexpr bool is_small_float = is_half<T> || is_bfloat<T>;
template <class T> constexpr bool is_floating = is_small_float<T> || std::is_floating_point<T>::value;

// The type in which an element of type T is computed: float for the 16-bit floats, else T.
template <class T> using Compute = std::conditional_t<is_small_float<T>, float, T>;

// Prevents deduction from a scalar argument: `Muls(half tensor, half tensor, 2.0f, n)` compiles.
template <class T> struct NotDeduced { using type = T; };
template <class T> using Scalar = typename NotDeduced<T>::type;

template <class T> const char* name_of_dtype() {
    if (is_half<T>) return "half";
    if (is_bfloat<T>) return "bfloat16_t";
    if (std::is_same<T, float>::value) return "float";
    if (std::is_same<T, double>::value) return "double";
    if (std::is_same<T, bool>::value) return "bool";
    static const char* const names[2][4] = {{"uint8_t", "uint16_t", "uint32_t", "uint64_t"},
                                            {"int8_t", "int16_t", "int32_t", "int64_t"}};
    int size = sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3;
    return names[std::is_signed<T>::value][size];
}

} // namespace host_model
