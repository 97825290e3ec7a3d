#include "vector_math.h"
#include "runtime.h"
static void k_reshaped_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.0000000000000p+0f));
      f32_store(p2 + i0, v1);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.0000000000000p+0f));
      f32_store_part(p2 + i0, v1, i0_rest);
    }
  }
}
static void k_reshaped_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p2 + i0);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.0000000000000p+1f));
      f32_store(p1 + i0, v1);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p2 + i0, i0_rest);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.0000000000000p+1f));
      f32_store_part(p1 + i0, v1, i0_rest);
    }
  }
}
int k_reshaped(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[3];
  memcpy(all, b, 2*sizeof(void *));
  b = all;
  memset(all + 2, 0, sizeof(all) - 2*sizeof(void *));
  all[2] = aligned_alloc(64, (INT64_C(120)*4 + 127) & ~INT64_C(63));
  if (!all[2]) {
    missing = 1;
    goto done;
  }
  k_reshaped_nest0(b, s, 0, INT64_C(120), 0);
  k_reshaped_nest1(b, s, 0, INT64_C(120), 0);
  free(all[2]);
  all[2] = 0;
  goto done;
  done:
  free(all[2]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
