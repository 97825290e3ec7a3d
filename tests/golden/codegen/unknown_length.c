#include "vector_math.h"
#include "runtime.h"
static void k_unknown_length_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    const int i0_head = (int)least(stream ? (int64_t)((0 - (uintptr_t)(p2 + i0)) % least(LANES*4, 64)) / 4 : 0, end - i0);
    if (i0_head > 0) {
      const f32v v0 = f32_load_part(p0 + i0, i0_head);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v2 = f32_load_part(p1 + i0, i0_head);
      const f32v v3 = f32_tanh(v2);
      const f32v v4 = (v1 * v3);
      f32_store_part(p2 + i0, v4, i0_head);
      i0 += i0_head;
    }
    for (; i0 + LANES <= end; i0 += LANES) {
      fetch(p0 + i0 + INT64_C(1024));
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.0000000000000p+0f));
      fetch(p1 + i0 + INT64_C(1024));
      const f32v v2 = f32_load(p1 + i0);
      const f32v v3 = f32_tanh(v2);
      const f32v v4 = (v1 * v3);
      if (stream) f32_stream(p2 + i0, v4); else f32_store(p2 + i0, v4);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v2 = f32_load_part(p1 + i0, i0_rest);
      const f32v v3 = f32_tanh(v2);
      const f32v v4 = (v1 * v3);
      f32_store_part(p2 + i0, v4, i0_rest);
    }
  }
  if (stream) {
    stream_fence();
  }
}
static void k_unknown_length_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_unknown_length_nest0(nest->b, nest->s, begin, end, nest->stream);
}
int k_unknown_length(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  const int64_t n0 = s[0];
  (void)n0;
  if (threads > 1 && n0 + n0 + n0 >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_unknown_length_nest0_part, .b = b, .s = s, .steps = n0, .grain = 1024, .portions = 0, .stream = n0*4 >= 16777216 && (uintptr_t)b[2] % 64 == (uintptr_t)b[2] % 64 && (uintptr_t)b[2] % 4 == 0}, threads); else k_unknown_length_nest0(b, s, 0, n0, n0*4 >= 16777216 && (uintptr_t)b[2] % 64 == (uintptr_t)b[2] % 64 && (uintptr_t)b[2] % 4 == 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
