/* The logistic function, 1 / (1 + e^-x), of float32. Within 1.6 ULP. */
#ifndef VECTOR_SIGMOID_H
#define VECTOR_SIGMOID_H

#include "vector_exponential.h"

/* Whether that of float32 comes from tables: on Zen 4 and 5 nobody looked. */
#if VECTOR_X86 && PART32_BYTES == 64 && !defined(__znver4__) && !defined(__znver5__)
#define SIGMOID_CELLS 1
#define SIGMOID_STRIP 4
#else
#define SIGMOID_CELLS 0
#define SIGMOID_STRIP STRIP
#endif

/* exp(x) for x from -104 to 88 as a number that is exact, or nearly, and a small one. */
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
/* Good to some 2^-14 at least, to be corrected by what n - q d lacks. */
VF f32p f32p_inverse(f32p x) {
#if VECTOR_X86 && PART32_BYTES == 64
    return __builtin_ia32_rcp14ps512_mask(x, x, (uint16_t)-1);
#else
    return 1.0f / x;
#endif
}
/* e = exp(-|x|) = head + tail; then 1 / (1 + e), or e / (1 + e) for x < 0, from an approximate reciprocal of 1 + e and one
 * correction: q + ((head + tail - q) - q e) / (1 + e), with 1 in the place of head + tail for x >= 0. Within 1.6 ULP. */
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
/* Of x not far from 0, exp(-x) = power (1 + p): in fewer operations an approximate reciprocal and what it lacks. */
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
    return f32p_any_far(x) ? f32p_sigmoid_of_any(x) : f32p_end_by_power(f32p_begin_by_power(x));
}
VF f32p f32p_farther(f32p x, f32p far) { return f32p_above(f32p_abs(x), far); }
/* In halves, of x not far from 0, since loops go over a strip with the first and then with the second. What shows whether a strip
 * comes too far from 0 is gathered from its arguments, beginning with 0. */
#if SIGMOID_CELLS
/* Around the centre of the cell that x lies in, one of 32 from -13.2 to 12.4, a polynomial of degree 6: within 1.1 ULP, in
 * fewer operations than an exponential and a quotient where an instruction looks up each of a table of 32 numbers. Centres are such
 * float32 numbers of which the value is one, too, but for some 2^-32 of it. A number has one result, whatever stands beside it. */
