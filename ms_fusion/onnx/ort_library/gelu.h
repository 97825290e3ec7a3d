/* GELU, x Φ(x), in float32, by erf or by its approximation with tanh.
 *
 * Both read one exponential and divide once. Small results for negative x keep their digits. */
#ifndef MS_FUSION_GELU_H
#define MS_FUSION_GELU_H

#include <stddef.h>
#include <string.h>
#include "thread_pool.h"
#include "vector_math.h"

enum { GELU_BLOCK = 4096 };

struct gelu {
  const float *x;
  float *y;
  int64_t elements;
};

/* Φ(-a) = exp(-a²/2) R(a) for a >= 0; R is a quotient of polynomials with a relative error of 8e-8. */
static inline __attribute__((always_inline)) f32v gelu_by_erf(f32v x) {
  const f32v a = f32_below(f32_splat(15.0f), f32_abs(x));
  const f32v above = F32_POLYNOMIAL(a, 0.499999962f, 0.337560227f, 0.106041694f, 0.0139722914f);
  const f32v below = F32_POLYNOMIAL(a, 1.0f, 1.47300057f, 0.887409089f, 0.265304269f, 0.0350413963f);
  const f32v tail = f32_exp_of_deficit(a * a * -0.5f) * (above / below);
  return x * f32_select(x < 0.0f, tail, 1.0f - tail);
}

/* The logistic function of 2 √(2/π) (x + 0.044715 x³), by the exponential of its size. */
static inline __attribute__((always_inline)) f32v gelu_by_tanh(f32v x) {
  const f32v a = f32_below(f32_splat(12.0f), f32_abs(x));
  const f32v power = f32_exp_of_deficit(a * f32_fma(a * a, f32_splat(-0.0713548163f), f32_splat(-1.59576912f)));
  const f32v quotient = x / (1.0f + power);
  return f32_select(x < 0.0f, quotient * power, quotient);
}

#define GELU_TASK(name)                                                                    \
  static inline __attribute__((unused)) void name##_task(void *work, int number, int count) { \
    const struct gelu *g = work;                                                           \
    const int64_t first = (int64_t)number * GELU_BLOCK, left = g->elements - first;        \
    const int64_t elements = left < GELU_BLOCK ? left : GELU_BLOCK;                        \
    const float *x = g->x + first;                                                         \
    float *y = g->y + first;                                                               \
    int64_t i = 0;                                                                         \
    (void)count;                                                                           \
    for (; i + 2 * LANES <= elements; i += 2 * LANES) {                                    \
      const f32v low = name(f32_load(x + i)), high = name(f32_load(x + i + LANES));        \
      f32_store(y + i, low);                                                               \
      f32_store(y + i + LANES, high);                                                      \
    }                                                                                      \
    for (; i < elements; i += LANES) {                                                     \
      float some[LANES] = {0};                                                             \
      const size_t bytes = sizeof(float) * (size_t)(elements - i < LANES ? elements - i : LANES); \
      memcpy(some, x + i, bytes);                                                          \
      f32_store(some, name(f32_load(some)));                                               \
      memcpy(y + i, some, bytes);                                                          \
    }                                                                                      \
  }
GELU_TASK(gelu_by_erf)
GELU_TASK(gelu_by_tanh)
#undef GELU_TASK

#endif
