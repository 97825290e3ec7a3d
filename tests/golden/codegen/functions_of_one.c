#include "vector_math.h"
#include "runtime.h"
static void k_functions_of_one_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = f32_abs(v0);
      const f32v v2 = (v1 + SPLAT(f32v, 0x1.0000000000000p-1f));
      const f32v v3 = f32_sqrt(v2);
      const f32v v4 = f32_rsqrt(v2);
      const f32v v5 = (v3 + v4);
      const f32v v6 = f32_log(v2);
      const f32v v7 = f32_log1p(v2);
      const f32v v8 = (v6 + v7);
      const f32v v9 = (v5 + v8);
      const f32v v10 = f32_sin(v0);
      const f32v v11 = f32_cos(v0);
      const f32v v12 = (v10 + v11);
      const f32v v13 = f32_expm1(v0);
      const f32v v14 = (v12 + v13);
      const f32v v15 = (v9 + v14);
      f32_store(p1 + i0, v15);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = f32_abs(v0);
      const f32v v2 = (v1 + SPLAT(f32v, 0x1.0000000000000p-1f));
      const f32v v3 = f32_sqrt(v2);
      const f32v v4 = f32_rsqrt(v2);
      const f32v v5 = (v3 + v4);
      const f32v v6 = f32_log(v2);
      const f32v v7 = f32_log1p(v2);
      const f32v v8 = (v6 + v7);
      const f32v v9 = (v5 + v8);
      const f32v v10 = f32_sin(v0);
      const f32v v11 = f32_cos(v0);
      const f32v v12 = (v10 + v11);
      const f32v v13 = f32_expm1(v0);
      const f32v v14 = (v12 + v13);
      const f32v v15 = (v9 + v14);
      f32_store_part(p1 + i0, v15, i0_rest);
    }
  }
}
int k_functions_of_one(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_functions_of_one_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
