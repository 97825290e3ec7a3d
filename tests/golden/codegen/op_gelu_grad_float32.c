#include "vector_math.h"
#include "runtime.h"
static void k_op_gelu_grad_float32_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = f32_load(p1 + i0);
      const f32v v2 = (v1 * v1);
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.6e4e26d4801f7p-5f));
      const f32v v4 = (v3 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v5 = (v1 * v4);
      const f32v v6 = (v5 * SPLAT(f32v, -0x1.9884533d43651p+0f));
      const f32v v7 = f32_exp(v6);
      const f32v v8 = (v7 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v9 = f32_rec(v8);
      const f32v v10 = (v1 * v9);
      const f32v v11 = (-v9);
      const f32v v12 = (v11 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v13 = (v2 * SPLAT(f32v, 0x1.12ba9d1f60179p-3f));
      const f32v v14 = (v13 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v15 = (v14 * SPLAT(f32v, 0x1.9884533d43651p+0f));
      const f32v v16 = (v12 * v15);
      const f32v v17 = (v10 * v16);
      const f32v v18 = (v9 + v17);
      const f32v v19 = (v0 * v18);
      f32_store(p2 + i0, v19);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = f32_load_part(p1 + i0, i0_rest);
      const f32v v2 = (v1 * v1);
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.6e4e26d4801f7p-5f));
      const f32v v4 = (v3 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v5 = (v1 * v4);
      const f32v v6 = (v5 * SPLAT(f32v, -0x1.9884533d43651p+0f));
      const f32v v7 = f32_exp(v6);
      const f32v v8 = (v7 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v9 = f32_rec(v8);
      const f32v v10 = (v1 * v9);
      const f32v v11 = (-v9);
      const f32v v12 = (v11 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v13 = (v2 * SPLAT(f32v, 0x1.12ba9d1f60179p-3f));
      const f32v v14 = (v13 + SPLAT(f32v, 0x1.0000000000000p+0f));
      const f32v v15 = (v14 * SPLAT(f32v, 0x1.9884533d43651p+0f));
      const f32v v16 = (v12 * v15);
      const f32v v17 = (v10 * v16);
      const f32v v18 = (v9 + v17);
      const f32v v19 = (v0 * v18);
      f32_store_part(p2 + i0, v19, i0_rest);
    }
  }
}
int k_op_gelu_grad_float32(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_op_gelu_grad_float32_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
