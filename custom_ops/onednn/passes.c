/* Passes over dense memory for operations that oneDNN lacks on some processors, or computes
   differently. */
#include "vector_convert.h"

enum { EXECUTE, WIDEN_FLOAT16, NARROW_FLOAT16, WIDEN_BFLOAT16, NARROW_BFLOAT16, RELU_FLOAT32, RELU_SHORT, SUM, PIECE };

#define ALIGNMENT 64

struct pass {
  struct function function;
  const void *from;
  void *to;
  int64_t kind, count, number; /* number: RELU_SHORT: bits of infinity; SUM: arrays */
};

#define WIDEN(half)                                                                  \
  for (; i + LANES <= last; i += LANES) f32_store(to + i, half##_load(from_short + i)); \
  f32_store_part(to + i, half##_load_part(from_short + i, (int)(last - i)), (int)(last - i));
#define NARROW(half)                                                                 \
  for (; i + LANES <= last; i += LANES) half##_store(to_short + i, f32_load(from + i)); \
  half##_store_part(to_short + i, f32_load_part(from + i, (int)(last - i)), (int)(last - i));

#define SUMMED 64

/* Sums consecutive float arrays, each starting at an aligned address; rounds once. */
static void sum_arrays(float *restrict to, const float *restrict from, int64_t i, int64_t last, const struct pass *pass) {
  const int64_t apart = (pass->count * (int64_t)sizeof(float) + ALIGNMENT - 1) / ALIGNMENT * (ALIGNMENT / (int64_t)sizeof(float));
  for (; i < last; i += SUMMED) {
    const int width = last - i < SUMMED ? (int)(last - i) : SUMMED;
    double sums[SUMMED] = {0};
    for (int64_t array = 0; array < pass->number; array++)
      for (int lane = 0; lane < width; lane++) sums[lane] += from[array * apart + i + lane];
    for (int lane = 0; lane < width; lane++) to[i + lane] = (float)sums[lane];
  }
}

static void pass_part(const struct function *self, int *index, int *parts) {
  const struct pass *pass = (const struct pass *)self;
  int64_t i = pass->count * *index / *parts, last = pass->count * (*index + 1) / *parts;
  const float *from = pass->from;
  const uint16_t *from_short = pass->from;
  float *to = pass->to;
  uint16_t *to_short = pass->to;
  switch (pass->kind) {
    case WIDEN_FLOAT16: WIDEN(f16) break;
    case NARROW_FLOAT16: NARROW(f16) break;
    case WIDEN_BFLOAT16: WIDEN(bf16) break;
    case NARROW_BFLOAT16: NARROW(bf16) break;
    case RELU_FLOAT32: /* NaN propagates; oneDNN's relu maps it to 0 */
      for (; i < last; i++) to[i] = 0 > from[i] ? 0 : from[i];
      break;
    case RELU_SHORT: /* 0 for negative values up to minus infinity; larger bit patterns are NaNs */
      for (; i < last; i++)
        to_short[i] = from_short[i] & 0x8000 && from_short[i] <= (pass->number | 0x8000) ? 0 : from_short[i];
      break;
    case SUM: sum_arrays(to, from, i, last, pass); break;
  }
}

#define SERIAL_ELEMENTS 16384

static void pass_over(const struct pass *pass, int threads) {
  const int64_t read = pass->kind == SUM ? pass->count * pass->number : pass->count;
  parallel_for(read < SERIAL_ELEMENTS ? 1 : threads, threads, &pass->function);
}
