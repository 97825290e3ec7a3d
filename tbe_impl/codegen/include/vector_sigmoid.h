/* The float32 logistic function, 1 / (1 + e^-x). Within 1.6 ULP unless stated otherwise. */
#ifndef VECTOR_SIGMOID_H
#define VECTOR_SIGMOID_H

#include "vector_exponential.h"

/* Whether the float32 form uses tables; not measured on Zen 4 and 5. */
#if VECTOR_X86 && PART32_BYTES == 64 && !defined(__znver4__) && !defined(__znver5__)
#define SIGMOID_CELLS 1
#define SIGMOID_STRIP 4
#else
#define SIGMOID_CELLS 0
#if defined(__znver3__)
#define SIGMOID_STRIP STRIP
#else
#define SIGMOID_STRIP 2
#endif
#endif

/* exp(x) for x from -104 to 88 as an exact or nearly exact value and a small correction. */
typedef struct {
    f32p head, tail;
} f32p_parts;
#if VECTOR_X86 && PART32_BYTES == 64
VF f32p_parts f32p_exp_in_parts(f32p x) {
    f32p shifted = f32p_fma(x, f32p_splat(0x1.715476p+0f), f32p_splat(0x1.8p19f)), n = shifted - 0x1.8p19f;
    f32p r = f32p_fma(n, f32p_splat(-0x1.62e4p-1f), x);
    r = f32p_fma(n, f32p_splat(-0x1.7f7d1cp-20f), r);
    f32p head = f32p_scale(f32p_root_of_sixteenths(shifted), n);
    f32p q = f32p_fma(r, f32p_splat(0x1.555556p-3f), f32p_splat(0.5f));
    return (f32p_parts){head, head * f32p_fma(r * r, q, r + f32p_lacking_of_sixteenths(shifted))};
}
#elif VECTOR_X86 && defined(__AVX2__) && PART32_BYTES == 32
VF f32p_parts f32p_exp_in_parts(f32p x) {
    f32p_eighths e = f32p_exp_eighths(x);
    f32p power = f32p_power_of_eighths(e);
    if (__builtin_expect(i32p_any(x < -87.0f), 0)) power = f32p_scaled_eighths(e, f32p_splat(0.0f));
    return (f32p_parts){power, power * (e.p + f32p_lacking_of_eighths(e.shifted))};
}
#else
VF f32p_parts f32p_exp_in_parts(f32p x) {
    f32p n = f32p_fma(x, f32p_splat(0x1.715476p+0f), f32p_splat(0x1.8p23f)) - 0x1.8p23f;
    f32p r = f32p_fma(n, f32p_splat(-0x1.62e4p-1f), x);
    r = f32p_fma(n, f32p_splat(-0x1.7f7d1cp-20f), r);
    f32p q = f32p_fma(r, f32p_splat(0.00139516161f), f32p_splat(0.00836962927f));
    q = f32p_fma(f32p_fma(q, r, f32p_splat(0.0416661873f)), r, f32p_splat(0.166665062f));
    f32p head = f32p_scale(f32p_splat(1.0f), n);
    return (f32p_parts){head, head * (r + r * r * f32p_fma(q, r, f32p_splat(0.5f)))};
}
#endif
/* Accurate to 2^-14 at least; corrected by the residual n - q d. */
VF f32p f32p_inverse(f32p x) {
#if VECTOR_X86 && PART32_BYTES == 64
    return __builtin_ia32_rcp14ps512_mask(x, x, (uint16_t)-1);
#else
    return 1.0f / x;
#endif
}
/* e = exp(-|x|) = head + tail; then 1 / (1 + e), or e / (1 + e) for x < 0, from an approximate
 * reciprocal of 1 + e and one correction: q + ((head + tail - q) - q e) / (1 + e), with 1 in place
 * of head + tail for x >= 0. Within 1.6 ULP. */
VF f32p f32p_sigmoid_of_any(f32p x) {
    f32p y = f32p_above(f32p_splat(-104.0f), (f32p)((i32p)x | (int32_t)0x80000000));
    f32p_parts power = f32p_exp_in_parts(y);
    i32p negative = x < 0.0f;
    f32p e = power.head + power.tail, inverse = f32p_inverse(1.0f + e);
    f32p head = f32p_select(negative, power.head, f32p_splat(1.0f));
    f32p tail = (f32p)((i32p)power.tail & negative);
    f32p q = (head + tail) * inverse;
    return f32p_fma(f32p_fma(-q, e, (head - q) + tail), inverse, q);
}
/* For x near 0, exp(-x) = power (1 + p): an approximate reciprocal and its residual, in fewer
 * operations. */
