/* Operations that are exact or rounded once: fma, roots, rounding to integers, extremes,
 * remainders, and sums over the lanes. */
#ifndef VECTOR_BASIC_H
#define VECTOR_BASIC_H

#include "vector_convert.h"

/* t_fma: rounds once with hardware support; otherwise product and sum are each rounded (VECTOR_FMA
 * tells which). t_above, t_below: max and min as the instructions compute them. They return the
 * second operand when one operand is NaN or both are 0. */
#define VECTOR_ON_X86_512(p, s, mask)                                                                              \
    VF p p##_fma(p a, p b, p c) { return __builtin_ia32_vfmadd##s##512_mask(a, b, c, (mask)-1, 4); }               \
    VF p p##_sqrt(p x) { return __builtin_ia32_sqrt##s##512_mask(x, x, (mask)-1, 4); }                             \
    VF p p##_rint(p x) { return __builtin_ia32_rndscale##s##_mask(x, 8, x, (mask)-1, 4); }                         \
    VF p p##_floor(p x) { return __builtin_ia32_rndscale##s##_mask(x, 9, x, (mask)-1, 4); }                        \
    VF p p##_ceil(p x) { return __builtin_ia32_rndscale##s##_mask(x, 10, x, (mask)-1, 4); }                        \
    VF p p##_trunc(p x) { return __builtin_ia32_rndscale##s##_mask(x, 11, x, (mask)-1, 4); }                       \
    VF p p##_above(p a, p b) { return __builtin_ia32_max##s##512_mask(a, b, a, (mask)-1, 4); }                     \
    VF p p##_below(p a, p b) { return __builtin_ia32_min##s##512_mask(a, b, a, (mask)-1, 4); }
#define VECTOR_ON_X86_256(p, s)                                                           \
    VF p p##_sqrt(p x) { return __builtin_ia32_sqrt##s##256(x); }                         \
    VF p p##_rint(p x) { return __builtin_ia32_round##s##256(x, 8); }                     \
    VF p p##_floor(p x) { return __builtin_ia32_round##s##256(x, 9); }                    \
    VF p p##_ceil(p x) { return __builtin_ia32_round##s##256(x, 10); }                    \
    VF p p##_trunc(p x) { return __builtin_ia32_round##s##256(x, 11); }                   \
    VF p p##_above(p a, p b) { return __builtin_ia32_max##s##256(a, b); }                 \
    VF p p##_below(p a, p b) { return __builtin_ia32_min##s##256(a, b); }
#define VECTOR_ON_X86_128(p, s)                                                           \
    VF p p##_sqrt(p x) { return __builtin_ia32_sqrt##s(x); }                              \
    VF p p##_above(p a, p b) { return __builtin_ia32_max##s(a, b); }                      \
    VF p p##_below(p a, p b) { return __builtin_ia32_min##s(a, b); }
#define VECTOR_ON_X86_ROUND(p, s)                                                         \
    VF p p##_rint(p x) { return __builtin_ia32_round##s(x, 8); }                          \
    VF p p##_floor(p x) { return __builtin_ia32_round##s(x, 9); }                         \
    VF p p##_ceil(p x) { return __builtin_ia32_round##s(x, 10); }                         \
    VF p p##_trunc(p x) { return __builtin_ia32_round##s(x, 11); }
#define VECTOR_FMA_256(p, s) \
    VF p p##_fma(p a, p b, p c) { return __builtin_ia32_vfmadd##s##256(a, b, c); }
#define VECTOR_FMA_128(p, s) \
    VF p p##_fma(p a, p b, p c) { return __builtin_ia32_vfmadd##s(a, b, c); }
#define VECTOR_FMA_LANES(p, fma)                                                          \
    VF p p##_fma(p a, p b, p c) {                                                         \
        p y;                                                                              \
        for (unsigned i = 0; i < sizeof y / sizeof y[0]; i++) y[i] = fma(a[i], b[i], c[i]); \
        return y;                                                                         \
    }
