#include "vector_math.h"
#include "runtime.h"
static void k_mixed_floats_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  float *p1 = (float *)b[1];
  uint16_t *p2 = (uint16_t *)b[2];
  float *p3 = (float *)b[3];
  uint16_t *p4 = (uint16_t *)b[4];
  uint16_t *p5 = (uint16_t *)b[5];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f16_load(p0 + i0);
      const f32v v1 = f32_load(p1 + i0);
      const f32v v2 = (v0 + v1);
      const f32v v3 = bf16_load(p2 + i0);
      const f32v v4 = (v2 + v3);
      f32_store(p3 + i0, v4);
      const f32v v5 = f32_round_f16(v4);
      f16_store(p4 + i0, v5);
      const f32v v6 = f32_round_bf16(v4);
      bf16_store(p5 + i0, v6);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f16_load_part(p0 + i0, i0_rest);
      const f32v v1 = f32_load_part(p1 + i0, i0_rest);
      const f32v v2 = (v0 + v1);
      const f32v v3 = bf16_load_part(p2 + i0, i0_rest);
      const f32v v4 = (v2 + v3);
      f32_store_part(p3 + i0, v4, i0_rest);
      const f32v v5 = f32_round_f16(v4);
      f16_store_part(p4 + i0, v5, i0_rest);
      const f32v v6 = f32_round_bf16(v4);
      bf16_store_part(p5 + i0, v6, i0_rest);
    }
  }
}
int k_mixed_floats(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_mixed_floats_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