VF f32p f32p_inverse_of_sum(f32p power, f32p p) {
    f32p inverse = f32p_inverse(1.0f + f32p_fma(power, p, power));
    f32p lacking = f32p_fma(-inverse, power, f32p_splat(1.0f)) - inverse;
    return f32p_fma(inverse, f32p_fma(-(inverse * power), p, lacking), inverse);
}
#if VECTOR_X86 && (PART32_BYTES == 64 || (defined(__AVX2__) && PART32_BYTES == 32))
typedef struct {
    f32p power, p;
} f32p_begun_by_power;
#if PART32_BYTES == 64
VF f32p_begun_by_power f32p_begin_by_power(f32p x) {
    f32p_sixteenths e = f32p_exp_sixteenths(-x);
    return (f32p_begun_by_power){f32p_power_of_sixteenths(e), e.p};
}
#else
VF f32p_begun_by_power f32p_begin_by_power(f32p x) {
    f32p_eighths e = f32p_exp_whole_eighths(-x);
    return (f32p_begun_by_power){f32p_power_of_eighths(e), e.p};
}
#endif
VF f32p f32p_end_by_power(f32p_begun_by_power e) { return f32p_inverse_of_sum(e.power, e.p); }
VF f32p f32p_sigmoid_by_power(f32p x) {
    f32p y = f32p_end_by_power(f32p_begin_by_power(x));
    return f32p_any_far(x) ? f32p_select(f32p_abs(x) > 87.0f, f32p_sigmoid_of_any(x), y) : y;
}
VF f32p f32p_farther(f32p x, f32p far) { return f32p_above(f32p_abs(x), far); }
/* The logistic function in two halves, for x near 0. Loops after fission run the first half over a
 * strip, then the second half. `far` accumulates over the arguments of a strip, starting with 0,
 * and indicates an argument too far from 0. */
#if SIGMOID_CELLS
/* A polynomial of degree 5 around the nearest of 32 multiples of 1/2: within 1.4 ULP, its product
 * with x within 2. It is cheaper than an exponential and a quotient where an instruction looks up
 * 32-entry tables. The result of a value does not depend on the other values in its vector. */
