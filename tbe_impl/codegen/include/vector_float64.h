/* float64 exponentials, logarithms and derived functions, on parts (f64p). Within 1 to 2 ULP. */
#ifndef VECTOR_FLOAT64_H
#define VECTOR_FLOAT64_H

#include "vector_basic.h"

/* exp(high + low) = 2^n (1 + r + s), |r| <= ln2/2 and s much smaller; high in [-1080, 1080]. */
typedef struct {
    f64p n, r, s;
} f64_exponential;
VF f64_exponential f64p_exp_reduced(f64p high, f64p low) {
    f64p n = f64p_rint(high * 0x1.71547652b82fep+0);
    f64p t = f64p_fma(-n, f64p_splat(0x1.62e42fee00000p-1), high);
    f64p c = n * 0x1.a39ef35793c76p-33 - low;
    f64p r = t - c, rest = (t - r) - c;
    f64p q = F64_POLYNOMIAL(r, 0.5, 0.16666666666666685, 0.041666666666666727, 0.0083333333333153892,
                            0.0013888888888856914, 0.00019841269900424411, 2.4801587376463628e-05,
                            2.7557230851554372e-06, 2.7557231184433906e-07, 2.5113426601990585e-08,
                            2.0927584024246414e-09);
    return (f64_exponential){n, r, f64p_fma(r * r, q, rest)};
}
VF f64p f64p_clamp(f64p x, double low, double high) {
    return f64p_below(f64p_splat(high), f64p_above(f64p_splat(low), x));
}
VF f64p f64p_exp(f64p x) {
    f64p y = f64p_clamp(x, -746.0, 710.0);
    f64_exponential e = f64p_exp_reduced(y, y * 0);
    return f64p_scale(1.0 + (e.r + e.s), e.n);
}
VF f64p f64p_exp2(f64p x) {
    f64p y = f64p_clamp(x, -1076.0, 1025.0);
    f64p n = f64p_rint(y), f = y - n, low;
    f64p high = f64p_product(f, f64p_splat(0x1.62e42fefa39efp-1), &low);
    f64_exponential e = f64p_exp_reduced(high, low + f * 0x1.abc9e3b39803fp-56);
    return f64p_scale(1.0 + (e.r + e.s), n + e.n);
}
VF f64p f64p_expm1(f64p x) {
    f64p y = f64p_clamp(x, -40.0, 710.0);
    f64_exponential e = f64p_exp_reduced(y, y * 0);
    f64p p = e.r + e.s, rest = (e.r - p) + e.s;
    /* Both terms are halved first, since 2^n alone may overflow. */
    f64p half = (f64p)((i64p_whole(e.n) + 1022) << 52);
    f64p u = half - 0.5, v = half * p, w = u + v;
    f64p sum = w + (((u - w) + v) + half * rest);
    return f64p_select(f64p_abs(x) < 0x1p-54, x, sum + sum);
}

