#include "vector_math.h"
#include "runtime.h"
static void k_gelu_by_tanh_float16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f16_load(p0 + i0);
      const f32v v1 = (v0 * v0);
      const f32v v2 = (v1 * v0);
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.6e4e26d4801f7p-5f));
      const f32v v4 = (v0 + v3);
      const f32v v5 = (v4 * SPLAT(f32v, 0x1.9884533d43651p-1f));
      const f32v v6 = f32_tanh(v5);
      const f32v v7 = (v6 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v8 = (v0 * v7);
      const f32v v9 = (v8 * SPLAT(f32v, 0x1.0000000000000p-1f));
      f16_store(p1 + i0, v9);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f16_load_part(p0 + i0, i0_rest);
      const f32v v1 = (v0 * v0);
      const f32v v2 = (v1 * v0);
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.6e4e26d4801f7p-5f));
      const f32v v4 = (v0 + v3);
      const f32v v5 = (v4 * SPLAT(f32v, 0x1.9884533d43651p-1f));
      const f32v v6 = f32_tanh(v5);
      const f32v v7 = (v6 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v8 = (v0 * v7);
      const f32v v9 = (v8 * SPLAT(f32v, 0x1.0000000000000p-1f));
      f16_store_part(p1 + i0, v9, i0_rest);
    }
  }
}
int k_gelu_by_tanh_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_gelu_by_tanh_float16_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