#define VECTOR_FMA_NONE(p) \
    VF p p##_fma(p a, p b, p c) { return a * b + c; }
#define VECTOR_SQRT_LANES(p, sqrt)                                                        \
    VF p p##_sqrt(p x) {                                                                  \
        p y;                                                                              \
        for (unsigned i = 0; i < sizeof y / sizeof y[0]; i++) y[i] = sqrt(x[i]);          \
        return y;                                                                         \
    }
#define VECTOR_ON_CLANG(p)                                             \
    VF p p##_sqrt(p x) { return __builtin_elementwise_sqrt(x); }       \
    VF p p##_rint(p x) { return __builtin_elementwise_rint(x); }       \
    VF p p##_floor(p x) { return __builtin_elementwise_floor(x); }     \
    VF p p##_ceil(p x) { return __builtin_elementwise_ceil(x); }       \
    VF p p##_trunc(p x) { return __builtin_elementwise_trunc(x); }
#define VECTOR_FMA_CLANG(p) \
    VF p p##_fma(p a, p b, p c) { return __builtin_elementwise_fma(a, b, c); }
#define VECTOR_EXTREMES_GENERIC(p)                                     \
    VF p p##_above(p a, p b) { return p##_select(a > b, a, b); }       \
    VF p p##_below(p a, p b) { return p##_select(a < b, a, b); }
/* From 2^23 (float64: 2^52) on, every value is an integer. Adding 2^23 (2^52) to a smaller value
 * rounds it to an integer. The sign of -0 is restored. */
#define VECTOR_ROUND_GENERIC(p, i, whole, one)                                                      \
    VF p p##_rint(p x) {                                                                            \
        i sign = (i)x & (i)p##_splat(-(one) * 0);                                                   \
        p size = (p)((i)x ^ sign);                                                                  \
        p y = (size + whole) - whole;                                                               \
        return (p)((i)p##_select(size < whole, y, size) | sign);                                    \
    }                                                                                               \
    VF p p##_trunc(p x) {                                                                           \
        i sign = (i)x & (i)p##_splat(-(one) * 0);                                                   \
        p size = (p)((i)x ^ sign);                                                                  \
        p y = (size + whole) - whole;                                                               \
        y -= (p)((y > size) & (i)p##_splat(one));                                                   \
        return (p)((i)p##_select(size < whole, y, size) | sign);                                    \
    }                                                                                               \
    VF p p##_floor(p x) {                                                                           \
        p y = p##_trunc(x);                                                                         \
        return p##_select(y > x, y - one, y);                                                       \
    }                                                                                               \
    VF p p##_ceil(p x) {                                                                            \
        p y = p##_trunc(x);                                                                         \
        return (p)((i)p##_select(y < x, y + one, y) | ((i)x & (i)p##_splat(-(one) * 0)));           \
    }

#if VECTOR_X86 && PART32_BYTES == 64
VECTOR_ON_X86_512(f32p, ps, uint16_t)
#elif VECTOR_X86 && PART32_BYTES == 32
VECTOR_ON_X86_256(f32p, ps)
#elif VECTOR_X86
VECTOR_ON_X86_128(f32p, ps)
#if defined(__SSE4_1__)
VECTOR_ON_X86_ROUND(f32p, ps)
#else
VECTOR_ROUND_GENERIC(f32p, i32p, 0x1p23f, 1.0f)
#endif
#elif VECTOR_ELEMENTWISE
VECTOR_ON_CLANG(f32p)
VECTOR_EXTREMES_GENERIC(f32p)
#else
VECTOR_SQRT_LANES(f32p, __builtin_sqrtf)
VECTOR_EXTREMES_GENERIC(f32p)
VECTOR_ROUND_GENERIC(f32p, i32p, 0x1p23f, 1.0f)
#endif
#if VECTOR_X86 && PART64_BYTES == 64
VECTOR_ON_X86_512(f64p, pd, uint8_t)
#elif VECTOR_X86 && PART64_BYTES == 32
VECTOR_ON_X86_256(f64p, pd)
#elif VECTOR_X86
VECTOR_ON_X86_128(f64p, pd)
#if defined(__SSE4_1__)
VECTOR_ON_X86_ROUND(f64p, pd)
#else
VECTOR_ROUND_GENERIC(f64p, i64p, 0x1p52, 1.0)
#endif
#elif VECTOR_ELEMENTWISE
VECTOR_ON_CLANG(f64p)
VECTOR_EXTREMES_GENERIC(f64p)
#else
VECTOR_SQRT_LANES(f64p, __builtin_sqrt)
VECTOR_EXTREMES_GENERIC(f64p)
VECTOR_ROUND_GENERIC(f64p, i64p, 0x1p52, 1.0)
#endif

