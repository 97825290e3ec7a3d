/* float32 exponentials, logarithms and derived functions. Within 1 ULP unless stated otherwise. */
#ifndef VECTOR_EXPONENTIAL_H
#define VECTOR_EXPONENTIAL_H

#include "vector_float64.h"

/* exp(x) = 2^n (1 + r + s), |r| <= ln2/2 and s much smaller. Adding 1.5 * 2^23 rounds to an
 * integer. */
typedef struct {
    f32v n, r, s;
} f32_exponential;
VF f32v f32_exp_whole(f32v x) { return f32_fma(x, f32_splat(0x1.715476p+0f), f32_splat(0x1.8p23f)) - 0x1.8p23f; }
VF f32v f32_exp_rest(f32v x, f32v n) {
    f32v r = f32_fma(n, f32_splat(-0x1.62e4p-1f), x);
    return f32_fma(n, f32_splat(-0x1.7f7d1cp-20f), r);
}
VF f32_exponential f32_exp_series(f32v n, f32v r) {
    f32v q = F32_POLYNOMIAL(r, 0.5f, 0.166665062f, 0.0416661873f, 0.00836962927f, 0.00139516161f);
    return (f32_exponential){n, r, r * r * q};
}
VF f32_exponential f32_exp_reduced(f32v x) {
    f32v n = f32_exp_whole(x);
    return f32_exp_series(n, f32_exp_rest(x, n));
}
VF f32v f32_clamp(f32v x, float low, float high) {
    return f32_below(f32_splat(high), f32_above(f32_splat(low), x));
}
#if VECTOR_X86 && PART32_BYTES == 64
/* For processors that permute sixteen lanes: exp(x) = 2^k 2^(j/16) (1 + p). 16 k + j is 16 x / ln2
 * rounded to an integer, so that p is a short polynomial. Within 1.3 ULP where 2^k is a normal
 * number. The table holds the bits of 2^(j/16) minus j * 2^19: adding the bits of 16 k + j, shifted
 * by 19, gives 2^k 2^(j/16). */
typedef struct {
    f32p part, shifted, p;
} f32p_sixteenths;
VF f32p f32p_part_of_sixteenths(f32p shifted) {
    const i32p table = {0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
                        0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};
    return (f32p)__builtin_ia32_permvarsi512_mask(table, (i32p)shifted, table, (uint16_t)-1);
}
VF f32p_sixteenths f32p_exp_sixteenths(f32p x) {
    f32p shifted = f32p_fma(x, f32p_splat(0x1.715476p+4f), f32p_splat(0x1.8p23f)), n = shifted - 0x1.8p23f;
    f32p r = f32p_fma(n, f32p_splat(-0x1.62e43p-5f), x);
    f32p q = f32p_fma(r, f32p_splat(0x1.555p-3f), f32p_splat(0.5f));
    f32p rest = f32p_fma(n, f32p_splat(0x1.05c61p-33f), r);
    return (f32p_sixteenths){f32p_part_of_sixteenths(shifted), shifted, f32p_fma(r * r, q, rest)};
}
/* Returns the relative rounding errors of the powers in the table. */
VF f32p f32p_lacking_of_sixteenths(f32p shifted) {
    const f32p lacking = {0.0f, 0x1.8d96d4p-25f, -0x1.9c0c22p-27f, 0x1.964904p-25f, 0x1.125002p-25f, 0x1.370be4p-25f,
                          -0x1.0a3550p-25f, -0x1.00d8acp-27f, 0x1.26055cp-26f, -0x1.05cb44p-25f, 0x1.67a1cap-28f,
                          0x1.a3b5e4p-28f, -0x1.f9c304p-27f, -0x1.6961b4p-28f, -0x1.a5217cp-28f, 0x1.61428ep-28f};
    return __builtin_ia32_permvarsf512_mask(lacking, (i32p)shifted, lacking, (uint16_t)-1);
}
VF f32p f32p_power_of_sixteenths(f32p_sixteenths e) { return (f32p)((i32p)e.part + ((i32p)e.shifted << 19)); }
/* Returns 2^(j/16), where j is the lowest bits of `shifted`, a sum that rounds to sixteenths. */
VF f32p f32p_root_of_sixteenths(f32p shifted) {
    const f32p table = {0x1p0f, 0x1.0b5586p0f, 0x1.172b84p0f, 0x1.2387a6p0f, 0x1.306fep0f, 0x1.3dea64p0f, 0x1.4bfdaep0f,
                        0x1.5ab07ep0f, 0x1.6a09e6p0f, 0x1.7a1148p0f, 0x1.8ace54p0f, 0x1.9c4918p0f, 0x1.ae89fap0f,
                        0x1.c199bep0f, 0x1.d5818ep0f, 0x1.ea4afap0f};
    return __builtin_ia32_permvarsf512_mask(table, (i32p)shifted, table, (uint16_t)-1);
}
/* Computes exp(x) as 2^t within 2^-18, for results rounded to 11 bits or fewer. An instruction
 * handles the fraction of t and returns 0 for infinity (compilers disagree on the name of its
 * builtin). The scaling instruction applies the integer part of t. */
