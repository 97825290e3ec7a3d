#include "vector_math.h"
#include "runtime.h"
static void k_sum_of_rows_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a0 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_1 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_2 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_3 = SPLAT(f32v, 0x0.0p+0f);
    {
      int64_t i1 = 0;
      for (; i1 + 4*LANES <= INT64_C(133); i1 += 4*LANES) {
        {
          const f32v v1 = f32_load(p0 + i1 + INT64_C(133)*i0);
          a0 = (a0 + v1);
        }
        {
          const int64_t i1_1 = i1 + 1*LANES;
          const f32v v1 = f32_load(p0 + i1_1 + INT64_C(133)*i0);
          a0_1 = (a0_1 + v1);
        }
        {
          const int64_t i1_2 = i1 + 2*LANES;
          const f32v v1 = f32_load(p0 + i1_2 + INT64_C(133)*i0);
          a0_2 = (a0_2 + v1);
        }
        {
          const int64_t i1_3 = i1 + 3*LANES;
          const f32v v1 = f32_load(p0 + i1_3 + INT64_C(133)*i0);
          a0_3 = (a0_3 + v1);
        }
      }
      for (; i1 + LANES <= INT64_C(133); i1 += LANES) {
        const f32v v1 = f32_load(p0 + i1 + INT64_C(133)*i0);
        a0 = (a0 + v1);
      }
      if (i1 < INT64_C(133)) {
        const int i1_rest = (int)(INT64_C(133) - i1);
        const f32v v1 = f32_load_part(p0 + i1 + INT64_C(133)*i0, i1_rest);
        a0 = (a0 + f32_select(lanes_below(i1_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
    const f32v v2 = SPLAT(f32v, f32_sum((((a0 + a0_1) + a0_2) + a0_3)));
    f32_store_part(p1 + i0, v2, 1);
  }
}
static void k_sum_of_rows_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_sum_of_rows_nest0(nest->b, nest->s, begin, end, 0);
}
int k_sum_of_rows(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(665) + INT64_C(5) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_sum_of_rows_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 1, .portions = 0}, threads); else k_sum_of_rows_nest0(b, s, 0, INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