#if !VECTOR_FMA
VECTOR_FMA_NONE(f32p)
VECTOR_FMA_NONE(f64p)
#elif VECTOR_ELEMENTWISE
VECTOR_FMA_CLANG(f32p)
VECTOR_FMA_CLANG(f64p)
#elif !VECTOR_X86
VECTOR_FMA_LANES(f32p, __builtin_fmaf)
VECTOR_FMA_LANES(f64p, __builtin_fma)
#else
#if PART32_BYTES == 32
VECTOR_FMA_256(f32p, ps)
#elif PART32_BYTES == 16
VECTOR_FMA_128(f32p, ps)
#endif
#if PART64_BYTES == 32
VECTOR_FMA_256(f64p, pd)
#elif PART64_BYTES == 16
VECTOR_FMA_128(f64p, pd)
#endif
#endif

/* Returns x * 2^n for integer n, correct for gradual underflow, overflow and NaN. |n| is at most
 * 252 (float64: 2044). Without a scaling instruction, one product suffices if 2^n is a normal
 * number; otherwise two are needed. */
VF f32p f32p_scale(f32p x, f32p n) {
#if VECTOR_X86 && VECTOR_REGISTER_BYTES == 64 && PART32_BYTES == 64
    return __builtin_ia32_scalefps512_mask(x, n, x, (uint16_t)-1, 4);
#else
    i32p whole = __builtin_convertvector(n, i32p);
    if (__builtin_expect(i32p_any((whole < -126) | (whole > 127)), 0)) {
        i32p half = whole >> 1;
        return x * (f32p)((half + 127) << 23) * (f32p)((whole - half + 127) << 23);
    }
    return x * (f32p)((whole + 127) << 23);
#endif
}
/* Converts a small integral float64 to an integer. AVX2 has no instruction for this conversion. */
VF i64p i64p_whole(f64p n) { return (i64p)(n + 0x1.8p52) - (i64p)f64p_splat(0x1.8p52); }
VF f64p f64p_whole(i64p n) { return (f64p)(n + (i64p)f64p_splat(0x1.8p52)) - 0x1.8p52; }
VF f64p f64p_scale(f64p x, f64p n) {
#if VECTOR_X86 && PART64_BYTES == 64
    return __builtin_ia32_scalefpd512_mask(x, n, x, (uint8_t)-1, 4);
#else
    if (__builtin_expect(i64p_any((n < -1022.0) | (n > 1023.0)), 0)) {
        f64p half = f64p_floor(n * 0.5);
        return x * (f64p)((i64p_whole(half) + 1023) << 52) * (f64p)((i64p_whole(n - half) + 1023) << 52);
    }
    return x * (f64p)((i64p_whole(n) + 1023) << 52);
#endif
}

/* Joins register-sized parts to whole vectors. */
#if PARTS32 == 1
#define VECTOR_LIFT_F32(name) \
    VF f32v f32_##name(f32v x) { return f32p_##name(x); }
#define VECTOR_LIFT_F32_2(name) \
    VF f32v f32_##name(f32v a, f32v b) { return f32p_##name(a, b); }
VF f32v f32_fma(f32v a, f32v b, f32v c) { return f32p_fma(a, b, c); }
#else
#define VECTOR_LIFT_F32(name)                                                          \
    VF f32v f32_##name(f32v x) {                                                       \
        f32_parts all = {.v = x};                                                      \
        for (int i = 0; i < PARTS32; i++) all.p[i] = f32p_##name(all.p[i]);            \
        return all.v;                                                                  \
    }
