/* Conversions between all element types, half-precision types in memory, and masks.
 *
 * A float is converted to an integer by truncation and saturation, and NaN becomes 0. An integer is
 * converted to another integer type with wrap-around. A conversion to a float type rounds once. */
#ifndef VECTOR_CONVERT_H
#define VECTOR_CONVERT_H

#include "vector_types.h"

#define VECTOR_CONVERT(to, from) \
    VF to##v to##_from_##from(from##v x) { return __builtin_convertvector(x, to##v); }
/* Conversions where one of the two types is wider than a register. Compilers fail on some of these
 * pairs and convert others lane by lane. */
#define VECTOR_CONVERT_PIECES(name, to, from)                                                       \
    VF to##v name(from##v x) {                                                                      \
        from##_pieces all = {.v = x};                                                               \
        to##q y[PARTS64];                                                                           \
        for (int i = 0; i < PARTS64; i++) y[i] = __builtin_convertvector(all.q[i], to##q);          \
        return to##_join(y);                                                                        \
    }
#define VECTOR_CONVERT_WIDE(to, from) VECTOR_CONVERT_PIECES(to##_from_##from, to, from)
#define VECTOR_CONVERT_NARROW_INTEGER(from)                                                  \
    VECTOR_CONVERT(i8, from) VECTOR_CONVERT(i16, from) VECTOR_CONVERT(i32, from)             \
    VECTOR_CONVERT(u8, from) VECTOR_CONVERT(u16, from) VECTOR_CONVERT(u32, from)             \
    VECTOR_CONVERT(f32, from) VECTOR_CONVERT_WIDE(i64, from)                                 \
    VECTOR_CONVERT_WIDE(u64, from) VECTOR_CONVERT_WIDE(f64, from)
#define VECTOR_CONVERT_WIDE_INTEGER(from)                                                    \
    VECTOR_CONVERT_WIDE(i8, from) VECTOR_CONVERT_WIDE(i16, from)                             \
    VECTOR_CONVERT_WIDE(i32, from) VECTOR_CONVERT_WIDE(u8, from)                             \
    VECTOR_CONVERT_WIDE(u16, from) VECTOR_CONVERT_WIDE(u32, from)                            \
    VECTOR_CONVERT_WIDE(f32, from) VECTOR_CONVERT_WIDE(f64, from)                            \
    VECTOR_CONVERT(i64, from) VECTOR_CONVERT(u64, from)
VECTOR_CONVERT_NARROW_INTEGER(i8)
VECTOR_CONVERT_NARROW_INTEGER(i16)
VECTOR_CONVERT_NARROW_INTEGER(i32)
VECTOR_CONVERT_NARROW_INTEGER(u8)
VECTOR_CONVERT_NARROW_INTEGER(u16)
VECTOR_CONVERT_NARROW_INTEGER(u32)
VECTOR_CONVERT_WIDE_INTEGER(i64)
VECTOR_CONVERT_WIDE_INTEGER(u64)
VECTOR_CONVERT(f32, f32)
VECTOR_CONVERT(f64, f64)
VECTOR_CONVERT_WIDE(f32, f64)
VECTOR_CONVERT_WIDE(f64, f32)
VECTOR_CONVERT_PIECES(i64_truncated_f64, i64, f64)
VECTOR_CONVERT_PIECES(i32_truncated_f64, i32, f64)

/* Clamps x to [low, high] and replaces NaN by 0; the results convert without undefined
 * behaviour. */
VF f32v f32_into(f32v x, float low, float high) {
    x = f32_select(x < low, f32_splat(low), x);
    x = f32_select(x > high, f32_splat(high), x);
    return (f32v)((i32v)x & (x == x));
}
VF f64v f64_into(f64v x, double low, double high) {
    x = f64_select(x < low, f64_splat(low), x);
    x = f64_select(x > high, f64_splat(high), x);
    return (f64v)((i64v)x & (x == x));
}

