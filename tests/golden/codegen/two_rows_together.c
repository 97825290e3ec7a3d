#include "vector_math.h"
#include "runtime.h"
static void k_two_rows_together_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 2 <= end; i0 += 2) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          const f32v v1 = f32_load(p0 + i1 + INT64_C(37)*i0);
          const f32v v2 = f32_exp(v1);
          a0 = (a0 + v2);
          const f32v v1_r1 = f32_load(p0 + i1 + INT64_C(37)*i0 + INT64_C(37));
          const f32v v2_r1 = f32_exp(v1_r1);
          a0_r1 = (a0_r1 + v2_r1);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v1 = f32_load_part(p0 + i1 + INT64_C(37)*i0, i1_rest);
          const f32v v2 = f32_exp(v1);
          a0 = (a0 + f32_select(lanes_below(i1_rest), v2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f32_load_part(p0 + i1 + INT64_C(37)*i0 + INT64_C(37), i1_rest);
          const f32v v2_r1 = f32_exp(v1_r1);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i1_rest), v2_r1, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v3 = SPLAT(f32v, f32_sum(a0));
      const f32v v3_r1 = SPLAT(f32v, f32_sum(a0_r1));
      f32_store_part(p1 + i0, v3, 1);
      f32_store_part(p1 + i0 + INT64_C(1), v3_r1, 1);
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          const f32v v1 = f32_load(p0 + i1 + INT64_C(37)*i0);
          const f32v v2 = f32_exp(v1);
          a0 = (a0 + v2);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v1 = f32_load_part(p0 + i1 + INT64_C(37)*i0, i1_rest);
          const f32v v2 = f32_exp(v1);
          a0 = (a0 + f32_select(lanes_below(i1_rest), v2, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v3 = SPLAT(f32v, f32_sum(a0));
      f32_store_part(p1 + i0, v3, 1);
    }
  }
}
static void k_two_rows_together_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_two_rows_together_nest0(nest->b, nest->s, begin, end, 0);
}
int k_two_rows_together(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(148) + INT64_C(4) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_two_rows_together_nest0_part, .b = b, .s = s, .steps = INT64_C(4), .grain = 2, .portions = 0}, threads); else k_two_rows_together_nest0(b, s, 0, INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
