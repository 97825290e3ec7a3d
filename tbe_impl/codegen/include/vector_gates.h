/* Activation gates by table lookup: the normal distribution, its tanh approximation of GELU, and
 * the gate of Mish, tanh(ln(1 + e^x)).
 *
 * Each gate is a polynomial of degree 7 around the centre of one of 16 cells (intervals) with about
 * equal relative change. x (linear + square x), rounded, is the cell number. At the centres, which
 * are float32, value and slope are within 2^-33 and 2^-26 of float32 values, so that only the
 * addend of the value is rounded. Left of the cells, float64 is used. The distributions are
 * computed left of 0; right of 0 they are 1 minus the value at -x. Within 1.1 ULP; the product with
 * x is within 2 ULP. */
#ifndef VECTOR_GATES_H
#define VECTOR_GATES_H

#include "vector_sigmoid.h"

/* Looks up one of 16 values by the lowest four bits of each index. */
typedef f32p f32p_of_table __attribute__((may_alias));
VF f32p f32p_of_sixteen(const float *table, i32p index) {
#if VECTOR_X86 && PART32_BYTES == 64
    return __builtin_shuffle(*(const f32p_of_table *)table, index);
#elif VECTOR_X86 && defined(__AVX2__) && PART32_BYTES == 32
    f32p low = __builtin_shuffle(((const f32p_of_table *)table)[0], index);
    f32p high = __builtin_shuffle(((const f32p_of_table *)table)[1], index);
    return __builtin_ia32_blendvps256(low, high, (f32p)(index << 28));
#else
    f32p y;
    for (unsigned i = 0; i < sizeof y / sizeof y[0]; i++) y[i] = table[index[i] & 15];
    return y;
#endif
}