VF f32p f32p_exp_to_half(f32p x) {
    f32p t = x * 0x1.715476p+0f, f;
    __asm__("vreduceps $1, %1, %0" : "=v"(f) : "v"(t));
    f32p p = f32p_fma(f, f32p_splat(0.0134251546f), f32p_splat(0.0522453748f));
    p = f32p_fma(f32p_fma(p, f, f32p_splat(0.241278559f)), f, f32p_splat(0.693045139f));
    return f32p_scale(f32p_fma(p, f, f32p_splat(1.0f)), t);
}
/* Returns whether |x| > 87 in some lane, where 2^k may not be a normal number. */
VF int f32p_any_far(f32p x) {
    return __builtin_expect(__builtin_ia32_cmpps512_mask(f32p_abs(x), f32p_splat(87.0f), 30, (uint16_t)-1, 4) != 0, 0);
}
#elif VECTOR_X86 && defined(__AVX2__) && PART32_BYTES == 32
VF int f32p_any_far(f32p x) { return __builtin_expect(i32p_any(f32p_abs(x) > 87.0f), 0); }
#endif
#if VECTOR_X86 && defined(__AVX2__) && PART32_BYTES == 32
/* For processors that permute eight lanes: exp(x) = 2^k 2^(j/8) (1 + p). 8 k + j is 8 x / ln2
 * rounded to an integer, so that p is a short polynomial. Within 1.3 ULP. The table holds the bits
 * of 2^(j/8) minus j * 2^20: adding the bits of 8 k + j, shifted by 20, gives 2^k 2^(j/8). */