VF i32v i32_from_f32(f32v x) {
#if VECTOR_X86
    /* When the instruction cannot convert, it returns the minimum. This is right for values that
     * are too small. */
    i32v y = __builtin_convertvector(x, i32v) & (x == x);
#else
    i32v y = __builtin_convertvector(f32_into(x, -0x1p31f, 0x1.fffffep30f), i32v);
#endif
    return i32_select(x >= 0x1p31f, i32_splat(INT32_MAX), y);
}
VF u32v u32_from_f32(f32v x) {
    f32v y = f32_into(x, 0.0f, 0x1.fffffep31f);
    i32v upper = y >= 0x1p31f;
    y -= (f32v)((i32v)f32_splat(0x1p31f) & upper);
    u32v z = (u32v)__builtin_convertvector(y, i32v) ^ ((u32v)upper & 0x80000000u);
    return u32_select(x >= 0x1p32f, u32_splat(UINT32_MAX), z);
}
VF i32v i32_from_f64(f64v x) {
    return i32_truncated_f64(f64_into(x, -0x1p31, 0x1.fffffffcp30));
}
VF i64v i64_from_f64(f64v x) {
    i64v y = i64_truncated_f64(f64_into(x, -0x1p63, 0x1.fffffffffffffp62));
    return i64_select(x >= 0x1p63, i64_splat(INT64_MAX), y);
}
VF u64v u64_from_f64(f64v x) {
    f64v y = f64_into(x, 0.0, 0x1.fffffffffffffp63);
    i64v upper = y >= 0x1p63;
    y -= (f64v)((i64v)f64_splat(0x1p63) & upper);
    u64v z = (u64v)i64_truncated_f64(y) ^ ((u64v)upper & 0x8000000000000000u);
    return u64_select(x >= 0x1p64, u64_splat(UINT64_MAX), z);
}
VF u32v u32_from_f64(f64v x) {
    return u32_from_i64(i64_truncated_f64(f64_into(x, 0.0, 4294967295.0)));
}
VF i64v i64_from_f32(f32v x) { return i64_from_f64(f64_from_f32(x)); }
VF u64v u64_from_f32(f32v x) { return u64_from_f64(f64_from_f32(x)); }
#define VECTOR_NARROW(to, from, low, high) \
    VF to##v to##_from_##from(from##v x) { return to##_from_i32(i32_from_##from(from##_into(x, low, high))); }
VECTOR_NARROW(i8, f32, -128.0f, 127.0f)
VECTOR_NARROW(i16, f32, -32768.0f, 32767.0f)
VECTOR_NARROW(u8, f32, 0.0f, 255.0f)
VECTOR_NARROW(u16, f32, 0.0f, 65535.0f)
VECTOR_NARROW(i8, f64, -128.0, 127.0)
VECTOR_NARROW(i16, f64, -32768.0, 32767.0)
VECTOR_NARROW(u8, f64, 0.0, 255.0)
VECTOR_NARROW(u16, f64, 0.0, 65535.0)

/* Masks (-1, 0) from those of another lane width, and booleans (u8, 0 or 1). */
#define VECTOR_MASKS(to, from) \
    VF to##v to##_mask_from_##from##_mask(from##v mask) { return to##_from_##from(mask); }
#define VECTOR_MASKS_FROM(from)                                                                         \
    VECTOR_MASKS(i8, from) VECTOR_MASKS(i16, from) VECTOR_MASKS(i32, from) VECTOR_MASKS(i64, from)      \
    VF from##v from##_mask_from_u8(u8v x) { return from##_from_u8(x) != 0; }                            \
    VF u8v u8_from_##from##_mask(from##v mask) { return u8_from_##from(mask) & 1; }
VECTOR_MASKS_FROM(i8)
VECTOR_MASKS_FROM(i16)
VECTOR_MASKS_FROM(i32)
VECTOR_MASKS_FROM(i64)

/* float16 and bfloat16 elements are u16 in memory and u16v in registers; arithmetic uses
 * float32. */
