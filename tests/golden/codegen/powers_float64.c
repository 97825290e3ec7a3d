#include "vector_math.h"
#include "runtime.h"
static void k_powers_float64_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  double *p0 = (double *)b[0];
  double *p1 = (double *)b[1];
  double *p2 = (double *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f64v v0 = f64_load(p0 + i0);
      const f64v v1 = f64_abs(v0);
      const f64v v2 = f64_load(p1 + i0);
      const f64v v3 = f64_pow(v1, v2);
      const f64v v4 = f64_abs(v2);
      const f64v v5 = (v4 + SPLAT(f64v, 0x1.0000000000000p+0));
      const f64v v6 = f64_fmod(v0, v5);
      const f64v v7 = (v3 + v6);
      f64_store(p2 + i0, v7);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f64v v0 = f64_load_part(p0 + i0, i0_rest);
      const f64v v1 = f64_abs(v0);
      const f64v v2 = f64_load_part(p1 + i0, i0_rest);
      const f64v v3 = f64_pow(v1, v2);
      const f64v v4 = f64_abs(v2);
      const f64v v5 = (v4 + SPLAT(f64v, 0x1.0000000000000p+0));
      const f64v v6 = f64_fmod(v0, v5);
      const f64v v7 = (v3 + v6);
      f64_store_part(p2 + i0, v7, i0_rest);
    }
  }
}
int k_powers_float64(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_powers_float64_nest0(b, s, 0, INT64_C(19), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