/* Rows: centres, values, then the coefficients of the powers of the distance. */
static const float ndtr_cells[9][16] __attribute__((aligned(64))) = {
    {0.0f, 0.800548971f, 1.37550688f, 1.87555921f, 2.29546595f, 2.67908549f, 3.02465582f, 3.34901929f, 3.67772245f,
     3.96024799f, 4.23412466f, 4.50494957f, 4.76509619f, 5.01199484f, 5.25730658f, 5.48810863f},
    {0.5f, 0.211696401f, 0.0844871774f, 0.0303579159f, 0.0108532179f, 0.00369117712f, 0.00124458107f,
     0.000405490748f, 0.000117662908f, 3.74359843e-5f, 1.14721825e-5f, 3.31943534e-6f, 9.43817895e-7f,
     2.69343246e-7f, 7.30902556e-8f, 2.03130099e-8f},
    {-0.398942292f, -0.289564312f, -0.154904246f, -0.0687141791f, -0.0286236927f, -0.0110239172f, -0.00411461527f,
     -0.00146353047f, -0.00046116265f, -0.000156771595f, -5.10428872e-5f, -1.56314782e-5f, -4.6809505e-6f,
     -1.40007512e-6f, -3.97299772e-7f, -1.14968607e-7f},
    {5.47199306e-7f, 0.11590521f, 0.106535926f, 0.0644387528f, 0.0328523554f, 0.0147670088f, 0.00622264808f,
     0.00245069573f, 0.000848014141f, 0.000310427189f, 0.000108060973f, 3.52095121e-5f, 1.11525897e-5f,
     3.50858454e-6f, 1.04436322e-6f, 3.15480065e-7f},
    {0.0664814785f, 0.0173318479f, -0.0230296273f, -0.0288338996f, -0.0203665458f, -0.0113500385f, -0.0055880188f,
     -0.00249188743f, -0.000962726306f, -0.000383661012f, -0.000144007456f, -5.02671464e-5f, -1.69342493e-5f,
     -5.62833247e-6f, -1.76396532e-6f, -5.57969202e-7f},
    {6.75294796e-5f, -0.022786146f, -0.00983660854f, 0.00278045307f, 0.00621233415f, 0.00514069153f, 0.00318828248f,
     0.00167791918f, 0.000743818528f, 0.000328111812f, 0.000134426169f, 5.07441546e-5f, 1.83146349e-5f,
     6.46758599e-6f, 2.14443889e-6f, 7.12994392e-7f},
    {-0.0102378791f, 0.00103281112f, 0.00616328977f, 0.0032854157f, 0.000203583724f, -0.00105240569f,
     -0.00109089888f, -0.000750118343f, -0.000402734237f, -0.000202314783f, -9.2218339e-5f, -3.81702739e-5f,
     -1.49079233e-5f, -5.63590265e-6f, -1.98898806e-6f, -6.98431904e-7f},
    {0.000526854186f, 0.00288170832f, -9.60833713e-5f, -0.00140300998f, -0.000906891481f, -0.000213590887f,
     0.000126408791f, 0.000193838147f, 0.000147983636f, 8.97556893e-5f, 4.72097672e-5f, 2.19377998e-5f,
     9.40460268e-6f, 3.84683926e-6f, 1.45108015e-6f, 5.41491715e-7f},
    {0.000745862897f, -0.000298192375f, -0.000759285118f, -0.000106635613f, 0.000257006614f, 0.000229285448f,
     9.53793642e-5f, -2.01646731e-6f, -2.74864324e-5f, -2.77889612e-5f, -1.84956025e-5f, -1.0205471e-5f,
     -5.08766334e-6f, -2.3241264e-6f, -9.92765081e-7f, -4.0015135e-7f},
};
static const float ndtr_tanh_cells[9][16] __attribute__((aligned(64))) = {
    {0.0f, 0.831143975f, 1.38289404f, 1.85360348f, 2.24497318f, 2.58321309f, 2.88953185f, 3.2006886f, 3.45934081f,
     3.72882915f, 3.97933292f, 4.20396662f, 4.44474411f, 4.66532707f, 4.86607504f, 5.07587671f},
    {0.5f, 0.203059241f, 0.0835174471f, 0.0319113992f, 0.0122512616f, 0.00471533649f, 0.00177439349f,
     0.000582717941f, 0.000208729922f, 6.44323081e-5f, 1.94745116e-5f, 6.08250275e-6f, 1.57950319e-6f,
     4.16947444e-7f, 1.14030954e-7f, 2.68893547e-8f},
    {-0.398942292f, -0.282167405f, -0.153478384f, -0.072019808f, -0.0323661901f, -0.0141929686f, -0.00599225936f,
     -0.00220647594f, -0.000867610739f, -0.000294575642f, -9.70882684e-5f, -3.27175949e-5f, -9.20023285e-6f,
     -2.6079806e-6f, -7.59963086e-7f, -1.91211214e-7f},
    {5.17429726e-7f, 0.117302917f, 0.105512321f, 0.0663326085f, 0.0364078358f, 0.0186637659f, 0.00900457148f,
     0.00377598335f, 0.00164825039f, 0.000621909043f, 0.000225418582f, 8.25192037e-5f, 2.52917143e-5f,
     7.73997817e-6f, 2.41361863e-6f, 6.50637958e-7f},
    {0.0668114871f, 0.0141152656f, -0.0232304186f, -0.0285948366f, -0.0214780215f, -0.013585926f, -0.0077420217f,
     -0.00379190408f, -0.0018689424f, -0.000795429514f, -0.000320834195f, -0.000128758722f, -4.338281e-5f,
     -1.44310789e-5f, -4.84227712e-6f, -1.4056493e-6f},
    {5.78873623e-5f, -0.0226565134f, -0.0092160143f, 0.00234990241f, 0.00584161095f, 0.00547048729f, 0.00398914237f,
     0.00239925203f, 0.00137539487f, 0.000676299213f, 0.000309004623f, 0.000137759605f, 5.16335203e-5f,
     1.88412851e-5f, 6.85146597e-6f, 2.15571959e-6f},
    {-0.010420043f, 0.0018166696f, 0.00610852614f, 0.00324235531f, 0.00050443178f, -0.000757788308f, -0.00107269327f,
     -0.000920259918f, -0.0006562692f, -0.000390365836f, -0.000208320154f, -0.0001053655f, -4.47118109e-5f,
     -1.81307951e-5f, -7.21495962e-6f, -2.48128526e-6f},
    {0.000426595681f, 0.00282121589f, -0.00029139276f, -0.00132404233f, -0.000911202747f, -0.000348060421f,
     -1.67469898e-5f, 0.000148204228f, 0.000177585825f, 0.000144654332f, 9.65837899e-5f, 5.78052422e-5f,
     2.85608457e-5f, 1.31142388e-5f, 5.81666973e-6f, 2.20400625e-6f},
    {0.000883289089f, -0.000450103893f, -0.0007432946f, -1.30247508e-5f, 0.000191204323f, 0.000245175208f,
     0.000123551159f, 3.99409801e-5f, 5.92694107e-7f, -2.59503413e-5f, -2.83438221e-5f, -2.18343048e-5f,
     -1.42391937e-5f, -7.95278174e-6f, -3.93282653e-6f, -1.76510468e-6f},
};
static const float tanh_softplus_cells[9][16] __attribute__((aligned(64))) = {
    {-5.59617519f, -5.07172346f, -4.524333f, -3.94507909f, -3.3614552f, -2.7579987f, -2.11694646f, -1.40762961f,
     -0.702108562f, 0.0966776386f, 0.925747693f, 1.82194066f, 2.89183998f, 4.11565924f, 5.58529282f, 8.11511993f},
    {0.00370514486f, 0.00625193585f, 0.0107831731f, 0.0191625152f, 0.0340835825f, 0.0614113994f, 0.113197371f,
     0.21548155f, 0.382074833f, 0.630745888f, 0.850933671f, 0.961982727f, 0.994490445f, 0.999484718f, 0.999972045f,
     0.999999821f},
    {0.0036982554f, 0.00623227051f, 0.0107244095f, 0.0189754125f, 0.0334831029f, 0.0594115891f, 0.106083632f,
     0.187479228f, 0.28297478f, 0.31562233f, 0.197611347f, 0.0642063245f, 0.0104112038f, 0.00101375906f,
     5.56985688e-5f, 3.5724554e-7f},
    {0.00184223813f, 0.00309647131f, 0.00530345179f, 0.00930070411f, 0.0161420871f, 0.0277166553f, 0.0460514836f,
     0.0673669875f, 0.0587820634f, -0.0292521175f, -0.0923941955f, -0.0486988127f, -0.00953607447f, -0.00098883186f,
     -5.53808932e-5f, -3.56828764e-7f},
    {0.000609486538f, 0.00101904909f, 0.00172866322f, 0.00297569926f, 0.0049823802f, 0.00792656746f, 0.0108446451f,
     0.00677186297f, -0.0191374049f, -0.0452677533f, 0.00138854852f, 0.0196932498f, 0.0055300761f, 0.000634712633f,
     3.66399836e-5f, 2.4683311e-7f},
    {0.000150088003f, 0.000248195895f, 0.00041257916f, 0.000681809615f, 0.00104761391f, 0.00133878854f,
     0.000600438332f, -0.00455900235f, -0.0130834961f, 0.00348076853f, 0.0153048029f, -0.00268291077f,
     -0.00219227048f, -0.000299306092f, -1.80699262e-5f, -1.1773357e-7f},
    {2.91185243e-5f, 4.70031773e-5f, 7.46404476e-5f, 0.000111644687f, 0.000131138557f, 2.05036831e-5f,
     -0.000622130872f, -0.00240516663f, -0.000964378181f, 0.00802572258f, -0.00385837234f, -0.00161715003f,
     0.000575639482f, 0.000108794076f, 6.91807691e-6f, 3.37068684e-8f},
    {4.38443385e-6f, 7.15118313e-6f, 1.00548432e-5f, 1.02431613e-5f, -2.36585697e-6f, -7.38739691e-5f,
     -0.00029160257f, -0.000418345415f, 0.00159374147f, -4.385586e-5f, -0.00179693906f, 0.00102217961f,
     -5.6841247e-5f, -3.15744583e-5f, -2.37540962e-6f, -1.84241316e-8f},
    {1.65952159e-7f, 1.14873365e-6f, 1.29186765e-6f, -9.56659505e-7f, -3.66268432e-6f, -2.7594504e-5f,
     -6.3964304e-5f, 5.39512002e-5f, 0.000606140995f, -0.00121212774f, 0.000853467151f, -0.000133814814f,
     -4.61936434e-5f, 7.90116792e-6f, 8.69129508e-7f, 9.84681847e-9f},
};

