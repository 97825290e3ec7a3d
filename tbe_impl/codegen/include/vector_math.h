/* Vector mathematics of generated kernels, in one include.
 *
 * Compile with -O3 -ffp-contract=off -fno-math-errno, never with -ffast-math, and link with -lm:
 * float64 tan, sinh, cosh, asinh, acosh, atanh, pow, and fmod, sin and cos of very large values use
 * the C library lane by lane. float32 never does. -DLANES=4, 8 or 16; float64 kernels are fastest
 * with half the lanes of a float32 register, so that a float64 vector is one register.
 *
 * Accuracy, in units in the last place: float32 within 2, float64 within 2 (ndtr within 4). NaN,
 * infinities, signed zeros and subnormals are preserved everywhere.
 */
#ifndef VECTOR_MATH_H
#define VECTOR_MATH_H

#include "vector_gates.h"
#include "vector_half_tables.h"
#include "vector_sums.h"
#include "vector_trigonometry.h"

/* Returns the remainder of the truncated quotient, exact, with the sign of x. In float64, quotient
 * and product are exact while the quotient is small. A large quotient is subtracted in steps of
 * 2^28. */
VF f64p f64p_fmod_step(f64p r, f64p d) {
    f64p q = f64p_trunc(r / d);
    r = f64p_fma(-q, d, r);
    r = f64p_select(r < 0.0, r + d, r);
    return f64p_select(r >= d, r - d, r);
}
VF f64p f64p_fmod_of_f32(f64p x, f64p y) {
    f64p size = f64p_abs(x), d = f64p_abs(y), r = size;
    if (__builtin_expect(i64p_any(size >= d * 0x1p28), 0))
        for (double unit = 0x1p252; unit > 1.0; unit *= 0x1p-28) r = f64p_fmod_step(r, d * unit);
    r = f64p_fmod_step(r, d);
    return f64p_copysign(f64p_select((d == __builtin_inf()) & (size < d), size, r), x);
}
VF f64p f64p_fmod(f64p x, f64p y) {
    f64p size = f64p_abs(x), d = f64p_abs(y), r;
    if (__builtin_expect(!VECTOR_FMA || i64p_any(size >= d * 0x1p50), 0)) {
        for (int i = 0; i < LANES / PARTS64; i++) r[i] = __builtin_fmod(x[i], y[i]);
        return r;
    }
    r = f64p_fmod_step(size, d);
    return f64p_copysign(f64p_select((d == __builtin_inf()) & (size < d), size, r), x);
}
VECTOR_F32_BY_F64_2(fmod, f64p_fmod_of_f32)
VECTOR_LIFT_F64_2(fmod)

/* Returns x - floor(x/y) y, like NumPy's mod: it has the sign of y and is exact except for one
 * addition. */
VF f32v f32_floormod(f32v x, f32v y) {
    f32v r = f32_fmod(x, y);
    i32v other = ((i32v)r ^ (i32v)y) < 0;
    return f32_select(r == 0.0f, f32_copysign(r, y), r + (f32v)((i32v)y & other));
}
VF f64v f64_floormod(f64v x, f64v y) {
    f64v r = f64_fmod(x, y);
    i64v other = ((i64v)r ^ (i64v)y) < 0;
    return f64_select(r == 0.0, f64_copysign(r, y), r + (f64v)((i64v)y & other));
}

/* t_sum, t_prod, t_max, t_min: reduce across lanes, halves first, in the same order on every
 * machine. */
#if VECTOR_SHUFFLE
#define VECTOR_SWAP(t, x, ...) __builtin_shufflevector(x, x, __VA_ARGS__)
#else
#define VECTOR_SWAP(t, x, ...) __builtin_shuffle(x, (i32v){__VA_ARGS__})
#endif
#if LANES == 16
#define VECTOR_SWAP_FIRST(t, x, combine) \
    x = combine(x, VECTOR_SWAP(t, x, VECTOR_SWAP_8)), x = combine(x, VECTOR_SWAP(t, x, VECTOR_SWAP_4))
#elif LANES == 8
#define VECTOR_SWAP_FIRST(t, x, combine) x = combine(x, VECTOR_SWAP(t, x, VECTOR_SWAP_4))
#else
#define VECTOR_SWAP_FIRST(t, x, combine) (void)0
#endif
#define VECTOR_OVER_LANES_32(t, c, name, combine)               \
    VF c t##_##name(t##v x) {                                   \
        VECTOR_SWAP_FIRST(t, x, combine);                       \
        x = combine(x, VECTOR_SWAP(t, x, VECTOR_SWAP_2));       \
        x = combine(x, VECTOR_SWAP(t, x, VECTOR_SWAP_1));       \
        return x[0];                                            \
    }
#if PART64_BYTES == 64
#define VECTOR_SWAP_PART(t, x, combine)                                                \
    x = combine(x, VECTOR_SWAP_64(x, 4, 5, 6, 7, 0, 1, 2, 3)),                         \
    x = combine(x, VECTOR_SWAP_64(x, 2, 3, 0, 1, 6, 7, 4, 5)),                         \
    x = combine(x, VECTOR_SWAP_64(x, 1, 0, 3, 2, 5, 4, 7, 6))
