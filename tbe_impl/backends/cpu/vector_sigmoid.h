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
/* Around the centre of the cell that x lies in, one of 32 from -9.9 to 9.3, a polynomial of degree 5: within 1.4 ULP, in
 * fewer operations than an exponential and a quotient where an instruction looks up each of a table of 32 numbers. Centres are such
 * float32 numbers of which the value is one, too, but for some 2^-32 of it. A number has one result, whatever stands beside it. */
static const float sigmoid_cells[7][32] __attribute__((aligned(64))) = {
    {-9.60010242f, -9.00070953f, -8.39973354f, -7.79946041f, -7.2008276f, -6.60086203f, -6.00003338f, -5.39963627f,
     -4.7993083f, -4.19965172f, -3.60085702f, -3.00067258f, -2.40075779f, -1.79928601f, -1.19985139f, -0.600441933f,
     0.0f, 0.599628687f, 1.19993758f, 1.79905772f, 2.40091276f, 2.99929452f, 3.60079575f, 4.19955015f, 4.79964828f,
     5.40005255f, 6.0002594f, 6.59908581f, 7.20082283f, 7.80049467f, 8.40047741f, 9.00058842f},
    {6.77172138e-5f, 0.000123307065f, 0.000224876669f, 0.000409788132f, 0.000745412137f, 0.00135735096f,
     0.00247254083f, 0.00449790154f, 0.00816817302f, 0.0147791021f, 0.0265748147f, 0.0473954976f, 0.0831149295f,
     0.141938001f, 0.231501654f, 0.354242593f, 0.5f, 0.645571351f, 0.76851368f, 0.858034194f, 0.91689688f,
     0.952542245f, 0.9734236f, 0.985219419f, 0.991834581f, 0.995503962f, 0.997528017f, 0.998640239f, 0.999254584f,
     0.999590635f, 0.99977529f, 0.999876678f},
    {6.77126227e-5f, 0.000123291844f, 0.000224826072f, 0.000409620145f, 0.000744856428f, 0.00135550834f,
     0.00246642716f, 0.00447766995f, 0.00810145307f, 0.0145606799f, 0.0258685946f, 0.0451491699f, 0.076206848f,
     0.121791616f, 0.177908629f, 0.228754744f, 0.249999985f, 0.228808999f, 0.177900419f, 0.121811517f, 0.0761969909f,
     0.0452055149f, 0.0258700941f, 0.0145621151f, 0.00809874479f, 0.0044758236f, 0.00246587279f, 0.00135791185f,
     0.000744860037f, 0.00040919712f, 0.000224659001f, 0.000123306789f},
    {3.38514074e-5f, 6.16301259e-5f, 0.000112361398f, 0.000204640295f, 0.000371869595f, 0.000675908406f,
     0.00122710527f, 0.00221867906f, 0.00398453278f, 0.00706513366f, 0.0122468816f, 0.0204349086f, 0.0317699537f,
     0.0436093397f, 0.0477673598f, 0.0333407223f, 5.76752335e-9f, -0.0333060287f, -0.0477678813f, -0.0436130948f,
     -0.0317667499f, -0.0204576049f, -0.0122475522f, -0.0070658084f, -0.00398322288f, -0.00221777218f,
     -0.00122683006f, -0.00067710405f, -0.000371871341f, -0.000204428914f, -0.000112276161f, -6.16366233e-5f},
    {1.12811595e-5f, 2.05341585e-5f, 3.74216834e-5f, 6.8104775e-5f, 0.000123591453f, 0.000224089483f, 0.000404998806f,
     0.000726249942f, 0.00128464657f, 0.00221479335f, 0.00364224077f, 0.00548623037f, 0.00689319707f, 0.00546464091f,
     -0.00200008368f, -0.014201086f, -0.0208318681f, -0.0142195728f, -0.0019997193f, 0.0054636891f, 0.00689366367f,
     0.005490846f, 0.00364247756f, 0.00221498194f, 0.00128420687f, 0.000725935039f, 0.000404894148f, 0.000224472664f,
     0.000123587903f, 6.80315279e-5f, 3.73923504e-5f, 2.0535932e-5f},
    {2.83041618e-6f, 5.14981002e-6f, 9.37729783e-6f, 1.70397343e-5f, 3.08365525e-5f, 5.56267805e-5f, 9.95985611e-5f,
     0.000175531328f, 0.000300505315f, 0.000486370089f, 0.00070240855f, 0.000773297797f, 0.00020991746f,
     -0.00169156143f, -0.00448868982f, -0.00477779796f, -9.82822996e-8f, 0.00477427384f, 0.00448840763f,
     0.00169273221f, -0.00021018929f, -0.000772927538f, -0.000702415069f, -0.000486409379f, -0.000300417683f,
     -0.000175465699f, -9.95841838e-5f, -5.57191706e-5f, -3.08371891e-5f, -1.70240473e-5f, -9.39071924e-6f,
     -5.1615757e-6f},
    {5.6130142e-7f, 1.01939133e-6f, 1.85382009e-6f, 3.35629602e-6f, 6.04733486e-6f, 1.07833239e-5f, 1.89747152e-5f,
     3.22385386e-5f, 5.13199302e-5f, 7.1018716e-5f, 6.50427683e-5f, -4.12074623e-5f, -0.00037145571f,
     -0.000876161037f, -0.00078753446f, 0.000775930355f, 0.00205017813f, 0.000804169918f, -0.000776610337f,
     -0.000881777669f, -0.000377138669f, -4.45087135e-5f, 6.44677057e-5f, 7.11405082e-5f, 5.160406e-5f,
     3.24461689e-5f, 1.91124236e-5f, 1.08973763e-5f, 6.08874325e-6f, 3.38090285e-6f, 1.86666273e-6f, 1.02611818e-6f},
};
#define SIGMOID_CELL_0 0x1.8p23f
typedef f32p f32p_sigmoid_begun;
typedef f32p f32p_of_cells __attribute__((may_alias));
VF i32p f32p_sigmoid_cell(f32p x) { return (i32p)f32p_fma(x, f32p_splat(0x1.aaaaaap+0f), f32p_splat(SIGMOID_CELL_0 + 16.0f)); }
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
    f32p away = x - __builtin_shuffle(row[0], row[1], cell), y = __builtin_shuffle(row[12], row[13], cell);
    for (int half = 10; half > 0; half -= 2) y = f32p_fma(y, away, __builtin_shuffle(row[half], row[half + 1], cell));
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