/* x = 2^k (1 + f), 1 + f in [3/4, 3/2). Zero, infinity, NaN and negative x: see each caller. */
typedef struct {
    f64p k, f;
} f64_decomposed;
VF f64_decomposed f64p_decompose(f64p x) {
#if VECTOR_X86 && PART64_BYTES == 64
    f64p m = __builtin_ia32_getmantpd512_mask(x, 11, x, (uint8_t)-1, 4);
    f64p k = __builtin_ia32_getexppd512_mask(x, x, (uint8_t)-1, 4);
    return (f64_decomposed){k + (f64p)((m < 1.0) & (i64p)f64p_splat(1.0)), m - 1.0};
#else
    i64p tiny = x < 0x1p-1022;
    i64p bits = (i64p)f64p_select(tiny, x * 0x1p54, x);
    i64p k = (bits - 0x3fe8000000000000LL) & (int64_t)0xfff0000000000000LL;
    /* Extracts the exponent without the arithmetic shift of 64 bits, which AVX2 lacks. */
    f64p n = f64p_whole((i64p)((u64p)(k + 0x4000000000000000LL) >> 52)) - 1024.0;
    return (f64_decomposed){n - (f64p)(tiny & (i64p)f64p_splat(54.0)), (f64p)(bits - k) - 1.0};
#endif
}
/* log(1 + f) = f - t with t in two forms: t = h - w, h = f^2/2. */
typedef struct {
    f64p h, w;
} f64_log_terms;
VF f64_log_terms f64p_log_terms(f64p f) {
    f64p s = f / (f + 2.0), z = s * s, h = f * f * 0.5;
    f64p r = z * F64_POLYNOMIAL(z, 0.66666666666666596, 0.40000000000057295, 0.28571428555707085, 0.2222222430826874,
                              0.18181665245903741, 0.15391130705197867, 0.13173306892169956, 0.13844897886253396);
    return (f64_log_terms){h, s * (h + r)};
}
/* Returns the logarithm of an x that is not positive and finite. */
VF f64p f64p_log_edges(f64p x, f64p y) {
    if (__builtin_expect(i64p_any((i64p)~((x > 0.0) & (x < __builtin_inf()))), 0)) {
        y = f64p_select(x == 0.0, f64p_splat(-__builtin_inf()), y);
        y = f64p_select(x < __builtin_inf(), y, x);
        y = f64p_select(x < 0.0, f64p_splat(__builtin_nan("")), y);
    }
    return y;
}
VF f64p f64p_log_sum(f64p k, f64p f) {
    f64_log_terms t = f64p_log_terms(f);
    f64p whole = k * 0x1.62e42fee00000p-1, high = whole + f;
    f64p rest = (f - (high - whole)) + k * 0x1.a39ef35793c76p-33;
    return high + (rest - (t.h - t.w));
}
VF f64p f64p_log(f64p x) {
    f64_decomposed d = f64p_decompose(x);
    return f64p_log_edges(x, f64p_log_sum(d.k, d.f));
}
VF f64p f64p_log1p(f64p x) {
    f64_decomposed d = f64p_decompose(1.0 + x);
    f64p scale = (f64p)((1023 - i64p_whole(d.k)) << 52);
    f64p f = f64p_select(d.k < 60.0, x * scale + (scale - 1.0), d.f);
    return f64p_copysign(f64p_log_edges(1.0 + x, f64p_log_sum(d.k, f)), x);
}
/* k * unit + log(1 + f) * factor; every product is exact in its leading words. */
VF f64p f64p_log_based(f64_decomposed d, double factor_high, double factor_low, f64p whole, f64p whole_low) {
    f64_log_terms t = f64p_log_terms(d.f);
    f64p high = (f64p)((i64p)(d.f - t.h) & (int64_t)0xffffffff00000000LL);
    f64p low = ((d.f - high) - t.h) + t.w;
    f64p y = high * factor_high;
    f64p rest = (low + high) * factor_low + low * factor_high + whole_low;
    f64p sum = whole + y;
    return sum + (rest + ((whole - sum) + y));
}
VF f64p f64p_log2(f64p x) {
    f64_decomposed d = f64p_decompose(x);
    return f64p_log_edges(x, f64p_log_based(d, 0x1.7154700000000p+0, 0x1.94ae0bf85ddf4p-22, d.k, d.k * 0));
}
VF f64p f64p_log10(f64p x) {
    f64_decomposed d = f64p_decompose(x);
    return f64p_log_edges(x, f64p_log_based(d, 0x1.bcb7b00000000p-2, 0x1.526e50e32a6abp-26,
                                            d.k * 0x1.3441350800000p-2, d.k * 0x1.f79fef311f12bp-34));
}

/* (numerator + rest_n) / (denominator + rest_d), corrected for their residuals and the division. */
VF f64p f64p_quotient(f64p numerator, f64p rest_n, f64p denominator, f64p rest_d, f64p *rest) {
    f64p inverse = 1.0 / denominator, q = numerator * inverse;
#if VECTOR_FMA
    *rest = (f64p_fma(-q, denominator, numerator) + f64p_fma(-q, rest_d, rest_n)) * inverse;
#else
    f64p low, back = f64p_product(q, denominator, &low);
    *rest = (((numerator - back) - low) + (rest_n - q * rest_d)) * inverse;
#endif
    return q;
}
/* Returns the logistic function of x + x_rest, where x_rest is much smaller than x. */
VF f64p f64p_sigmoid_of_parts(f64p x, f64p x_rest) {
    f64p y = f64p_below(f64p_splat(0.0), f64p_above(f64p_splat(-746.0), -f64p_abs(x)));
    f64_exponential e = f64p_exp_reduced(y, f64p_select(x < 0.0, x_rest, -x_rest));
    f64p p = e.r + e.s, m = 1.0 + p, m_rest = ((1.0 - m) + p) + ((e.r - p) + e.s);
    f64p small = f64p_scale(m, e.n), small_rest = f64p_scale(m_rest, e.n);
    f64p d = 1.0 + small, d_rest = ((1.0 - d) + small) + small_rest;
    i64p negative = x < 0.0;
    f64p rest, q = f64p_quotient(f64p_select(negative, m, f64p_splat(1.0)), (f64p)((i64p)m_rest & negative), d,
                                 d_rest, &rest);
    return f64p_scale(q + rest, (f64p)((i64p)e.n & negative));
}
VF f64p f64p_sigmoid(f64p x) { return f64p_sigmoid_of_parts(x, f64p_splat(0.0)); }
VF f64p f64p_tanh(f64p x) {
    f64p size = f64p_abs(x), z = x * x;
    f64p y = f64p_below(f64p_splat(22.0), size);
    f64_exponential e = f64p_exp_reduced(y + y, y * 0);
    f64p big = f64p_scale(1.0 + (e.r + e.s), e.n) + 1.0;
    i64p near = size < 0.625;
    f64p top = z * F64_POLYNOMIAL(z, -0.33333333333333326, -0.020496853003195602, -0.00019909187063511314);
    f64p bottom = F64_POLYNOMIAL(z, 1.0, 0.4614905590095722, 0.02328873731122549, 0.00020644145318040997);
    f64p q = f64p_select(near, top, f64p_splat(-2.0)) / f64p_select(near, bottom, big);
    return f64p_copysign(f64p_select(near, f64p_fma(size, q, size), 1.0 + q), x);
}

