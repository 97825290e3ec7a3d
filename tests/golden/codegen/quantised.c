#include "vector_math.h"
#include "runtime.h"
static void k_quantised_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  int8_t *p1 = (int8_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.0000000000000p+4f));
      const f32v v2 = f32_rint(v1);
      const i32v v3 = i32_from_f32(v2);
      const i32v v4 = i32_minimum(v3, SPLAT(i32v, INT64_C(127)));
      const i32v v5 = i32_maximum(v4, SPLAT(i32v, INT64_C(-128)));
      const i8v v6 = i8_from_i32(v5);
      i8_store(p1 + i0, v6);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.0000000000000p+4f));
      const f32v v2 = f32_rint(v1);
      const i32v v3 = i32_from_f32(v2);
      const i32v v4 = i32_minimum(v3, SPLAT(i32v, INT64_C(127)));
      const i32v v5 = i32_maximum(v4, SPLAT(i32v, INT64_C(-128)));
      const i8v v6 = i8_from_i32(v5);
      i8_store_part(p1 + i0, v6, i0_rest);
    }
  }
}
int k_quantised(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_quantised_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
