/* Trigonometric functions and their inverses. */
#ifndef VECTOR_TRIGONOMETRY_H
#define VECTOR_TRIGONOMETRY_H

#include "vector_exponential.h"

/* x = quadrant * pi/2 + result for a large finite float32, after Payne and Hanek: only the bits of
 * the product with 2/pi that matter modulo 4 are computed. */
static inline double vector_reduce_huge(float x, int *quadrant) {
    static const uint64_t two_over_pi[] = {0,
                                           0xa2f9836e4e441529u,
                                           0xfc2757d1f534ddc0u,
                                           0xdb6295993c439041u,
                                           0xfe5163abdebbc561u,
                                           0xb7246e3a424dd2e0u};
    union {
        float f;
        uint32_t u;
    } bits = {x};
    int exponent = (int)(bits.u >> 23 & 0xff);
    if (exponent == 0xff) {
        *quadrant = 0;
        return __builtin_nan("");
    }
    uint64_t mantissa = (bits.u & 0x7fffff) | 0x800000;
    int at = exponent - 150 + 62, word = at / 64, shift = at % 64;
    const uint64_t *w = two_over_pi + word;
    uint64_t high = shift ? w[0] << shift | w[1] >> (64 - shift) : w[0];
    uint64_t low = shift ? w[1] << shift | w[2] >> (64 - shift) : w[1];
    uint64_t product = mantissa * high + (mantissa * (low >> 32) >> 32);
    uint64_t q = (product + (1ull << 61)) >> 62;
    double r = (double)(int64_t)(product - (q << 62)) * (0x1.921fb54442d18p+0 * 0x1p-62);
    *quadrant = (int)(bits.u >> 31 ? 0 - q : q);
    return bits.u >> 31 ? -r : r;
}

/* Reduces a float32 in float64, which is accurate enough below 2^20. */
VF f64p f64p_reduce_of_f32(f64p x, f64p *n) {
    *n = f64p_rint(x * 0x1.45f306dc9c883p-1);
    f64p r = f64p_fma(-*n, f64p_splat(0x1.921fb54400000p+0), x);
    return f64p_fma(-*n, f64p_splat(0x1.0b4611a626331p-34), r);
}
VF f32v f32_reduce(f32v x, i32v *quadrant) {
#if VECTOR_FMA
    const float limit = 51471.0f;
    f32v n = f32_rint(x * 0x1.45f306p-1f);
    f32v r = f32_fma(-n, f32_splat(0x1.921fb6p+0f), x);
    r = f32_fma(n, f32_splat(0x1.777a5cp-25f), r);
    r = f32_fma(n, f32_splat(0x1.ee59dap-50f), r);
    *quadrant = __builtin_convertvector(n, i32v);
#else
    const float limit = 0x1p20f;
    f32_pieces all = {.v = x};
    f32q parts[PARTS64];
    i32q quadrants[PARTS64];
    for (int i = 0; i < PARTS64; i++) {
        f64p n, r = f64p_reduce_of_f32(__builtin_convertvector(all.q[i], f64p), &n);
        parts[i] = __builtin_convertvector(r, f32q);
        quadrants[i] = __builtin_convertvector(n, i32q);
    }
    f32v r = f32_join(parts);
    *quadrant = i32_join(quadrants);
#endif
    i32v huge = f32_abs(x) >= limit;
    if (__builtin_expect(i32_any(huge), 0))
        for (int i = 0; i < LANES; i++)
            if (huge[i]) {
                int q;
                r[i] = (float)vector_reduce_huge(x[i], &q);
                (*quadrant)[i] = q;
            }
    return r;
}
VF f32v f32_sin_of(f32v r, i32v quadrant) {
    f32v z = r * r;
    f32v sine = f32_fma(r * z, F32_POLYNOMIAL(z, -0.166666672f, 0.00833332911f, -0.000198391746f, 2.71680415e-06f), r);
    f32v half = 0.5f * z, w = 1.0f - half;
    f32v rest = f32_fma(z * z, F32_POLYNOMIAL(z, 0.0416666456f, -0.00138872419f, 2.44238472e-05f), (1.0f - w) - half);
    f32v y = f32_select((quadrant & 1) != 0, w + rest, sine);
    return (f32v)((i32v)y ^ ((quadrant & 2) << 30));
}
VF f32v f32_sin(f32v x) {
    i32v quadrant;
    f32v r = f32_reduce(x, &quadrant);
    return f32_select(x == 0.0f, x, f32_sin_of(r, quadrant));
}
VF f32v f32_cos(f32v x) {
    i32v quadrant;
    f32v r = f32_reduce(x, &quadrant);
    return f32_sin_of(r, quadrant + 1);
}