#define VECTOR_LIFT_F32_2(name)                                                        \
    VF f32v f32_##name(f32v a, f32v b) {                                               \
        f32_parts x = {.v = a}, y = {.v = b};                                          \
        for (int i = 0; i < PARTS32; i++) x.p[i] = f32p_##name(x.p[i], y.p[i]);        \
        return x.v;                                                                    \
    }
VF f32v f32_fma(f32v a, f32v b, f32v c) {
    f32_parts x = {.v = a}, y = {.v = b}, z = {.v = c};
    for (int i = 0; i < PARTS32; i++) x.p[i] = f32p_fma(x.p[i], y.p[i], z.p[i]);
    return x.v;
}
#endif
#define VECTOR_LIFT_F64(name)                                                          \
    VF f64v f64_##name(f64v x) {                                                       \
        f64_parts all = {.v = x};                                                      \
        f64p y[PARTS64];                                                               \
        for (int i = 0; i < PARTS64; i++) y[i] = f64p_##name(all.p[i]);                \
        return f64_join(y);                                                            \
    }
#define VECTOR_LIFT_F64_2(name)                                                        \
    VF f64v f64_##name(f64v a, f64v b) {                                               \
        f64_parts x = {.v = a}, z = {.v = b};                                          \
        f64p y[PARTS64];                                                               \
        for (int i = 0; i < PARTS64; i++) y[i] = f64p_##name(x.p[i], z.p[i]);          \
        return f64_join(y);                                                            \
    }
VF f64v f64_fma(f64v a, f64v b, f64v c) {
    f64_parts x = {.v = a}, y = {.v = b}, z = {.v = c};
    f64p all[PARTS64];
    for (int i = 0; i < PARTS64; i++) all[i] = f64p_fma(x.p[i], y.p[i], z.p[i]);
    return f64_join(all);
}
/* Computes a float32 function in float64, where the float32 form would need two words of
 * precision. */
#define VECTOR_F32_BY_F64(name, function)                                              \
    VF f32v f32_##name(f32v x) {                                                       \
        f32_pieces all = {.v = x};                                                   \
        f32q y[PARTS64];                                                               \
        for (int i = 0; i < PARTS64; i++)                                              \
            y[i] = __builtin_convertvector(                                            \
                function(__builtin_convertvector(all.q[i], f64p)), f32q);              \
        return f32_join(y);                                                            \
    }
#define VECTOR_F32_BY_F64_2(name, function)                                            \
    VF f32v f32_##name(f32v a, f32v b) {                                               \
        f32_pieces left = {.v = a}, right = {.v = b};                                \
        f32q y[PARTS64];                                                               \
        for (int i = 0; i < PARTS64; i++)                                              \
            y[i] = __builtin_convertvector(                                            \
                function(__builtin_convertvector(left.q[i], f64p),                     \
                         __builtin_convertvector(right.q[i], f64p)),                   \
                f32q);                                                                 \
        return f32_join(y);                                                            \
    }
/* float64 lane by lane through the C library, where a vector form within 2 ULP is out of reach. */
#define VECTOR_F64_BY_LIBRARY(name, function)                                          \
    VF f64v f64_##name(f64v x) {                                                       \
        f64_parts all = {.v = x};                                                      \
        for (int i = 0; i < LANES; i++) all.e[i] = function(all.e[i]);                 \
        return all.v;                                                                  \
    }
#define VECTOR_F64_BY_LIBRARY_2(name, function)                                        \
    VF f64v f64_##name(f64v a, f64v b) {                                               \
        f64_parts x = {.v = a}, y = {.v = b};                                          \
        for (int i = 0; i < LANES; i++) x.e[i] = function(x.e[i], y.e[i]);             \
        return x.v;                                                                    \
    }

