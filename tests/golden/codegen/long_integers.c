#include "vector_math.h"
#include "runtime.h"
static void k_long_integers_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  int64_t *p0 = (int64_t *)b[0];
  int64_t *p1 = (int64_t *)b[1];
  int64_t *p2 = (int64_t *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const i64v v0 = i64_load(p0 + i0);
      const i64v v1 = i64_load(p1 + i0);
      const i64v v2 = (v0 * v1);
      const i64v v3 = (v0 - v1);
      const i64v v4 = i64_maximum(v2, v3);
      i64_store(p2 + i0, v4);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const i64v v0 = i64_load_part(p0 + i0, i0_rest);
      const i64v v1 = i64_load_part(p1 + i0, i0_rest);
      const i64v v2 = (v0 * v1);
      const i64v v3 = (v0 - v1);
      const i64v v4 = i64_maximum(v2, v3);
      i64_store_part(p2 + i0, v4, i0_rest);
    }
  }
}
int k_long_integers(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_long_integers_nest0(b, s, 0, INT64_C(21), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