/* Sine and cosine of r + rest, |r| <= pi/4. */
VF f64p f64p_sine_near(f64p r, f64p rest) {
    f64p z = r * r;
    f64p q = F64_POLYNOMIAL(z, -0.16666666666666624, 0.0083333333333200366, -0.00019841269827852617,
                            2.7557312998799595e-06, -2.5050647674433567e-08, 1.5890302348597423e-10);
    return r + (r * z * q + rest);
}
VF f64p f64p_cosine_near(f64p r, f64p rest) {
    f64p z = r * r, half = 0.5 * z, w = 1.0 - half;
    f64p q = F64_POLYNOMIAL(z, 0.041666666666666581, -0.0013888888888870911, 2.4801587287418395e-05,
                            -2.7557313742112845e-07, 2.0875638725790766e-09, -1.1355200738466758e-11);
    return w + (((1.0 - w) - half) + (z * z * q - r * rest));
}
VF i64p f64p_is_odd(f64p n) { return ((i64p)(n + 0x1.8p52) & 1) != 0; }

VF f64p f64p_tan_of_f32(f64p x) {
    f64p n, r = f64p_reduce_of_f32(x, &n);
    i64p huge = f64p_abs(x) >= 0x1p20;
    if (__builtin_expect(i64p_any(huge), 0))
        for (int i = 0; i < LANES / PARTS64; i++)
            if (huge[i]) {
                int q;
                r[i] = vector_reduce_huge((float)x[i], &q);
                n[i] = q;
            }
    f64p sine = f64p_sine_near(r, r * 0), cosine = f64p_cosine_near(r, r * 0);
    i64p odd = f64p_is_odd(n);
    f64p y = f64p_select(odd, -cosine, sine) / f64p_select(odd, sine, cosine);
    return f64p_select(x == 0.0, x, y);
}

/* Below 2^20, float64 is reduced by pi/2 in three words, of which the first two products are exact.
 * Larger values use the C library lane by lane. */
VF f64p f64p_sin_from(f64p x, f64p shift) {
    f64p n = f64p_rint(x * 0x1.45f306dc9c883p-1);
    f64p a = x - n * 0x1.921fb54400000p+0, b = n * 0x1.0b4611a600000p-34, c = n * 0x1.3198a2e037073p-69;
    f64p t = a - b, back = t - a, rest = (a - (t - back)) - (b + back);
    f64p r = t - c;
    rest = ((t - r) - c) + rest;
    n += shift;
    f64p y = f64p_select(f64p_is_odd(n), f64p_cosine_near(r, rest), f64p_sine_near(r, rest));
    i64p sign = ((i64p)(n + 0x1.8p52) & 2) << 62;
    return (f64p)((i64p)y ^ sign);
}
VF f64p f64p_sin(f64p x) {
    f64p y = f64p_sin_from(x, x * 0);
    if (__builtin_expect(i64p_any(f64p_abs(x) >= 0x1p20), 0))
        for (int i = 0; i < LANES / PARTS64; i++) y[i] = __builtin_sin(x[i]);
    return f64p_select(x == 0.0, x, y);
}
VF f64p f64p_cos(f64p x) {
    f64p y = f64p_sin_from(x, x * 0 + 1.0);
    if (__builtin_expect(i64p_any(f64p_abs(x) >= 0x1p20), 0))
        for (int i = 0; i < LANES / PARTS64; i++) y[i] = __builtin_cos(x[i]);
    return y;
}

VF f32v f32_atan(f32v x) {
    f32v size = f32_abs(x);
    i32v above = size > 1.0f;
    f32v t = f32_select(above, 1.0f / size, size), z = t * t;
    f32v q = F32_POLYNOMIAL(z, -0.333333284f, 0.199996918f, -0.14280127f, 0.110602178f, -0.0881874114f, 0.0675931722f,
                            -0.0449427292f, 0.0227570888f, -0.00742107071f, 0.0011345587f);
    f32v y = f32_fma(t * z, q, t);
    return f32_copysign(f32_select(above, 0x1.921fb6p+0f - (y + 0x1.777a5cp-25f), y), x);
}
/* asin(sqrt(z)) / sqrt(z) - 1 for z <= 1/4 */
VF f32v f32_arc(f32v z) {
    return z * F32_POLYNOMIAL(z, 0.166666597f, 0.0750051066f, 0.0445157364f, 0.0318174735f, 0.0144031532f, 0.037564408f);
}
VF f32v f32_asin(f32v x) {
    f32v size = f32_abs(x);
    i32v near = size < 0.5f;
    f32v z = f32_select(near, x * x, 0.5f - 0.5f * size), s = f32_select(near, size, f32_sqrt(z));
    f32v more = s * f32_arc(z), twice = s + s, high = 0x1.921fb6p+0f - twice;
    f32v low = ((0x1.921fb6p+0f - high) - twice) - 0x1.777a5cp-25f;
    return f32_copysign(f32_select(near, s + more, high + (low - 2.0f * more)), x);
}
VF f32v f32_acos(f32v x) {
    f32v size = f32_abs(x);
    i32v near = size < 0.5f;
    f32v z = f32_select(near, x * x, 0.5f - 0.5f * size), s = f32_select(near, x, f32_sqrt(z));
    f32v y = f32_fma(s, f32_arc(z), s), twice = y + y;
    f32v far = f32_select(x < 0.0f, 0x1.921fb6p+1f - (twice + 0x1.777a5cp-24f), twice);
    return f32_select(near, 0x1.921fb6p+0f - (y + 0x1.777a5cp-25f), far);
}