/* Formulas for both precisions, written once on parts (f32p, f64p). */
#define VECTOR_FORMULAS(p, i, one)                                                                       \
    VF p p##_abs(p x) { return (p)((i)x & ~(i)p##_splat(-(one) * 0)); }                                  \
    VF p p##_neg(p x) { return -x; }                                                                     \
    VF p p##_copysign(p size, p sign) {                                                                  \
        i bit = (i)p##_splat(-(one) * 0);                                                                \
        return (p)(((i)size & ~bit) | ((i)sign & bit));                                                  \
    }                                                                                                    \
    VF p p##_rec(p x) { return (one) / x; }                                                              \
    VF p p##_relu(p x) { return p##_above(p##_splat(0), x) + 0; }                                        \
    VF p p##_round_away(p x) {                                                                           \
        p y = p##_trunc(x);                                                                              \
        p more = p##_copysign(p##_splat(one), x);                                                        \
        return p##_select(p##_abs(x - y) >= (one) / 2, y + more, y);                                     \
    }                                                                                                    \
    VF p p##_sign(p x) { return p##_select((x == x) & (x != 0), p##_copysign(p##_splat(one), x), x + 0); }   \
    /* Operand orders differ only for NaN and the sign of 0, and -0 is the smaller zero: OR of both      \
     * results. NaN with additional bits is NaN. */                                                      \
    VF p p##_minimum(p a, p b) {                                                                         \
        return (p)((i)p##_below(a, b) | (i)p##_below(b, a));                                             \
    }
/* t_maximum: +0 is the larger zero; NaN when an operand is NaN. One instruction orders zeros and
 * skips NaN. Elsewhere the results of both operand orders are combined by AND, with all bits set
 * for NaN, since AND may turn a NaN into a number. */
#define VECTOR_MAXIMUM_512(p, s, mask)                                                                   \
    VF p p##_maximum(p a, p b) {                                                                         \
        mask nan = __builtin_ia32_cmp##s##512_mask(a, b, 3, (mask)-1, 4);                                \
        p larger = __builtin_ia32_range##s##512_mask(a, b, 5, a, (mask)-1, 4);                           \
        return __builtin_ia32_add##s##512_mask(a, b, larger, nan, 4);                                    \
    }
#define VECTOR_MAXIMUM(p, i, unordered)                                                                  \
    VF p p##_maximum(p a, p b) {                                                                         \
        return (p)(((i)p##_above(a, b) & (i)p##_above(b, a)) | (i)unordered);                            \
    }
#if VECTOR_X86 && PART32_BYTES == 64
VECTOR_MAXIMUM_512(f32p, ps, uint16_t)
#elif VECTOR_X86 && PART32_BYTES == 32
VECTOR_MAXIMUM(f32p, i32p, __builtin_ia32_cmpps256(a, b, 3))
#elif VECTOR_X86
VECTOR_MAXIMUM(f32p, i32p, __builtin_ia32_cmpunordps(a, b))
#else
VECTOR_MAXIMUM(f32p, i32p, ((a != a) | (b != b)))
#endif
#if VECTOR_X86 && PART64_BYTES == 64
VECTOR_MAXIMUM_512(f64p, pd, uint8_t)
#elif VECTOR_X86 && PART64_BYTES == 32
VECTOR_MAXIMUM(f64p, i64p, __builtin_ia32_cmppd256(a, b, 3))
#elif VECTOR_X86
VECTOR_MAXIMUM(f64p, i64p, __builtin_ia32_cmpunordpd(a, b))
#else
VECTOR_MAXIMUM(f64p, i64p, ((a != a) | (b != b)))
#endif
/* t_max_so_far: the larger of a running maximum and a value. It is NaN when an operand is NaN, and
 * either zero when the operands are zeros. Operations on the value alone are not on the critical
 * path of the maximum. */
#define VECTOR_MAX_SO_FAR_512(p, s, mask)                                                                \
    VF p p##_max_so_far(p most, p x) {                                                                   \
        mask nan = __builtin_ia32_cmp##s##512_mask(x, x, 3, (mask)-1, 4);                                \
        return __builtin_ia32_add##s##512_mask(x, x, p##_above(x, most), nan, 4);                        \
    }