static const float sigmoid_cells[6][32] __attribute__((aligned(64))) = {
    {0.000335350138f, 0.000552778656f, 0.000911051175f, 0.00150118221f, 0.00247262325f, 0.00407013763f,
     0.00669285096f, 0.0109869428f, 0.0179862101f, 0.0293122306f, 0.0474258736f, 0.0758581832f, 0.119202919f,
     0.182425529f, 0.268941432f, 0.377540678f, 0.5f, 0.622459352f, 0.731058598f, 0.817574501f, 0.880797088f,
     0.924141824f, 0.952574134f, 0.970687747f, 0.982013762f, 0.989013076f, 0.993307173f, 0.995929837f, 0.997527361f,
     0.998498797f, 0.999088943f, 0.999447227f},
    {0.000335237681f, 0.000552473066f, 0.000910221133f, 0.00149892864f, 0.00246650935f, 0.00405357173f,
     0.00664805667f, 0.0108662294f, 0.0176627059f, 0.0284530241f, 0.0451766625f, 0.0701037198f, 0.104993582f,
     0.149146453f, 0.196611941f, 0.23500371f, 0.25f, 0.235003725f, 0.196611941f, 0.149146453f, 0.104993589f,
     0.0701037198f, 0.0451766588f, 0.0284530241f, 0.0176627059f, 0.0108662304f, 0.00664805667f, 0.00405357173f,
     0.00246650935f, 0.00149892864f, 0.000910221192f, 0.000552473066f},
    {0.000167504841f, 0.000275927421f, 0.000454281195f, 0.000747215876f, 0.00122713868f, 0.00201028911f,
     0.00327952253f, 0.00531369681f, 0.00851365272f, 0.0133925239f, 0.0204458442f, 0.0297337733f, 0.0399817973f,
     0.0473644547f, 0.0454268232f, 0.0287765078f, 2.53973798e-9f, -0.0287798829f, -0.0454304405f, -0.0473682359f,
     -0.0399828106f, -0.0297346674f, -0.0204467867f, -0.0133897001f, -0.00851010997f, -0.00531605771f,
     -0.00328258914f, -0.00200710096f, -0.00122513017f, -0.000744632387f, -0.000453543238f, -0.000276584324f},
    {5.57586718e-5f, 9.1772381e-5f, 0.000150878637f, 0.000247581396f, 0.000404989987f, 0.000659170386f,
     0.00106381741f, 0.0016929683f, 0.00263182842f, 0.00393259525f, 0.00548836822f, 0.00676904246f, 0.00647589983f,
     0.00261257333f, -0.00588881364f, -0.0160590634f, -0.0208328944f, -0.016060574f, -0.00588862784f, 0.00261253002f,
     0.00647496991f, 0.00676924223f, 0.00548856286f, 0.00393265206f, 0.00263187545f, 0.0016929179f, 0.00106379902f,
     0.000659169687f, 0.000405000843f, 0.000247579766f, 0.000150874592f, 9.17735088e-5f},
    {1.39556087e-5f, 2.29476082e-5f, 3.75198142e-5f, 6.12392105e-5f, 9.96930103e-5f, 0.000159611081f, 0.000252002385f,
     0.000385931809f, 0.000559415203f, 0.000733530847f, 0.000775839027f, 0.000388253597f, -0.000883734727f,
     -0.0031062949f, -0.005088998f, -0.00430150516f, -6.67093332e-8f, 0.00435472187f, 0.00514640845f, 0.00316630607f,
     0.000899971812f, -0.000374057097f, -0.000760791649f, -0.00077826815f, -0.000615605502f, -0.000348480302f,
     -0.00020338023f, -0.000210181097f, -0.000131549794f, -0.000102218495f, -4.92254294e-5f, -1.25271963e-5f},
    {2.80167319e-6f, 4.56079442e-6f, 7.33775551e-6f, 1.18452454e-5f, 1.92579319e-5f, 2.9628427e-5f, 4.45777332e-5f,
     6.2332474e-5f, 7.44198042e-5f, 5.72546414e-5f, -4.07490697e-5f, -0.000295077305f, -0.000733179389f,
     -0.000986310537f, -0.000398912787f, 0.00112197525f, 0.00206342735f, 0.0011431335f, -0.000402625505f,
     -0.000985563849f, -0.000718704599f, -0.000298928004f, -4.29602696e-5f, 5.61386623e-5f, 7.34848654e-5f,
     6.29035712e-5f, 4.49333638e-5f, 2.96306425e-5f, 1.90483388e-5f, 1.18759117e-5f, 7.39111147e-6f, 4.53844041e-6f},
};
typedef f32p f32p_sigmoid_begun;
typedef f32p f32p_of_cells __attribute__((may_alias));
#define SIGMOID_CELL_0 2.0f
VF i32p f32p_sigmoid_cell(f32p x) { return (i32p)f32p_fma(x, f32p_splat(0x1p-21f), f32p_splat(0x1.00002p+1f)); }
/* The lowest five bits are the cell number. Upper bits that differ from those of the first cell
 * mean that no cell contains the value. */
VF f32p f32p_sigmoid_farther(f32p x, f32p far) {
    return (f32p)((i32p)far | (f32p_sigmoid_cell(x) ^ (i32p)f32p_splat(SIGMOID_CELL_0)));
}
VF int f32p_sigmoid_any_far(f32p far) {
    return __builtin_expect(__builtin_ia32_ptestmd512((i32p)far, (i32p){0} + ~31, (uint16_t)-1) != 0, 0);
}
/* Short enough to run begin and end at once. */
VF f32p f32p_sigmoid_begin(f32p x) {
    const f32p_of_cells *row = (const f32p_of_cells *)sigmoid_cells;
    i32p cell = f32p_sigmoid_cell(x);
    f32p away, y = __builtin_shuffle(row[10], row[11], cell);
    __asm__("vreduceps $16, %1, %0" : "=v"(away) : "v"(x));
    for (int half = 8; half >= 0; half -= 2) y = f32p_fma(y, away, __builtin_shuffle(row[half], row[half + 1], cell));
    return y;
}
VF f32p f32p_sigmoid_end(f32p y) { return y; }
VF f32p f32p_sigmoid(f32p x) {
    f32p far = f32p_sigmoid_farther(x, f32p_splat(0.0f)), y = f32p_sigmoid_begin(x);
    return f32p_sigmoid_any_far(far) ? f32p_select(((i32p)far & ~31) != 0, f32p_sigmoid_by_power(x), y) : y;
}
#elif PART32_BYTES == 32
/* exp(-x) = power t, 8 k + j from the bits of -8 x / ln2 rounded, the lowest eight biased by 128: a
 * table holds 2^(j/8) b, and t = 2^(r/8) / b is a polynomial of degree 4 that stays below 1, where
 * rounding errors are smaller. So 1 + exp(-x) is one operation and its inverse another: within 2.2
 * ULP, the product with x within 2.6, from -11 to 11. b = 1.0524216 minimises the table's rounding
 * error to 2^-27, and the table includes the rounding error of ln2 / 8 for -8 x / ln2 = 64. */