VF f32p f32p_in_cells(f32p x, const float cells[][16], float first, float linear, float square) {
    f32p number = f32p_fma(x, f32p_fma(x, f32p_splat(square), f32p_splat(linear)), f32p_splat(0x1.8p23f + first));
    i32p cell = (i32p)number;
    f32p away = x - f32p_of_sixteen(cells[0], cell), y = f32p_of_sixteen(cells[8], cell);
    for (int row = 7; row > 0; row--) y = f32p_fma(y, away, f32p_of_sixteen(cells[row], cell));
    return y;
}
VF f32p f32p_ndtr_in_cells(f32p x) {
    f32p y = f32p_in_cells(f32p_below(f32p_splat(5.54f), f32p_abs(x)), ndtr_cells, 0.0f, 1.12f, 0.3f);
    return f32p_select(x < 0.0f, y, 1.0f - y);
}
VF f32p f32p_ndtr_tanh_in_cells(f32p x) {
    f32p y = f32p_in_cells(f32p_below(f32p_splat(5.12f), f32p_abs(x)), ndtr_tanh_cells, 0.0f, 0.96f, 0.4f);
    return f32p_select(x < 0.0f, y, 1.0f - y);
}
VF f32p f32p_tanh_softplus_in_cells(f32p x) {
    f32p t = f32p_below(f32p_splat(9.05f), f32p_above(f32p_splat(-5.9f), x));
    return f32p_in_cells(t, tanh_softplus_cells, 9.0f, 1.25f, -0.0595f);
}
VECTOR_LIFT_F32(ndtr_in_cells)
VECTOR_LIFT_F32(ndtr_tanh_in_cells)
VECTOR_LIFT_F32(tanh_softplus_in_cells)