#define VECTOR_MAX_SO_FAR(p, i) \
    VF p p##_max_so_far(p most, p x) { return (p)((i)p##_above(x, most) | (x != x)); }
#if VECTOR_X86 && PART32_BYTES == 64
VECTOR_MAX_SO_FAR_512(f32p, ps, uint16_t)
#else
VECTOR_MAX_SO_FAR(f32p, i32p)
#endif
#if VECTOR_X86 && PART64_BYTES == 64
VECTOR_MAX_SO_FAR_512(f64p, pd, uint8_t)
#else
VECTOR_MAX_SO_FAR(f64p, i64p)
#endif
VECTOR_FORMULAS(f32p, i32p, 1.0f)
VECTOR_FORMULAS(f64p, i64p, 1.0)

#define VECTOR_LIFT_BOTH(name) VECTOR_LIFT_F32(name) VECTOR_LIFT_F64(name)
#define VECTOR_LIFT_BOTH_2(name) VECTOR_LIFT_F32_2(name) VECTOR_LIFT_F64_2(name)
VECTOR_LIFT_BOTH(abs)
VECTOR_LIFT_BOTH(neg)
VECTOR_LIFT_BOTH(sqrt)
VECTOR_LIFT_BOTH(rec)
VECTOR_LIFT_BOTH(relu)
VECTOR_LIFT_BOTH(rint)
VECTOR_LIFT_BOTH(floor)
VECTOR_LIFT_BOTH(ceil)
VECTOR_LIFT_BOTH(trunc)
VECTOR_LIFT_BOTH(round_away)
VECTOR_LIFT_BOTH(sign)
VECTOR_LIFT_BOTH_2(above)
VECTOR_LIFT_BOTH_2(below)
VECTOR_LIFT_BOTH_2(scale)
VECTOR_LIFT_BOTH_2(copysign)
VECTOR_LIFT_BOTH_2(maximum)
VECTOR_LIFT_BOTH_2(max_so_far)
VECTOR_LIFT_BOTH_2(minimum)

/* Returns a / y, given 1 / y: a times the reciprocal rounded towards zero, plus a times the
 * residual of the reciprocal. Both terms have the same sign, so zeros and infinities match those of
 * a quotient. The result is rounded like a quotient, except that one in a million has an error of
 * one unit. It divides when |1 / y| is outside [1 / far, far]. This test is made once for all
 * values over a y, and per vector where that is free. nearly_over, for results with a larger error
 * in any case, multiplies by 1 / y. */
#if VECTOR_FMA
#define VECTOR_OVER(v, i, p, any, far)                                                \
    VF int p##_is_far(v inverse) {                                                    \
        v size = p##_abs(inverse);                                                    \
        int is_far = any(~((size < far) & (size > 1 / far)));                         \
        __asm__("" : "+r"(is_far));                                                   \
        return is_far;                                                                \
    }                                                                                 \
    VF v p##_over(v a, v y, v inverse, int is_far) {                                  \
        v one = p##_splat(1);                                                         \
        if (__builtin_expect(is_far, 0)) return a / y;                                \
        v head = (v)((i)inverse + (p##_fma(-inverse, y, one) < 0));                   \
        v tail = p##_fma(p##_fma(-head, y, one), head, head / far);                   \
        return p##_fma(a, head, a * tail);                                            \
    }                                                                                 \
    VF v p##_nearly_over(v a, v y, v inverse, int is_far) {                           \
        return __builtin_expect(is_far, 0) ? a / y : a * inverse;                     \
    }
#else
#define VECTOR_OVER(v, i, p, any, far)                \
    VF int p##_is_far(v inverse) {                    \
        (void)inverse;                                \
        return 1;                                     \
    }                                                 \
    VF v p##_over(v a, v y, v inverse, int is_far) {  \
        (void)inverse, (void)is_far;                  \
        return a / y;                                 \
    }                                                 \
    VF v p##_nearly_over(v a, v y, v inverse, int is_far) { return p##_over(a, y, inverse, is_far); }
