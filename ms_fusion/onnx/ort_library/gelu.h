/* GELU, x Φ(x), in float32, by erf or by its approximation with tanh.
 *
 * Both read one exponential and divide once; with AVX-512, erf is a polynomial for x near 0. Small
 * results for negative x keep their digits. */
#ifndef MS_FUSION_GELU_H
#define MS_FUSION_GELU_H

#include <stddef.h>
#include <string.h>
#include "thread_pool.h"
#include "vector_math.h"
#if VECTOR_X86 && LANES == 16 && PART32_BYTES == 64
#include "gelu_cells.h"
#endif

enum { GELU_BLOCK = 4096 };

/* y[row][column] = GELU(x[row][column] + bias[column]); no bias if it is NULL */
struct gelu {
  const float *x, *bias;
  float *y;
  int64_t rows, columns;
};

/* Φ(-a) = exp(-a²/2) R(a) for a >= 0; R is a quotient of polynomials with a relative error of 8e-8. */
static inline __attribute__((always_inline)) f32v gelu_by_quotient(f32v x) {
  const f32v a = f32_below(f32_splat(15.0f), f32_abs(x));
  const f32v above = F32_POLYNOMIAL(a, 0.499999962f, 0.337560227f, 0.106041694f, 0.0139722914f);
  const f32v below = F32_POLYNOMIAL(a, 1.0f, 1.47300057f, 0.887409089f, 0.265304269f, 0.0350413963f);
  const f32v tail = f32_exp_of_deficit(a * a * -0.5f) * (above / below);
  return x * f32_select(x < 0.0f, tail, 1.0f - tail);
}

static inline __attribute__((always_inline)) f32v gelu_by_erf(f32v x) {
#ifdef GELU_CELLS_END
  const f32v y = gelu_by_cells(x);
  const i32v far = ~(f32_abs(x) < GELU_CELLS_END);
  return __builtin_expect(i32_any(far), 0) ? f32_select(far, gelu_by_quotient(x), y) : y;
#else
  return gelu_by_quotient(x);
#endif
}

/* The logistic function of 2 √(2/π) (x + 0.044715 x³), by the exponential of its size. */
static inline __attribute__((always_inline)) f32v gelu_by_tanh(f32v x) {
  const f32v a = f32_below(f32_splat(12.0f), f32_abs(x));
  const f32v power = f32_exp_of_deficit(a * f32_fma(a * a, f32_splat(-0.0713548163f), f32_splat(-1.59576912f)));
  const f32v quotient = x / (1.0f + power);
  return f32_select(x < 0.0f, quotient * power, quotient);
}

/* Rows of one task: about GELU_BLOCK elements. */
static inline int64_t gelu_rows(const struct gelu *g) {
  const int64_t rows = GELU_BLOCK / (g->columns ? g->columns : 1);
  return rows ? rows : 1;
}

static inline int64_t gelu_tasks(const struct gelu *g) { return (g->rows + gelu_rows(g) - 1) / gelu_rows(g); }

#define GELU_ROW(name)                                                                               \
  static inline __attribute__((always_inline)) void name##_row(float *y, const float *x, const float *bias, int64_t columns) { \
    int64_t i = 0;                                                                                   \
    for (; i + 2 * LANES <= columns; i += 2 * LANES) {                                               \
      f32v low = f32_load(x + i), high = f32_load(x + i + LANES);                                    \
      if (bias) low += f32_load(bias + i), high += f32_load(bias + i + LANES);                       \
      f32_store(y + i, name(low));                                                                   \
      f32_store(y + i + LANES, name(high));                                                          \
    }                                                                                                \
    for (; i < columns; i += LANES) {                                                                \
      float some[LANES] = {0}, more[LANES] = {0};                                                    \
      const size_t bytes = sizeof(float) * (size_t)(columns - i < LANES ? columns - i : LANES);      \
      memcpy(some, x + i, bytes);                                                                    \
      if (bias) memcpy(more, bias + i, bytes);                                                       \
      f32_store(some, name(f32_load(some) + f32_load(more)));                                        \
      memcpy(y + i, some, bytes);                                                                    \
    }                                                                                                \
  }                                                                                                  \
  static inline __attribute__((unused)) void name##_task(void *work, int number, int count) {        \
    const struct gelu *g = work;                                                                     \
    const int64_t rows = gelu_rows(g), first = number * rows;                                        \
    const int64_t end = first + rows < g->rows ? first + rows : g->rows;                             \
    (void)count;                                                                                     \
    for (int64_t row = first; row < end; row++) {                                                    \
      const int64_t at = row * g->columns;                                                           \
      if (g->bias) name##_row(g->y + at, g->x + at, g->bias, g->columns);                            \
      else name##_row(g->y + at, g->x + at, NULL, g->columns);                                       \
    }                                                                                                \
  }
GELU_ROW(gelu_by_erf)
GELU_ROW(gelu_by_tanh)
#undef GELU_ROW

#endif