typedef struct {
    f32p part, shifted, p;
} f32p_eighths;
VF f32p f32p_part_of_eighths(f32p shifted) {
    const i32p table = {0x3f800000, 0x3f7b95c2, 0x3f7837f0, 0x3f75fed7, 0x3f7504f3, 0x3f75672a, 0x3f7744fd, 0x3f7ac0c7};
    return __builtin_ia32_permvarsf256((f32p)table, (i32p)shifted);
}
VF f32p_eighths f32p_exp_eighths(f32p x) {
    f32p shifted = f32p_fma(x, f32p_splat(0x1.715476p+3f), f32p_splat(0x1.8p23f)), n = shifted - 0x1.8p23f;
    f32p r = f32p_fma(n, f32p_splat(-0x1.62e43p-4f), x);
    f32p q = f32p_fma(r, f32p_splat(0x1.555d8ap-3f), f32p_splat(0x1.00087ep-1f));
    /* the float32 rounding error of ln2 / 8 matters in the first power only */
    f32p rest = f32p_fma(n, f32p_splat(0x1.05c61p-32f), r);
    return (f32p_eighths){f32p_part_of_eighths(shifted), shifted, f32p_fma(r * r, q, rest)};
}
/* The same with the relative rounding errors of the powers in the table: within 1.1 ULP. */
VF f32p f32p_lacking_of_eighths(f32p shifted) {
    const f32p lacking = {0.0f, -0x1.9c0c22p-27f, 0x1.125002p-25f, -0x1.0a355p-25f,
                          0x1.26055cp-26f, 0x1.67a1cap-28f, -0x1.f9c304p-27f, -0x1.a5217cp-28f};
    return __builtin_ia32_permvarsf256(lacking, (i32p)shifted);
}
VF f32p_eighths f32p_exp_whole_eighths(f32p x) {
    f32p_eighths e = f32p_exp_eighths(x);
    return (f32p_eighths){e.part, e.shifted, e.p + f32p_lacking_of_eighths(e.shifted)};
}
VF f32p f32p_power_of_eighths(f32p_eighths e) { return (f32p)((i32p)e.part + ((i32p)e.shifted << 20)); }
/* 2^k 2^(j/8) (1 + p) where 2^k may not be a normal number. */
VF f32p f32p_scaled_eighths(f32p_eighths e, f32p p) {
    i32p whole = (i32p)e.shifted - (i32p)f32p_splat(0x1.8p23f);
    f32p power = (f32p)((i32p)e.part + ((whole & 7) << 20));
    return f32p_scale(f32p_fma(power, p, power), __builtin_convertvector(whole >> 3, f32p));
}
VF f32p f32p_exp(f32p x) {
    f32p_eighths e = f32p_exp_whole_eighths(x);
    f32p power = f32p_power_of_eighths(e);
    if (f32p_any_far(x)) {
        e = f32p_exp_whole_eighths(f32p_below(f32p_splat(89.0f), f32p_above(f32p_splat(-104.0f), x)));
        return f32p_scaled_eighths(e, e.p);
    }
    return f32p_fma(power, e.p, power);
}
/* Within 2^-18, for results rounded to 11 bits or fewer; invalid for x far from 0. */
VF f32p f32p_exp_to_half_near(f32p x) {
    f32p shifted = f32p_fma(x, f32p_splat(0x1.715476p+3f), f32p_splat(0x1.8p23f)), n = shifted - 0x1.8p23f;
    f32p r = f32p_fma(n, f32p_splat(-0x1.62e43p-4f), x);
    f32p p = f32p_fma(f32p_fma(r, f32p_splat(0.500005066f), f32p_splat(1.00023353f)), r, f32p_splat(1.0f));
    return p * f32p_power_of_eighths((f32p_eighths){f32p_part_of_eighths(shifted), shifted, p});
}
VF f32p f32p_exp_to_half(f32p x) {
    f32p y = f32p_exp_to_half_near(x);
    return f32p_any_far(x) ? f32p_select(f32p_abs(x) > 87.0f, f32p_exp(x), y) : y;
}
/* exp(x) for x = a - max(a), without the rounding errors of the powers in the table and of ln2 /
 * 8. */
VF f32p f32p_exp_of_deficit(f32p x) {
    f32p shifted = f32p_fma(x, f32p_splat(0x1.715476p+3f), f32p_splat(0x1.8p23f)), n = shifted - 0x1.8p23f;
    f32p r = f32p_fma(n, f32p_splat(-0x1.62e43p-4f), x);
    f32p q = f32p_fma(r, f32p_splat(0x1.555d8ap-3f), f32p_splat(0x1.00087ep-1f)), p = f32p_fma(r * r, q, r);
    f32p power = f32p_power_of_eighths((f32p_eighths){f32p_part_of_eighths(shifted), shifted, p});
    f32p y = f32p_fma(power, p, power);
    i32p far = x < -87.0f;
    return __builtin_expect(i32p_any(far), 0) ? f32p_select(far, f32p_exp(x), y) : y;
}
VECTOR_LIFT_F32(exp)
VECTOR_LIFT_F32(exp_of_deficit)
VECTOR_LIFT_F32(exp_to_half)
#elif VECTOR_X86 && PART32_BYTES == 64
/* For exact x, the rounding errors of the float32 table and of ln2 are included: within 0.9 ULP. */
VF f32v f32_exp_by_roots(f32v x, const int is_exact) {
    f32v shifted = f32_fma(x, f32_splat(0x1.715476p+0f), f32_splat(0x1.8p19f)), n = shifted - 0x1.8p19f;
    f32v r = f32_fma(n, f32_splat(-0x1.62e43p-1f), x), root = f32p_root_of_sixteenths(shifted), rest = r;
    if (is_exact) rest = f32_fma(n, f32_splat(0x1.05c61p-29f), r) + f32p_lacking_of_sixteenths(shifted);
    f32v q = f32_fma(r, f32_splat(0x1.555556p-3f), f32_splat(0.5f));
    return f32_scale(f32_fma(root, f32_fma(r * r, q, rest), root), n);
}
VF f32v f32_exp(f32v x) { return f32_exp_by_roots(f32_clamp(x, -104.0f, 89.0f), 1); }
VF f32v f32_exp_to_half(f32v x) { return f32p_exp_to_half(x); }
VF f32v f32_exp_of_deficit(f32v x) { return f32_exp_by_roots(f32_above(f32_splat(-104.0f), x), 0); }
#else
VF f32v f32_exp(f32v x) {
    x = f32_clamp(x, -104.0f, 89.0f);
    f32v n = f32_exp_whole(x), r = f32_exp_rest(x, n);
    f32v q = F32_POLYNOMIAL(r, 0.5f, 0.166665062f, 0.0416661873f, 0.00836962927f, 0.00139516161f);
    return f32_scale(1.0f + f32_fma(r * r, q, r), n);
}
VF f32v f32_exp_to_half(f32v x) { return f32_exp(x); }
#endif
/* exp(x) where x <= 0 is a rounded difference: the error of the difference dominates the others. */
#if !(VECTOR_X86 && (PART32_BYTES == 64 || (defined(__AVX2__) && PART32_BYTES == 32)))
VF f32v f32_exp_of_deficit(f32v x) { return f32_exp(x); }
#endif
VF f32v f32_exp2(f32v x) {
    x = f32_clamp(x, -151.0f, 129.0f);
    f32v n = f32_rint(x), f = x - n;
    f32v q = F32_POLYNOMIAL(f, 0.693147182f, 0.240226507f, 0.055503238f, 0.00961801037f, 0.00134017412f,
                            0.000154748137f);
    return f32_scale(f32_fma(f, q, f32_splat(1.0f)), n);
}
VF f32v f32_expm1(f32v x) {
    f32_exponential e = f32_exp_reduced(f32_clamp(x, -18.0f, 89.0f));
    f32v p = e.r + e.s, rest = (e.r - p) + e.s;
    /* Both terms are halved first, since 2^n alone may overflow. */
    f32v half = (f32v)((__builtin_convertvector(e.n, i32v) + 126) << 23);
    f32v u = half - 0.5f, v = half * p, w = u + v;
    f32v sum = w + (((u - w) + v) + half * rest);
    return f32_select(f32_abs(x) < 0x1p-25f, x, sum + sum);
}