/* erfc(x) for x >= 0 as exp(-x^2) P(q) / (1 + 2x), q = (x - 4) / (x + 4) (after Shepherd and
 * Laframboise). */
VF f64p f64p_erfc_by_square(f64p x, f64p square, f64p rest) {
    f64_exponential e = f64p_exp_reduced(-square, -rest);
    f64p p = e.r + e.s, m = 1.0 + p, m_rest = ((1.0 - m) + p) + ((e.r - p) + e.s);
    f64p q = (x - 4.0) / (x + 4.0);
    f64p top = F64_POLYNOMIAL(
        q, 1.2329951186255526, -0.13962111684056253, 0.015379652102619676, 0.068097054254695394,
        -0.10103906603630078, 0.093732834998253342, -0.066330365812292583, 0.037167515539044585,
        -0.016197734056957652, 0.0050319699640354806, -0.00075777329455570155, -0.00019925661931132936,
        0.00015062170632756583, -2.4399469587731372e-05, -1.122214755601154e-05, 5.7102699426623677e-06,
        2.9412875997927316e-07, -8.2608180841494714e-07, 7.4095835362609088e-08, 1.1042876781748041e-07,
        -1.7424373238602796e-08, -1.4098157230626879e-08, 1.6506928961224479e-09, 1.1924399968963578e-09);
    f64p twice = x + x, bottom = 1.0 + twice, back = bottom - twice;
    f64p bottom_rest = (1.0 - back) + (twice - (bottom - back)), ratio_rest;
    f64p ratio = f64p_quotient(top, top * 0, bottom, bottom_rest, &ratio_rest), low;
    f64p high = f64p_product(m, ratio, &low);
    return f64p_scale(high + (low + (m * ratio_rest + m_rest * ratio)), e.n);
}
VF f64p f64p_erfc_positive(f64p x) {
    x = f64p_below(f64p_splat(27.5), x);
    f64p rest, square = f64p_product(x, x, &rest);
    return f64p_erfc_by_square(x, square, rest);
}
/* erf for |x| < 1. The leading coefficient is 9/8 plus a remainder, so rounding errors are small.
 * */
VF f64p f64p_erf_near(f64p x) {
    f64p z = x * x;
    f64p near = F64_POLYNOMIAL(z, 0.0033791670955125739, -0.37612638903183748, 0.11283791670954885,
                               -0.026866170645077864, 0.0052239776248283248, -0.00085483269814199596,
                               0.00012055331132767918, -1.4925595768002938e-05, 1.6461008415637004e-06,
                               -1.6350395610180479e-07, 1.4660324883651403e-08, -1.1374941885006034e-09,
                               5.96066342906556e-11);
    return x + (x * 0.125 + x * near);
}
VF f64p f64p_erfc(f64p x) {
    f64p y = f64p_erfc_positive(f64p_abs(x));
    y = f64p_select(x < 0.0, 2.0 - y, y);
    return f64p_select(f64p_abs(x) < 0.5, 1.0 - f64p_erf_near(x), y);
}
/* The normal distribution, erfc(-x / sqrt(2)) / 2 with the square of x itself. */
VF f64p f64p_ndtr(f64p x) {
    f64p size = f64p_below(f64p_splat(38.8), f64p_abs(x)), near = x * 0x1.6a09e667f3bcdp-1;
    f64p rest, square = f64p_product(size, size, &rest);
    f64p y = 0.5 * f64p_erfc_by_square(size * 0x1.6a09e667f3bcdp-1, square * 0.5, rest * 0.5);
    y = f64p_select(x < 0.0, y, 1.0 - y);
    return f64p_select(f64p_abs(near) < 0.5, 0.5 + 0.5 * f64p_erf_near(near), y);
}
VF f64p f64p_erf(f64p x) {
    f64p far = f64p_copysign(1.0 - f64p_erfc_positive(f64p_abs(x)), x);
    return f64p_select(f64p_abs(x) < 1.0, f64p_erf_near(x), far);
}

VECTOR_LIFT_F64(exp)
VECTOR_LIFT_F64(exp2)
VECTOR_LIFT_F64(expm1)
VECTOR_LIFT_F64(log)
VECTOR_LIFT_F64(log2)
VECTOR_LIFT_F64(log10)
VECTOR_LIFT_F64(log1p)
VECTOR_LIFT_F64(sigmoid)
VECTOR_LIFT_F64(tanh)
VECTOR_LIFT_F64(erf)
VECTOR_LIFT_F64(erfc)
VECTOR_LIFT_F64(ndtr)

#endif
