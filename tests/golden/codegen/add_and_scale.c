#include "vector_math.h"
#include "runtime.h"
static void k_add_and_scale_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = f32_load(p1 + i0);
      const f32v v2 = (v0 + v1);
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.0000000000000p-1f));
      const f32v v4 = f32_above(SPLAT(f32v, -0x1.0000000000000p+0f), v3);
      f32_store(p2 + i0, v4);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = f32_load_part(p1 + i0, i0_rest);
      const f32v v2 = (v0 + v1);
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.0000000000000p-1f));
      const f32v v4 = f32_above(SPLAT(f32v, -0x1.0000000000000p+0f), v3);
      f32_store_part(p2 + i0, v4, i0_rest);
    }
  }
}
int k_add_and_scale(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_add_and_scale_nest0(b, s, 0, INT64_C(114), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
