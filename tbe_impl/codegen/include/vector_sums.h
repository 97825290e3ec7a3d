/* float32 sums with float64 accumulation, rounded once: in registers, and in a row in memory.
 *
 * Accumulators are split into registers; compilers spill wider vectors to memory. */
#ifndef VECTOR_SUMS_H
#define VECTOR_SUMS_H

#include "vector_convert.h"

typedef struct {
    f64p parts[PARTS64];
} wide_sum;
/* Splits a vector into registers; GCC emits two conversions. */
VF f64p f64p_from_f32q(f32q x) {
#if VECTOR_X86 && defined(__AVX512F__) && PART64_BYTES == 64
    return (f64p)__builtin_ia32_cvtps2pd512_mask(x, (f64p){0}, -1, 4);
#else
    return __builtin_convertvector(x, f64p);
#endif
}
VF wide_sum wide_add(wide_sum sum, f32v value) {
    f32_pieces pieces = {value};
    for (int i = 0; i < PARTS64; i++) sum.parts[i] += f64p_from_f32q(pieces.q[i]);
    return sum;
}
VF f32v wide_rounded(wide_sum sum) {
    f32q pieces[PARTS64];
    for (int i = 0; i < PARTS64; i++) pieces[i] = __builtin_convertvector(sum.parts[i], f32q);
    return f32_join(pieces);
}
VF wide_sum wide_both(wide_sum a, wide_sum b) {
    for (int i = 0; i < PARTS64; i++) a.parts[i] += b.parts[i];
    return a;
}
/* Returns the sum as a vector whose total `f64_sum` computes. */
VF f64v wide_lanes(wide_sum sum) {
    f64_parts all;
    for (int i = 0; i < PARTS64; i++) all.p[i] = sum.parts[i];
    return all.v;
}
VF void wide_add_at(double *to, f32v value) {
    f32_pieces pieces = {value};
    for (int i = 0; i < PARTS64; i++)
        ((f64p_at *)to)[i] += f64p_from_f32q(pieces.q[i]);
}
VF void wide_add_part(double *to, f32v value, int n) {
    f64_store_part(to, f64_load_part(to, n) + f64_from_f32(value), n);
}

#endif