/* x = 2^k (1 + f), 1 + f in [3/4, 3/2). Zero, infinity, NaN and negative x: see f32_log_edges. */
typedef struct {
    f32v k, f;
} f32_decomposed;
VF f32_decomposed f32_decompose(f32v x) {
#if VECTOR_X86 && PART32_BYTES == 64
    f32v m = __builtin_ia32_getmantps512_mask(x, 11, x, (uint16_t)-1, 4);
    f32v k = __builtin_ia32_getexpps512_mask(x, x, (uint16_t)-1, 4);
    return (f32_decomposed){k + (f32v)((m < 1.0f) & (i32v)f32_splat(1.0f)), m - 1.0f};
#else
    i32v tiny = x < 0x1p-126f;
    i32v bits = (i32v)f32_select(tiny, x * 0x1p23f, x);
    i32v k = (bits - 0x3f400000) >> 23;
    f32v f = (f32v)(bits - (k << 23)) - 1.0f;
    return (f32_decomposed){__builtin_convertvector(k - (tiny & 23), f32v), f};
#endif
}
/* Handles subnormals, too: a thread may flush them to zero, as framework threads do. */
VF f32v f32_log_edges(f32v x, f32v y) {
    if (__builtin_expect(i32_any((i32v)((u32v)x - 0x00800000u >= 0x7f000000u)), 0)) {
        y = f32_select(x == 0.0f, f32_splat(-__builtin_inff()), y);
        y = f32_select(x < __builtin_inff(), y, x);
        y = f32_select(x < 0.0f, f32_splat(__builtin_nanf("")), y);
    }
    return y;
}
/* log(1 + f) - f */
VF f32v f32_log_rest(f32v f) {
    f32v q = F32_POLYNOMIAL(f, -0.5f, 0.333333373f, -0.250001669f, 0.199998409f, -0.166555569f, 0.142706007f,
                            -0.127149984f, 0.117354341f, -0.092505388f, 0.0387890898f);
    return f * f * q;
}
VF f32v f32_log_sum(f32v k, f32v f) {
    f32v whole = k * 0x1.62e4p-1f, high = whole + f;
    f32v rest = f32_fma(k, f32_splat(0x1.7f7d1cp-20f), f - (high - whole));
    return high + (rest + f32_log_rest(f));
}
VF f32v f32_log(f32v x) {
    f32_decomposed d = f32_decompose(x);
    return f32_log_edges(x, f32_log_sum(d.k, d.f));
}
VF f32v f32_log1p(f32v x) {
    f32_decomposed d = f32_decompose(1.0f + x);
#if VECTOR_X86 && PART32_BYTES == 64
    f32v f = f32_scale(x, -d.k) + (f32_scale(f32_splat(1.0f), -d.k) - 1.0f);
#else
    f32v scale = (f32v)((127 - __builtin_convertvector(d.k, i32v)) << 23);
    f32v f = f32_select(d.k < 40.0f, f32_fma(x, scale, scale - 1.0f), d.f);
#endif
    return f32_copysign(f32_log_edges(1.0f + x, f32_log_sum(d.k, f)), x);
}
VF f32v f32_log2(f32v x) {
    f32_decomposed d = f32_decompose(x);
    f32v high = d.k + d.f, rest = d.f - (high - d.k);
    f32v low = f32_fma(d.f, f32_splat(0.442695041f), f32_log_rest(d.f) * 1.44269504f);
    return f32_log_edges(x, high + (rest + low));
}
VF f32v f32_log10(f32v x) {
    f32_decomposed d = f32_decompose(x);
    f32v head = (f32v)((i32v)d.f & ~0xfff), y = head * 0x1.bcap-2f, whole = d.k * 0x1.344p-2f;
    f32v high = whole + y, rest = y - (high - whole);
    f32v low = (d.f - head) * 0x1.bcap-2f + d.f * 0x1.7b1526p-14f + f32_log_rest(d.f) * 0.434294482f;
    return f32_log_edges(x, high + (rest + (low + d.k * 0x1.3509f8p-18f)));
}

