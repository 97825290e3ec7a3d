#include "vector_math.h"
#include "runtime.h"
static void k_op_apply_momentum_float32_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  float *p4 = (float *)b[4];
  float *p5 = (float *)b[5];
  float *p6 = (float *)b[6];
  (void)b; (void)s; (void)begin; (void)end;
  const f32v v1 = f32_one(p2 + 0);
  const f32v v3 = f32_one(p4 + 0);
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v2 = f32_load(p1 + i0);
      const f32v v4 = (v2 * v3);
      const f32v v5 = f32_load(p3 + i0);
      const f32v v6 = (v4 + v5);
      const f32v v7 = (v1 * v6);
      const f32v v8 = (v0 - v7);
      f32_store(p5 + i0, v8);
      f32_store(p6 + i0, v6);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v2 = f32_load_part(p1 + i0, i0_rest);
      const f32v v4 = (v2 * v3);
      const f32v v5 = f32_load_part(p3 + i0, i0_rest);
      const f32v v6 = (v4 + v5);
      const f32v v7 = (v1 * v6);
      const f32v v8 = (v0 - v7);
      f32_store_part(p5 + i0, v8, i0_rest);
      f32_store_part(p6 + i0, v6, i0_rest);
    }
  }
}
int k_op_apply_momentum_float32(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_op_apply_momentum_float32_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