typedef struct {
    f32p power, t;
} f32p_sigmoid_begun;
#define SIGMOID_FIRST 0x1.8p23f
VF f32p f32p_sigmoid_eighths(f32p x) { return f32p_fma(x, f32p_splat(-0x1.715476p+3f), f32p_splat(SIGMOID_FIRST + 128)); }
VF f32p f32p_sigmoid_farther(f32p x, f32p far) {
    return (f32p)((i32p)far | ((i32p)f32p_sigmoid_eighths(x) ^ (i32p)f32p_splat(SIGMOID_FIRST)));
}
VF int f32p_sigmoid_any_far(f32p far) { return __builtin_expect(i32p_any(((i32p)far & ~255) != 0), 0); }
VF f32p_sigmoid_begun f32p_sigmoid_begin(f32p x) {
    /* minus j * 2^20 and 16 * 2^23 in their bits */
    const i32p table = {0x3786b5c0, 0x3782e6fa, 0x378032b3, 0x377eb27c, 0x377e8237, 0x377fc04c, 0x37828de3, 0x37870f25};
    f32p shifted = f32p_sigmoid_eighths(x);
    f32p r = f32p_fma(shifted - (SIGMOID_FIRST + 128), f32p_splat(0x1.62e43p-4f), x);
    f32p t = f32p_fma(r, f32p_splat(0.039591763f), f32p_splat(-0.15837781f));
    t = f32p_fma(r, f32p_fma(r, t, f32p_splat(0.4750948f)), f32p_splat(-0.9501896f));
    i32p root = (i32p)__builtin_ia32_permvarsf256((f32p)table, (i32p)shifted);
    return (f32p_sigmoid_begun){(f32p)(root + ((i32p)shifted << 20)), f32p_fma(r, t, f32p_splat(0.9501896f))};
}
VF f32p f32p_sigmoid_end(f32p_sigmoid_begun e) { return 1.0f / f32p_fma(e.power, e.t, f32p_splat(1.0f)); }
VF f32p f32p_sigmoid(f32p x) {
    f32p far = f32p_sigmoid_farther(x, f32p_splat(0.0f)), y = f32p_sigmoid_end(f32p_sigmoid_begin(x));
    return f32p_sigmoid_any_far(far) ? f32p_select(((i32p)far & ~255) != 0, f32p_sigmoid_by_power(x), y) : y;
}
#else
typedef f32p_begun_by_power f32p_sigmoid_begun;
VF f32p f32p_sigmoid_farther(f32p x, f32p far) { return f32p_farther(x, far); }
VF int f32p_sigmoid_any_far(f32p far) { return f32p_any_far(far); }
VF f32p_sigmoid_begun f32p_sigmoid_begin(f32p x) { return f32p_begin_by_power(x); }
VF f32p f32p_sigmoid_end(f32p_sigmoid_begun e) { return f32p_end_by_power(e); }
VF f32p f32p_sigmoid(f32p x) { return f32p_sigmoid_by_power(x); }
#endif
VF int f32p_exp_to_half_any_far(f32p far) { return f32p_any_far(far); }
typedef f32p f32p_exp_to_half_begun;
VF f32p f32p_exp_to_half_end(f32p e) { return e; }
#if PART32_BYTES == 64
VF f32p f32p_exp_to_half_farther(f32p x, f32p far) { return (void)x, far; }
VF f32p f32p_exp_to_half_begin(f32p x) { return f32p_exp_to_half(x); }
typedef f32p f32p_sigmoid_to_half_begun;
VF int f32p_sigmoid_to_half_any_far(f32p far) { return f32p_any_far(far); }
/* Beyond -87 the inverse is not a normal number. */
VF f32p f32p_sigmoid_to_half_farther(f32p x, f32p far) { return f32p_above(-x, far); }
VF i32p f32p_is_far_to_half(f32p x) { return x < -87.0f; }
VF int f32p_any_far_to_half(f32p x) {
    return __builtin_expect(__builtin_ia32_cmpps512_mask(x, f32p_splat(-87.0f), 1, (uint16_t)-1, 4) != 0, 0);
}
VF f32p f32p_sigmoid_to_half_begin(f32p x) { return f32p_exp_to_half(-x); }
VF f32p f32p_sigmoid_to_half_end(f32p e) {
    f32p sum = 1.0f + e, inverse = f32p_inverse(sum);
    return f32p_fma(f32p_fma(-inverse, sum, f32p_splat(1.0f)), inverse, inverse);
}
#else
VF f32p f32p_exp_to_half_farther(f32p x, f32p far) { return f32p_farther(x, far); }
VF f32p f32p_exp_to_half_begin(f32p x) { return f32p_exp_to_half_near(x); }
/* Within 2^-17, for x from -22 to 22: the same with a polynomial of degree 2 and with nine bits of
 * -8 x / ln2. */