VF f32v f32_tanh(f32v x) {
    f32v size = f32_abs(x), z = x * x;
    f32v y = f32_below(f32_splat(10.0f), size);
    f32_exponential e = f32_exp_reduced(y + y);
    f32v power = (f32v)((__builtin_convertvector(e.n, i32v) + 127) << 23);
    f32v far = 1.0f - 2.0f / f32_fma(e.r + e.s, power, power + 1.0f);
    f32v near = F32_POLYNOMIAL(z, -0.333332986f, 0.133322701f, -0.0538558066f, 0.021313861f, -0.00742500788f,
                               0.00159293017f);
    return f32_copysign(f32_select(size < 0.8f, f32_fma(size * z, near, size), far), x);
}
/* Near 0 a polynomial, elsewhere 1 - exp(-g(x)). */
VF f32v f32_erf(f32v x) {
    f32v size = f32_abs(x), z = x * x, t = f32_below(f32_splat(4.0f), size);
    f32v near = F32_POLYNOMIAL(z, 0.128379167f, -0.37612626f, 0.112836003f, -0.0268544424f, 0.00518953288f,
                               -0.000802082242f, 7.88906254e-05f);
    f32v g = F32_POLYNOMIAL(t, 0.000170708299f, -1.12949598f, -0.633384943f, -0.108238608f, 0.0250928551f,
                            -0.00416107057f, 0.000432420813f, -2.09202335e-05f);
    f32_exponential e = f32_exp_reduced(g);
    f32v power = (f32v)((__builtin_convertvector(e.n, i32v) + 127) << 23);
    f32v far = 1.0f - f32_fma(e.r + e.s, power, power);
    return f32_copysign(f32_select(size < 0.9375f, f32_fma(size, near, size), far), x);
}

/* float32 functions in float64: within half a unit, at two to four times the cost. exp and log come
 * first, with the terms that float32 requires (2^-34 and 2^-41). */