VF f32v f32_from_f16(u16v half) {
#if VECTOR_X86 && VECTOR_REGISTER_BYTES == 64 && LANES == 16
    typedef short halves __attribute__((vector_size(32)));
    return __builtin_ia32_vcvtph2ps512_mask((halves)half, (f32v){0}, (uint16_t)-1, 4);
#elif VECTOR_X86 && defined(__F16C__) && LANES == 8
    typedef short halves __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps256((halves)half);
#elif VECTOR_X86 && defined(__F16C__) && LANES == 4
    typedef short halves __attribute__((vector_size(16)));
    typedef int64_t pair __attribute__((vector_size(16)));
    return __builtin_ia32_vcvtph2ps((halves)(pair){(int64_t)half, 0});
#elif defined(__aarch64__) && !defined(VECTOR_GENERIC)
    typedef __fp16 halves __attribute__((vector_size(LANES * 2)));
    return __builtin_convertvector((halves)half, f32v);
#else
    i32v bits = __builtin_convertvector(half, i32v);
    i32v sign = (bits & 0x8000) << 16, rest = (bits & 0x7fff) << 13;
    f32v finite = (f32v)rest * 0x1p112f;
    i32v nan = rest > 0x0f800000, special = rest >= 0x0f800000;
    i32v wide = rest | 0x7f800000 | (nan & 0x00400000);
    return (f32v)(i32_select(special, wide, (i32v)finite) | sign);
#endif
}
VF u16v f16_from_f32(f32v x) {
#if VECTOR_X86 && VECTOR_REGISTER_BYTES == 64 && LANES == 16
    typedef short halves __attribute__((vector_size(32)));
    return (u16v)__builtin_ia32_vcvtps2ph512_mask(x, 0, (halves){0}, (uint16_t)-1);
#elif VECTOR_X86 && defined(__F16C__) && LANES == 8
    return (u16v)__builtin_ia32_vcvtps2ph256(x, 0);
#elif VECTOR_X86 && defined(__F16C__) && LANES == 4
    typedef int64_t pair __attribute__((vector_size(16)));
    return (u16v)(((pair)__builtin_ia32_vcvtps2ph(x, 0))[0]);
#elif defined(__aarch64__) && !defined(VECTOR_GENERIC)
    typedef __fp16 halves __attribute__((vector_size(LANES * 2)));
    return (u16v)__builtin_convertvector(x, halves);
#else
    i32v bits = (i32v)x, sign = (bits >> 16) & 0x8000, size = bits & 0x7fffffff;
    i32v normal = (size + 0xfff + ((size >> 13) & 1) - (112 << 23)) >> 13;
    /* Added to 0.5, whose last bit has the weight of float16's subnormals, the sum rounds like
     * them. */
    i32v small = (i32v)((f32v)size + 0.5f) - 0x3f000000;
    i32v nan = 0x7e00 | ((size >> 13) & 0x3ff);
    i32v y = i32_select(size < 0x38800000, small, normal);
    y = i32_select(size >= 0x47800000, i32_splat(0x7c00), y);
    y = i32_select(size > 0x7f800000, nan, y);
    return __builtin_convertvector(y | sign, u16v);
#endif
}
VF f32v f32_from_bf16(u16v half) { return (f32v)(__builtin_convertvector(half, u32v) << 16); }
VF u16v bf16_from_f32(f32v x) {
    u32v bits = (u32v)x, rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    u32v y = u32_select(x != x, bits | 0x400000u, rounded);
    return __builtin_convertvector(y >> 16, u16v);
}
/* Rounds float64 to float32, to odd. A further rounding to half precision then equals a single
 * rounding. */
VF f32v f32_from_f64_to_odd(f64v x) {
    f32v y = f32_from_f64(x);
    f64v back = f64_from_f32(y);
    i64v above = (i64v)(((x >= 0.0) & (back > x)) | ((x < 0.0) & (back < x)));
    i32v bits = (i32v)y + i32_from_i64(above);
    return (f32v)(bits | (i32_from_i64((i64v)(back != x)) & 1));
}
/* Rounds integers to float32, to odd. Integers beyond the float64 range keep their upper bits,
 * rounded to odd. */
VF f32v f32_from_i32_to_odd(i32v x) { return f32_from_f64_to_odd(f64_from_i32(x)); }
VF f32v f32_from_u32_to_odd(u32v x) { return f32_from_f64_to_odd(f64_from_u32(x)); }
VF f32v f32_from_i64_to_odd(i64v x) {
    i64v odd = (x & ~INT64_C(0xfff)) | ((i64v)((x & 0xfff) != 0) & 0x1000);
    i64v large = (i64v)(x > INT64_C(1) << 52) | (i64v)(x < -(INT64_C(1) << 52));
    return f32_from_f64_to_odd(f64_from_i64(i64_select(large, odd, x)));
}
VF f32v f32_from_u64_to_odd(u64v x) {
    u64v odd = (x & ~UINT64_C(0xfff)) | ((u64v)((x & 0xfff) != 0) & 0x1000);
    return f32_from_f64_to_odd(f64_from_u64(u64_select((i64v)(x > UINT64_C(1) << 52), odd, x)));
}
VF f64v f64_from_f16(u16v half) { return f64_from_f32(f32_from_f16(half)); }
VF f64v f64_from_bf16(u16v half) { return f64_from_f32(f32_from_bf16(half)); }
VF u16v f16_from_f64(f64v x) { return f16_from_f32(f32_from_f64_to_odd(x)); }
VF u16v bf16_from_f64(f64v x) { return bf16_from_f32(f32_from_f64_to_odd(x)); }

#define VECTOR_HALF(h)                                                                                   \
    VF f32v h##_load(const uint16_t *from) { return f32_from_##h(u16_load(from)); }                      \
    VF f32v h##_load_part(const uint16_t *from, int n) { return f32_from_##h(u16_load_part(from, n)); }  \
    VF void h##_store(uint16_t *to, f32v x) { u16_store(to, h##_from_f32(x)); }                          \
    VF void h##_stream(uint16_t *to, f32v x) { u16_stream(to, h##_from_f32(x)); }                        \
    VF void h##_store_part(uint16_t *to, f32v x, int n) { u16_store_part(to, h##_from_f32(x), n); }      \
    VF f32v h##_round(f32v x) { return f32_from_##h(h##_from_f32(x)); }
VECTOR_HALF(f16)
VECTOR_HALF(bf16)

#endif
