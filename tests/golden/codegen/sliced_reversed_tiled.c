#include "vector_math.h"
#include "runtime.h"
static void k_sliced_reversed_tiled_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(7); i1 += LANES) {
        const f32v v0 = f32_gather(p0 + INT64_C(40)*i0 + INT64_C(-3)*i1 + INT64_C(19), INT64_C(-3), LANES);
        f32_store(p1 + INT64_C(14)*i0 + i1, v0);
      }
      if (i1 < INT64_C(7)) {
        const int i1_rest = (int)(INT64_C(7) - i1);
        const f32v v0 = f32_gather(p0 + INT64_C(40)*i0 + INT64_C(-3)*i1 + INT64_C(19), INT64_C(-3), i1_rest);
        f32_store_part(p1 + INT64_C(14)*i0 + i1, v0, i1_rest);
      }
    }
    {
      int64_t i1 = INT64_C(7);
      for (; i1 + LANES <= INT64_C(14); i1 += LANES) {
        const f32v v1 = f32_gather(p0 + INT64_C(40)*i0 + INT64_C(-3)*i1 + INT64_C(40), INT64_C(-3), LANES);
        f32_store(p1 + INT64_C(14)*i0 + i1, v1);
      }
      if (i1 < INT64_C(14)) {
        const int i1_rest = (int)(INT64_C(14) - i1);
        const f32v v1 = f32_gather(p0 + INT64_C(40)*i0 + INT64_C(-3)*i1 + INT64_C(40), INT64_C(-3), i1_rest);
        f32_store_part(p1 + INT64_C(14)*i0 + i1, v1, i1_rest);
      }
    }
  }
}
static void k_sliced_reversed_tiled_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_sliced_reversed_tiled_nest0(nest->b, nest->s, begin, end, 0);
}
int k_sliced_reversed_tiled(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(42) + INT64_C(42) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_sliced_reversed_tiled_nest0_part, .b = b, .s = s, .steps = INT64_C(3), .grain = 1, .portions = 0}, threads); else k_sliced_reversed_tiled_nest0(b, s, 0, INT64_C(3), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