#elif PART64_BYTES == 32
#define VECTOR_SWAP_PART(t, x, combine)                                                \
    x = combine(x, VECTOR_SWAP_64(x, 2, 3, 0, 1)), x = combine(x, VECTOR_SWAP_64(x, 1, 0, 3, 2))
#else
#define VECTOR_SWAP_PART(t, x, combine) x = combine(x, VECTOR_SWAP_64(x, 1, 0))
#endif
#if VECTOR_SHUFFLE
#define VECTOR_SWAP_64(x, ...) __builtin_shufflevector(x, x, __VA_ARGS__)
#else
#define VECTOR_SWAP_64(x, ...) __builtin_shuffle(x, (i64p){__VA_ARGS__})
#endif
#define VECTOR_OVER_LANES_64(t, c, name, combine)                                             \
    VF c t##_##name(t##v x) {                                                                 \
        t##_parts all = {.v = x};                                                             \
        for (int step = PARTS64 / 2; step; step /= 2)                                         \
            for (int i = 0; i < step; i++) all.p[i] = combine(all.p[i], all.p[i + step]);     \
        t##p y = all.p[0];                                                                    \
        VECTOR_SWAP_PART(t, y, combine);                                                      \
        return y[0];                                                                          \
    }
#define VECTOR_ADD(a, b) ((a) + (b))
#define VECTOR_MULTIPLY(a, b) ((a) * (b))
#define VECTOR_EXTREMES_INTEGER(t, m, suffix)                                                              \
    VF t##suffix t##suffix##_maximum(t##suffix a, t##suffix b) {                                           \
        m##suffix mask = a > b;                                                                            \
        return (t##suffix)(((m##suffix)a & mask) | ((m##suffix)b & ~mask));                                \
    }                                                                                                      \
    VF t##suffix t##suffix##_minimum(t##suffix a, t##suffix b) {                                           \
        m##suffix mask = a < b;                                                                            \
        return (t##suffix)(((m##suffix)a & mask) | ((m##suffix)b & ~mask));                                \
    }
VECTOR_EXTREMES_INTEGER(i8, i8, v)
VECTOR_EXTREMES_INTEGER(u8, i8, v)
VECTOR_EXTREMES_INTEGER(i16, i16, v)
VECTOR_EXTREMES_INTEGER(u16, i16, v)
VECTOR_EXTREMES_INTEGER(i32, i32, v)
VECTOR_EXTREMES_INTEGER(u32, i32, v)
VECTOR_EXTREMES_INTEGER(i64, i64, v)
VECTOR_EXTREMES_INTEGER(u64, i64, v)
VECTOR_EXTREMES_INTEGER(i64, i64, p)
VECTOR_EXTREMES_INTEGER(u64, i64, p)
#define X(t, c)                                                              \
    VF t##v t##_maximum(t##v a, t##v b) { return t##v_maximum(a, b); }       \
    VF t##v t##_minimum(t##v a, t##v b) { return t##v_minimum(a, b); }
X(i8, int8_t)
X(u8, uint8_t)
X(i16, int16_t)
X(u16, uint16_t)
X(i32, int32_t)
X(u32, uint32_t)
X(i64, int64_t)
X(u64, uint64_t)
#undef X
#define X(t, c)                                        \
    VECTOR_OVER_LANES_32(t, c, sum, VECTOR_ADD)        \
    VECTOR_OVER_LANES_32(t, c, prod, VECTOR_MULTIPLY)  \
    VECTOR_OVER_LANES_32(t, c, max, t##_maximum)       \
    VECTOR_OVER_LANES_32(t, c, min, t##_minimum)
X(i32, int32_t)
X(u32, uint32_t)
#undef X
VECTOR_OVER_LANES_32(f32, float, sum, VECTOR_ADD)
VECTOR_OVER_LANES_32(f32, float, prod, VECTOR_MULTIPLY)
/* Instructions without NaN propagation halve the dependency chain; NaN is tested separately. */
VECTOR_OVER_LANES_32(f32, float, top, f32_above)
VECTOR_OVER_LANES_32(f32, float, bottom, f32_below)
VF float f32_max(f32v x) { return __builtin_expect(i32_any(x != x), 0) ? __builtin_nanf("") : f32_top(x); }
VF float f32_min(f32v x) { return __builtin_expect(i32_any(x != x), 0) ? __builtin_nanf("") : f32_bottom(x); }
#define X(t, c)                                        \
    VECTOR_OVER_LANES_64(t, c, sum, VECTOR_ADD)        \
    VECTOR_OVER_LANES_64(t, c, prod, VECTOR_MULTIPLY)  \
    VECTOR_OVER_LANES_64(t, c, max, t##p_maximum)      \
    VECTOR_OVER_LANES_64(t, c, min, t##p_minimum)
X(f64, double)
X(i64, int64_t)
X(u64, uint64_t)
#undef X

#endif
