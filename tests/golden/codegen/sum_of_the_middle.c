#include "vector_math.h"
#include "runtime.h"
static void k_sum_of_the_middle_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(19); i1 += LANES) {
        f32v a0 = SPLAT(f32v, 0x0.0p+0f);
        for (int64_t i2 = 0; i2 < INT64_C(7); i2++) {
          fetch(p0 + INT64_C(19)*i2 + INT64_C(133)*i0 + i1 + INT64_C(931));
          const f32v v1 = f32_load(p0 + INT64_C(19)*i2 + INT64_C(133)*i0 + i1);
          a0 = (a0 + v1);
        }
        f32_store(p1 + INT64_C(19)*i0 + i1, a0);
      }
      if (i1 < INT64_C(19)) {
        const int i1_rest = (int)(INT64_C(19) - i1);
        f32v a0 = SPLAT(f32v, 0x0.0p+0f);
        for (int64_t i2 = 0; i2 < INT64_C(7); i2++) {
          const f32v v1 = f32_load_part(p0 + INT64_C(19)*i2 + INT64_C(133)*i0 + i1, i1_rest);
          a0 = (a0 + v1);
        }
        f32_store_part(p1 + INT64_C(19)*i0 + i1, a0, i1_rest);
      }
    }
  }
}
static void k_sum_of_the_middle_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_sum_of_the_middle_nest0(nest->b, nest->s, begin, end, 0);
}
int k_sum_of_the_middle(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(399) + INT64_C(57) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_sum_of_the_middle_nest0_part, .b = b, .s = s, .steps = INT64_C(3), .grain = 1, .portions = 0}, threads); else k_sum_of_the_middle_nest0(b, s, 0, INT64_C(3), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
