#include "vector_math.h"
#include "runtime.h"
static void k_integer_arithmetic_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  int32_t *p0 = (int32_t *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  int32_t *p2 = (int32_t *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const i32v v0 = i32_load(p0 + i0);
      const i32v v1 = i32_load(p1 + i0);
      const i32v v2 = (v0 * v1);
      const i32v v3 = (v0 & v1);
      const i32v v4 = (v2 + v3);
      const i32v v5 = i32_abs(v1);
      const i32v v6 = (v5 + SPLAT(i32v, INT64_C(1)));
      const i32v v7 = i32_floordiv(v4, v6);
      i32_store(p2 + i0, v7);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const i32v v0 = i32_load_part(p0 + i0, i0_rest);
      const i32v v1 = i32_load_part(p1 + i0, i0_rest);
      const i32v v2 = (v0 * v1);
      const i32v v3 = (v0 & v1);
      const i32v v4 = (v2 + v3);
      const i32v v5 = i32_abs(v1);
      const i32v v6 = (v5 + SPLAT(i32v, INT64_C(1)));
      const i32v v7 = i32_floordiv(v4, v6);
      i32_store_part(p2 + i0, v7, i0_rest);
    }
  }
}
int k_integer_arithmetic(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_integer_arithmetic_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
