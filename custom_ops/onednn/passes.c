/* What oneDNN does not do on every processor, or not as it should: one pass over dense memory. */
#include "vector_convert.h"

enum { EXECUTE, WIDEN_FLOAT16, NARROW_FLOAT16, WIDEN_BFLOAT16, NARROW_BFLOAT16, RELU_FLOAT32, RELU_SHORT };

struct pass {
  struct function function;
  const void *from;
  void *to;
  int64_t kind, count, infinity; /* infinity: its bits in a float of 16 bits */
};

#define WIDEN(half)                                                                  \
  for (; i + LANES <= last; i += LANES) f32_store(to + i, half##_load(from_short + i)); \
  f32_store_part(to + i, half##_load_part(from_short + i, (int)(last - i)), (int)(last - i));
#define NARROW(half)                                                                 \
  for (; i + LANES <= last; i += LANES) half##_store(to_short + i, f32_load(from + i)); \
  half##_store_part(to_short + i, f32_load_part(from + i, (int)(last - i)), (int)(last - i));

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
    case RELU_FLOAT32: /* NaN stays NaN: oneDNN's makes it 0 */
      for (; i < last; i++) to[i] = 0 > from[i] ? 0 : from[i];
      break;
    case RELU_SHORT: /* 0 for what has a sign, and is not beyond minus infinity where the NaNs are */
      for (; i < last; i++)
        to_short[i] = from_short[i] & 0x8000 && from_short[i] <= (pass->infinity | 0x8000) ? 0 : from_short[i];
      break;
  }
}

#define SERIAL_ELEMENTS 16384

static void pass_over(const struct pass *pass, int threads) {
  parallel_for(pass->count < SERIAL_ELEMENTS ? 1 : threads, threads, &pass->function);
}