/* Uses x up to 0.5477, (x - 1) / (x + 1) up to 1 / 0.5477, and 1/x beyond. The residual of the
 * division is carried along. */
VF f64p f64p_atan(f64p x) {
    f64p size = f64p_abs(x);
    i64p middle = size > 0.5477, far = size > 1.8258;
    size = f64p_below(f64p_splat(0x1p500), size);
    f64p top = f64p_select(middle, size - 1.0, size), bottom = f64p_select(middle, size + 1.0, f64p_splat(1.0));
    top = f64p_select(far, f64p_splat(-1.0), top);
    bottom = f64p_select(far, size, bottom);
    f64p t = top / bottom, z = t * t;
    f64p q = F64_POLYNOMIAL(z, -0.33333333333333331, 0.19999999999999718, -0.1428571428567959, 0.11111111108947606,
                            -0.090909090104328225, 0.076923057385762883, -0.066666339433455402, 0.058819610994062514,
                            -0.052597270017826568, 0.047396534853206364, -0.042403825960044793, 0.036143620188718237,
                            -0.0268222346635619, 0.014701139203695604, -0.0042436959756371176);
    f64p base = f64p_select(far, f64p_splat(0x1.921fb54442d18p+0), f64p_splat(0x1.921fb54442d18p-1));
    f64p low = f64p_select(far, f64p_splat(0x1.1a62633145c07p-54), f64p_splat(0x1.1a62633145c07p-55));
    f64p rest = t * z * q, near = t + rest;
    f64p y = base + (t + (rest + low));
    return f64p_copysign(f64p_select(x == x, f64p_select(middle, y, near), x), x);
}
VF f64p f64p_atan2(f64p y, f64p x) {
    f64p height = f64p_abs(y), width = f64p_abs(x);
    f64p ratio = height / width;
    ratio = f64p_select((height == 0.0) & (width == 0.0), height, ratio);
    ratio = f64p_select((height == __builtin_inf()) & (width == __builtin_inf()), f64p_splat(1.0), ratio);
    f64p angle = f64p_atan(ratio);
    i64p left = ((i64p)x & (int64_t)0x8000000000000000LL) != 0;
    f64p other = 0x1.921fb54442d18p+1 - (angle - 0x1.1a62633145c07p-53);
    f64p result = f64p_copysign(f64p_select(left, other, angle), y);
    return f64p_select((x == x) & (y == y), result, x + y);
}
VF f64p f64p_arc(f64p z) {
    return z * F64_POLYNOMIAL(z, 0.16666666666666763, 0.07499999999970286, 0.044642857175100595, 0.030381942684579288,
                              0.022372215633141897, 0.017351600577266073, 0.013980955691137852, 0.011397822601454201,
                              0.010786270030646646, 0.0036840160929706559, 0.021761127651886262,
                              -0.021073917636891863, 0.032674758319715509);
}
/* sqrt(z) in two words. */
VF f64p f64p_root(f64p z, f64p *rest) {
    f64p s = f64p_sqrt(z), low, square = f64p_product(s, s, &low);
    *rest = f64p_select(z > 0.0, ((z - square) - low) / (s + s), z * 0);
    return s;
}
VF f64p f64p_asin(f64p x) {
    f64p size = f64p_abs(x), rest;
    i64p near = size < 0.5;
    f64p z = f64p_select(near, x * x, 0.5 - 0.5 * size), s = f64p_root(z, &rest), arc = f64p_arc(z);
    f64p twice = s + s, high = 0x1.921fb54442d18p+0 - twice;
    f64p low = ((0x1.921fb54442d18p+0 - high) - twice) + 0x1.1a62633145c07p-54;
    f64p far = high + (low - 2.0 * (s * arc + rest));
    return f64p_select(near, x + x * arc, f64p_copysign(far, x));
}
VF f64p f64p_acos(f64p x) {
    f64p size = f64p_abs(x), rest;
    i64p near = size < 0.5;
    f64p z = f64p_select(near, x * x, 0.5 - 0.5 * size), s = f64p_root(z, &rest), arc = f64p_arc(z);
    f64p high = 0x1.921fb54442d18p+0 - x, back = 0x1.921fb54442d18p+0 - high;
    f64p middle = high + (((back - x) + 0x1.1a62633145c07p-54) - x * arc);
    f64p y = 2.0 * (s + (s * arc + rest));
    f64p far = f64p_select(x < 0.0, 0x1.921fb54442d18p+1 - (y - 0x1.1a62633145c07p-53), y);
    return f64p_select(near, middle, far);
}

VECTOR_F32_BY_F64(tan, f64p_tan_of_f32)
VECTOR_F32_BY_F64_2(atan2, f64p_atan2)
VECTOR_LIFT_F64(sin)
VECTOR_LIFT_F64(cos)
VECTOR_LIFT_F64(asin)
VECTOR_LIFT_F64(acos)
VECTOR_LIFT_F64(atan)
VECTOR_LIFT_F64_2(atan2)
VECTOR_F64_BY_LIBRARY(tan, __builtin_tan)

#endif