typedef f32p_sigmoid_begun f32p_sigmoid_to_half_begun;
VF f32p f32p_sigmoid_to_half_eighths(f32p x) { return f32p_fma(x, f32p_splat(-0x1.715476p+3f), f32p_splat(SIGMOID_FIRST + 256)); }
VF f32p f32p_sigmoid_to_half_farther(f32p x, f32p far) {
    return (f32p)((i32p)far | ((i32p)f32p_sigmoid_to_half_eighths(x) ^ (i32p)f32p_splat(SIGMOID_FIRST)));
}
VF int f32p_sigmoid_to_half_any_far(f32p far) { return __builtin_expect(i32p_any(((i32p)far & ~511) != 0), 0); }
VF i32p f32p_is_far_to_half(f32p x) { return ((i32p)f32p_sigmoid_to_half_farther(x, f32p_splat(0.0f)) & ~511) != 0; }
VF int f32p_any_far_to_half(f32p x) { return __builtin_expect(i32p_any(f32p_is_far_to_half(x)), 0); }
VF f32p_sigmoid_begun f32p_sigmoid_to_half_begin(f32p x) {
    const i32p table = {0x2f800000, 0x2f7b95c2, 0x2f7837f0, 0x2f75fed7, 0x2f7504f3, 0x2f75672a, 0x2f7744fd, 0x2f7ac0c7};
    f32p shifted = f32p_sigmoid_to_half_eighths(x);
    f32p r = f32p_fma(shifted - (SIGMOID_FIRST + 256), f32p_splat(0x1.62e43p-4f), x);
    f32p t = f32p_fma(r, f32p_fma(r, f32p_splat(0.49993545f), f32p_splat(-1.0002347f)), f32p_splat(1.0f));
    i32p root = (i32p)__builtin_ia32_permvarsf256((f32p)table, (i32p)shifted);
    return (f32p_sigmoid_begun){(f32p)(root + ((i32p)shifted << 20)), t};
}
VF f32p f32p_sigmoid_to_half_end(f32p_sigmoid_begun e) { return f32p_sigmoid_end(e); }
#endif
VF f32p f32p_sigmoid_to_half(f32p x) {
    f32p y = f32p_sigmoid_to_half_end(f32p_sigmoid_to_half_begin(x));
    return f32p_any_far_to_half(x) ? f32p_select(f32p_is_far_to_half(x), f32p_sigmoid_of_any(x), y) : y;
}
#else
VF f32p f32p_sigmoid(f32p x) { return f32p_sigmoid_of_any(x); }
VF f32p f32p_sigmoid_to_half(f32p x) { return f32p_sigmoid_of_any(x); }
#endif
VECTOR_LIFT_F32(sigmoid)
VECTOR_LIFT_F32(sigmoid_to_half)

#endif