VF f64p f64p_ndtr_of_f32(f64p x) { return 0.5 * f64p_erfc_of_f32(x * -0x1.6a09e667f3bcdp-1); }
VF f64p f64p_ndtr_tanh_of_f32(f64p x) {
    f64p z = x * f64p_fma(x * x, f64p_splat(0x1.2444f2a4d8b4bp-4), f64p_splat(0x1.9884533d43651p+0));
    f64p e = f64p_exp_of_f32(f64p_clamp(z, -200.0, 200.0));
    return e / (1.0 + e);
}
/* The argument of the logistic function has two parts, because the weight of its residual is
 * proportional to its size. */
VF f64p f64p_ndtr_tanh(f64p x) {
    f64p t = f64p_clamp(x, -25.0, 25.0), square_rest, cubic_rest, rest;
    f64p square = f64p_product(t, t, &square_rest);
    f64p cubic = f64p_product(square, f64p_splat(0x1.2444f2a4d8b4bp-4), &cubic_rest);
    f64p sum = cubic + 0x1.9884533d43651p+0, back = sum - cubic;
    cubic_rest += square_rest * 0x1.2444f2a4d8b4bp-4 - square * 0x1.6c843a29d1c7p-61 - 0x1.cbc0d30ebfd15p-54;
    cubic_rest += (cubic - (sum - back)) + (0x1.9884533d43651p+0 - back);
    f64p z = f64p_product(sum, t, &rest);
    return f64p_sigmoid_of_parts(z, rest + cubic_rest * t);
}
/* n / (n + 2), n = e^x (e^x + 2), each in two parts. */
VF f64p f64p_tanh_softplus(f64p x) {
    f64p y = f64p_clamp(x, -746.0, 40.0);
    f64_exponential e = f64p_exp_reduced(y, y * 0);
    f64p p = e.r + e.s, m = 1.0 + p, power = f64p_scale(m, e.n);
    f64p power_rest = f64p_scale(((1.0 - m) + p) + ((e.r - p) + e.s), e.n);
    f64p twice = power + power, low, square = f64p_product(power, power, &low), n = twice + square;
    f64p n_rest = (square - (n - twice)) + (low + power_rest * (twice + 2.0));
    f64p d = n + 2.0, two = d - n, d_rest = (n - (d - two)) + (2.0 - two), rest;
    f64p q = f64p_quotient(n, n_rest, d, d_rest + n_rest, &rest);
    return q + rest;
}
VECTOR_LIFT_F64(ndtr_tanh)
VECTOR_LIFT_F64(tanh_softplus)
VECTOR_F32_BY_F64(ndtr_by_f64, f64p_ndtr_of_f32)
VECTOR_F32_BY_F64(ndtr_tanh_by_f64, f64p_ndtr_tanh_of_f32)
VECTOR_F32_BY_F64(tanh_softplus_by_f64, f64p_tanh_softplus)

#define VECTOR_GATE(name, first)                                                              \
    VF f32v f32_##name(f32v x) {                                                              \
        f32v y = f32_##name##_in_cells(x);                                                    \
        i32v beyond = x < first;                                                              \
        if (__builtin_expect(i32_any(beyond), 0)) y = f32_select(beyond, f32_##name##_by_f64(x), y); \
        return y;                                                                             \
    }
VECTOR_GATE(ndtr, -5.54f)
VECTOR_GATE(ndtr_tanh, -5.12f)
VECTOR_GATE(tanh_softplus, -5.9f)

#endif