static const float sigmoid_cells[8][32] __attribute__((aligned(64))) = {
    {-12.7994947f, -11.9999514f, -11.1985435f, -10.4009075f, -9.60045719f, -8.80037022f, -7.99913359f, -7.19982767f,
     -6.40013742f, -5.60006571f, -4.7993083f, -3.9996376f, -3.19980645f, -2.39997268f, -1.60003245f, -0.800136983f,
     0.0f, 0.799991667f, 1.59991336f, 2.40017533f, 3.20005035f, 3.99983644f, 4.80025196f, 5.59966373f, 6.39964247f,
     7.20018291f, 8.00039864f, 8.79940701f, 9.60019588f, 10.3991327f, 11.2017908f, 12.0007706f},
    {2.76216019e-6f, 6.14447345e-6f, 1.36939389e-5f, 3.04039531e-5f, 6.76931959e-5f, 0.000150654581f,
     0.000335640711f, 0.000746157311f, 0.00165857351f, 0.00368399872f, 0.00816817302f, 0.017992612f, 0.039173007f,
     0.08317478f, 0.16797708f, 0.309996217f, 0.5f, 0.689972699f, 0.832006276f, 0.916840672f, 0.960836172f,
     0.982010901f, 0.991839468f, 0.996314526f, 0.998340607f, 0.999254107f, 0.999664783f, 0.9998492f, 0.999932289f,
     0.999969542f, 0.999986351f, 0.999993861f},
    {2.76215269e-6f, 6.14443616e-6f, 1.36937524e-5f, 3.04030309e-5f, 6.76886193e-5f, 0.000150631895f,
     0.000335528079f, 0.000745600613f, 0.00165582274f, 0.00367042702f, 0.008101454f, 0.0176688768f, 0.037638478f,
     0.0762567297f, 0.139760807f, 0.213898584f, 0.249999911f, 0.213910401f, 0.139771864f, 0.0762438476f,
     0.0376300178f, 0.0176654905f, 0.0080939373f, 0.00367189175f, 0.00165663974f, 0.000745336118f, 0.000335104152f,
     0.000150777007f, 6.77062999e-5f, 3.04570331e-5f, 1.36493572e-5f, 6.13939983e-6f},
    {1.38106827e-6f, 3.0721792e-6f, 6.84668657e-6f, 1.52005859e-5f, 3.38397222e-5f, 7.52932247e-5f, 0.000167651364f,
     0.000372243871f, 0.00082516484f, 0.00182169129f, 0.00398455281f, 0.00851653051f, 0.0173448361f, 0.0317857414f,
     0.046403762f, 0.0406414531f, 4.38899761e-8f, -0.0406370983f, -0.0464051552f, -0.0317815393f, -0.0173412729f,
     -0.00851495843f, -0.00398092018f, -0.00182241539f, -0.00082556752f, -0.000372108421f, -0.000167439619f,
     -7.53647182e-5f, -3.38495702e-5f, -1.52260836e-5f, -6.83335702e-6f, -3.08786161e-6f},
    {4.6034134e-7f, 1.02400918e-6f, 2.28204749e-6f, 5.06612287e-6f, 1.12765692e-5f, 2.50820285e-5f, 5.58074571e-5f,
     0.000123708029f, 0.000273223442f, 0.000598257466f, 0.00128460664f, 0.00263267988f, 0.00485667866f,
     0.00689469278f, 0.00375894457f, -0.0101041207f, -0.0208288468f, -0.0101073263f, 0.00375762954f, 0.00689451583f,
     0.00485590845f, 0.00263223005f, 0.00128347555f, 0.000598494196f, 0.000273359125f, 0.000123666847f,
     5.57375315e-5f, 2.51063793e-5f, 1.12797652e-5f, 5.07517825e-6f, 2.27494343e-6f, 1.02347565e-6f},
    {1.15092483e-7f, 2.56011276e-7f, 5.70493853e-7f, 1.26632085e-6f, 2.81775215e-6f, 6.26350175e-6f, 1.39155536e-5f,
     3.07441915e-5f, 6.74007752e-5f, 0.000145127124f, 0.000299770443f, 0.000559227658f, 0.000792448409f,
     0.000224639865f, -0.00261832215f, -0.0053041717f, -1.10479323e-6f, 0.00530509884f, 0.00261989981f,
     -0.000225241631f, -0.000792641309f, -0.000559188193f, -0.00029948671f, -0.0001451477f, -6.74785115e-5f,
     -3.07883565e-5f, -1.38983587e-5f, -6.28593762e-6f, -2.80215022e-6f, -1.29340765e-6f, -4.22092938e-7f,
     4.54390516e-8f},
    {2.31582771e-8f, 5.15283958e-8f, 1.14807513e-7f, 2.54765752e-7f, 5.6657376e-7f, 1.25752695e-6f, 2.78526409e-6f,
     6.11138785e-6f, 1.31880752e-5f, 2.73783298e-5f, 5.16681175e-5f, 7.39952156e-5f, 9.48799243e-6f,
     -0.000379152159f, -0.000969992892f, 0.000148240564f, 0.00202614302f, 0.000149260159f, -0.000969751098f,
     -0.000379043369f, 9.5255773e-6f, 7.40155519e-5f, 5.16345026e-5f, 2.73693659e-5f, 1.31794177e-5f, 6.09374456e-6f,
     2.77971367e-6f, 1.2572134e-6f, 5.65152277e-7f, 2.54816598e-7f, 1.11715643e-7f, 4.89127885e-8f},
    {3.81431553e-9f, 8.49163939e-9f, 1.8917742e-8f, 4.19918535e-8f, 9.3537615e-8f, 2.0616352e-7f, 4.53844024e-7f,
     9.84078383e-7f, 2.05602691e-6f, 3.94609879e-6f, 5.89852289e-6f, 1.11254587e-6f, -3.58855614e-5f,
     -0.000128825865f, -4.23788842e-5f, 0.000506595185f, 5.46230513e-6f, -0.000511251623f, 3.7879403e-5f,
     0.000129838969f, 3.68025976e-5f, -9.57966108e-7f, -6.06201274e-6f, -4.07168227e-6f, -1.88858519e-6f,
     -7.7251724e-7f, -4.53899275e-7f, -1.40081582e-7f, -1.60094956e-7f, 6.07943775e-8f, -6.26161864e-7f,
     -1.25766758e-6f},
};
#define SIGMOID_CELL_0 0x1.8p23f
typedef f32p f32p_sigmoid_begun;
typedef f32p f32p_of_cells __attribute__((may_alias));
VF i32p f32p_sigmoid_cell(f32p x) { return (i32p)f32p_fma(x, f32p_splat(1.25f), f32p_splat(SIGMOID_CELL_0 + 16.0f)); }
/* The lowest five bits are the number of a cell; where the others are not those of the first cell, there is none. */
VF f32p f32p_sigmoid_farther(f32p x, f32p far) {
    return (f32p)((i32p)far | (f32p_sigmoid_cell(x) ^ (i32p)f32p_splat(SIGMOID_CELL_0)));
}
VF int f32p_sigmoid_any_far(f32p far) {
    i32p other = (i32p)far & ~31;
    return __builtin_expect(__builtin_ia32_ptestmd512(other, other, (uint16_t)-1) != 0, 0);
}
/* Short enough to be begun and ended at once. */
VF f32p f32p_sigmoid_begin(f32p x) {
    const f32p_of_cells *row = (const f32p_of_cells *)sigmoid_cells;
    i32p cell = f32p_sigmoid_cell(x);
    f32p away = x - __builtin_shuffle(row[0], row[1], cell), y = __builtin_shuffle(row[14], row[15], cell);
    for (int half = 12; half > 0; half -= 2) y = f32p_fma(y, away, __builtin_shuffle(row[half], row[half + 1], cell));
    return y;
}
VF f32p f32p_sigmoid_end(f32p y) { return y; }
VF f32p f32p_sigmoid(f32p x) {
    f32p far = f32p_sigmoid_farther(x, f32p_splat(0.0f)), y = f32p_sigmoid_begin(x);
    return f32p_sigmoid_any_far(far) ? f32p_select(((i32p)far & ~31) != 0, f32p_sigmoid_by_power(x), y) : y;
}
#else
typedef f32p_begun_by_power f32p_sigmoid_begun;
VF f32p f32p_sigmoid_farther(f32p x, f32p far) { return f32p_farther(x, far); }
VF int f32p_sigmoid_any_far(f32p far) { return f32p_any_far(far); }
VF f32p_sigmoid_begun f32p_sigmoid_begin(f32p x) { return f32p_begin_by_power(x); }
VF f32p f32p_sigmoid_end(f32p_sigmoid_begun e) { return f32p_end_by_power(e); }
VF f32p f32p_sigmoid(f32p x) { return f32p_sigmoid_by_power(x); }
#endif
VF int f32p_sigmoid_to_half_any_far(f32p far) { return f32p_any_far(far); }
VF int f32p_exp_to_half_any_far(f32p far) { return f32p_any_far(far); }
typedef f32p f32p_sigmoid_to_half_begun, f32p_exp_to_half_begun;
VF f32p f32p_exp_to_half_end(f32p e) { return e; }
#if PART32_BYTES == 64
VF f32p f32p_exp_to_half_farther(f32p x, f32p far) { return (void)x, far; }
VF f32p f32p_exp_to_half_begin(f32p x) { return f32p_exp_to_half(x); }
/* Beyond -87 the inverse is no normal number. */
VF f32p f32p_sigmoid_to_half_farther(f32p x, f32p far) { return f32p_above(-x, far); }
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
VF f32p f32p_sigmoid_to_half_farther(f32p x, f32p far) { return f32p_farther(x, far); }
VF int f32p_any_far_to_half(f32p x) { return f32p_any_far(x); }
VF f32p f32p_sigmoid_to_half_begin(f32p x) { return f32p_exp_to_half_near(-x); }
VF f32p f32p_sigmoid_to_half_end(f32p e) { return 1.0f / (1.0f + e); }
#endif
VF f32p f32p_sigmoid_to_half(f32p x) {
    if (f32p_any_far_to_half(x)) return f32p_sigmoid_of_any(x);
    return f32p_sigmoid_to_half_end(f32p_sigmoid_to_half_begin(x));
}
#else
VF f32p f32p_sigmoid(f32p x) { return f32p_sigmoid_of_any(x); }
VF f32p f32p_sigmoid_to_half(f32p x) { return f32p_sigmoid_of_any(x); }
#endif
VECTOR_LIFT_F32(sigmoid)
VECTOR_LIFT_F32(sigmoid_to_half)

#endif