#endif
VECTOR_OVER(f32v, i32v, f32, i32_any, 0x1p60f)
VECTOR_OVER(f64v, i64v, f64, i64_any, 0x1p400)

VF i32v f32_isnan(f32v x) { return x != x; }
VF i32v f32_isinf(f32v x) { return f32_abs(x) == __builtin_inff(); }
VF i32v f32_isfinite(f32v x) { return f32_abs(x) < __builtin_inff(); }
VF i64v f64_isnan(f64v x) { return x != x; }
VF i64v f64_isinf(f64v x) { return f64_abs(x) == __builtin_inf(); }
VF i64v f64_isfinite(f64v x) { return f64_abs(x) < __builtin_inf(); }

/* y = 1 / sqrt(x) is rounded twice. The residual 1 - x y y corrects y; it is NaN when x is 0,
 * infinite or NaN. */
#if VECTOR_FMA
#define VECTOR_RSQRT(p)                                                                                  \
    VF p p##_rsqrt(p x) {                                                                                \
        p y = 1 / p##_sqrt(x), z = x * y;                                                                \
        p lack = p##_fma(-p##_fma(x, y, -z), y, p##_fma(-z, y, p##_splat(1)));                           \
        return p##_select(lack == lack, p##_fma(y * p##_splat(0.5), lack, y), y);                        \
    }
#else
#define VECTOR_RSQRT(p) \
    VF p p##_rsqrt(p x) { return 1 / p##_sqrt(x); }
#endif
VECTOR_RSQRT(f32p)
VECTOR_RSQRT(f64p)
VECTOR_LIFT_BOTH(rsqrt)

/* Returns a * b rounded, and its rounding error (by Dekker's splitting without fma). */
VF f64p f64p_product(f64p a, f64p b, f64p *rest) {
    f64p y = a * b;
#if VECTOR_FMA
    *rest = f64p_fma(a, b, -y);
#else
    f64p a1 = (f64p)((i64p)a & ~0x7ffffffLL), a2 = a - a1;
    f64p b1 = (f64p)((i64p)b & ~0x7ffffffLL), b2 = b - b1;
    *rest = ((a1 * b1 - y) + (a1 * b2 + a2 * b1)) + a2 * b2;
#endif
    return y;
}
VF f32v f32_product(f32v a, f32v b, f32v *rest) {
    f32v y = a * b;
#if VECTOR_FMA
    *rest = f32_fma(a, b, -y);
#else
    f32v a1 = (f32v)((i32v)a & ~0xfff), a2 = a - a1;
    f32v b1 = (f32v)((i32v)b & ~0xfff), b2 = b - b1;
    *rest = ((a1 * b1 - y) + (a1 * b2 + a2 * b1)) + a2 * b2;
#endif
    return y;
}

/* Evaluates c0 + c1 x + c2 x^2 ... by Horner's rule. */
#define F32_POLYNOMIAL(x, ...)                                                          \
    ({                                                                                  \
        static const float c_[] = {__VA_ARGS__};                                        \
        const int n_ = sizeof c_ / sizeof c_[0];                                        \
        f32v y_ = f32_splat(c_[n_ - 1]);                                                \
        for (int i_ = n_ - 2; i_ >= 0; i_--) y_ = f32_fma(y_, x, f32_splat(c_[i_]));    \
        y_;                                                                             \
    })
#define F64_POLYNOMIAL(x, ...)                                                          \
    ({                                                                                  \
        static const double c_[] = {__VA_ARGS__};                                       \
        const int n_ = sizeof c_ / sizeof c_[0];                                        \
        f64p y_ = f64p_splat(c_[n_ - 1]);                                               \
        for (int i_ = n_ - 2; i_ >= 0; i_--) y_ = f64p_fma(y_, x, f64p_splat(c_[i_]));  \
        y_;                                                                             \
    })

#endif