VF f64p f64p_exp_of_f32(f64p high) {
    f64p n = f64p_rint(high * 0x1.71547652b82fep+0);
    f64p r = f64p_fma(-n, f64p_splat(0x1.62e42fefa39efp-1), high);
    f64p q = F64_POLYNOMIAL(r, 0.50000000838232994, 0.16666666832380919, 0.041666251324883746,
                            0.0083332702032621591, 0.0013947354409170791, 0.00019915482436769674);
    return f64p_scale(1.0 + f64p_fma(r * r, q, r), n);
}
VF f64p f64p_log_of_f32(f64p x) {
    f64_decomposed d = f64p_decompose(x);
    f64p q = F64_POLYNOMIAL(d.f, -0.5, 0.33333333359379907, -0.25000000014219936, 0.19999995290603759,
                            -0.16666658308022306, 0.14285987602341277, -0.12500804654666614, 0.1110472312358063,
                            -0.099718665166230055, 0.091345243660919728, -0.087266076344178073,
                            0.081086499233872192, -0.057006238277154869, 0.019814522402868587);
    f64p y = f64p_fma(d.f * d.f, q, d.f) + d.k * 0x1.62e42fefa39efp-1;
    return f64p_log_edges(x, y);
}
VF f64p f64p_pow_of_f32(f64p x, f64p y) {
    f64p size = f64p_exp_of_f32(f64p_clamp(y * f64p_log_of_f32(f64p_abs(x)), -200.0, 200.0));
    f64p whole = f64p_trunc(y), half = y * 0.5;
    i64p odd = (y == whole) & (half != f64p_trunc(half));
    i64p sign = (i64p)x & odd & (int64_t)0x8000000000000000LL;
    f64p result = (f64p)((i64p)size | sign);
    i64p infinite = f64p_abs(y) == __builtin_inf();
    result = f64p_select((x < 0.0) & (x > -__builtin_inf()) & (y != whole), f64p_splat(__builtin_nan("")), result);
    return f64p_select((y == 0.0) | (x == 1.0) | ((x == -1.0) & infinite), f64p_splat(1.0), result);
}
VF f64p f64p_erfc_of_f32(f64p x) {
    f64p size = f64p_below(f64p_splat(10.5), f64p_abs(x));
    f64p q = F64_POLYNOMIAL((size - 4.0) / (size + 4.0), 1.2329951187618027, -0.13962111873658961,
                            0.015379626197941747, 0.068097156806169415, -0.10103820504632853, 0.093731717261984107,
                            -0.066341002616621833, 0.037166384894924444, -0.016143534551284731,
                            0.0050868681938756486, -0.00084140664090341915, -0.00036920301071797894,
                            8.1209473490236102e-05);
    f64p y = f64p_exp_of_f32(-size * size) * q / (1.0 + 2.0 * size);
    return f64p_select(x < 0.0, 2.0 - y, y);
}
VF f64p f64p_sinh_of_f32(f64p x) {
    f64p e = f64p_expm1(f64p_abs(x));
    f64p y = 0.5 * (e + f64p_select(e < 0x1p60, e / (e + 1.0), f64p_splat(1.0)));
    return f64p_copysign(y, x);
}
VF f64p f64p_cosh_of_f32(f64p x) {
    f64p e = f64p_exp(f64p_abs(x));
    return 0.5 * (e + 1.0 / e);
}
VF f64p f64p_asinh_of_f32(f64p x) {
    f64p size = f64p_abs(x), square = f64p_below(f64p_splat(0x1p300), size * size);
    f64p y = f64p_log1p(size + square / (1.0 + f64p_sqrt(1.0 + square)));
    return f64p_copysign(y, x);
}
VF f64p f64p_acosh_of_f32(f64p x) {
    f64p t = x - 1.0;
    f64p y = f64p_log1p(t + f64p_sqrt(t * (t + 2.0)));
    return f64p_select(t < 0.0, f64p_splat(__builtin_nan("")), y);
}
VF f64p f64p_atanh_of_f32(f64p x) {
    f64p size = f64p_abs(x);
    return f64p_copysign(0.5 * f64p_log1p((size + size) / (1.0 - size)), x);
}
VECTOR_F32_BY_F64(erfc, f64p_erfc_of_f32)
VECTOR_F32_BY_F64(sinh, f64p_sinh_of_f32)
VECTOR_F32_BY_F64(cosh, f64p_cosh_of_f32)
VECTOR_F32_BY_F64(asinh, f64p_asinh_of_f32)
VECTOR_F32_BY_F64(acosh, f64p_acosh_of_f32)
VECTOR_F32_BY_F64(atanh, f64p_atanh_of_f32)
VECTOR_F32_BY_F64_2(pow, f64p_pow_of_f32)
VECTOR_F64_BY_LIBRARY(sinh, __builtin_sinh)
VECTOR_F64_BY_LIBRARY(cosh, __builtin_cosh)
VECTOR_F64_BY_LIBRARY(asinh, __builtin_asinh)
VECTOR_F64_BY_LIBRARY(acosh, __builtin_acosh)
VECTOR_F64_BY_LIBRARY(atanh, __builtin_atanh)
VECTOR_F64_BY_LIBRARY_2(pow, __builtin_pow)

#endif
