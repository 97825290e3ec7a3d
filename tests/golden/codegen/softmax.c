#include "vector_math.h"
#include "runtime.h"
static void k_softmax_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row0[67];
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a0 = SPLAT(f32v, -__builtin_inff());
    f32v a0_1 = SPLAT(f32v, -__builtin_inff());
    f32v a0_2 = SPLAT(f32v, -__builtin_inff());
    f32v a0_3 = SPLAT(f32v, -__builtin_inff());
    {
      int64_t i2 = 0;
      for (; i2 + 4*LANES <= INT64_C(67); i2 += 4*LANES) {
        {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(67)*i0);
          a0 = f32_above(v1, a0);
        }
        {
          const int64_t i2_1 = i2 + 1*LANES;
          const f32v v1 = f32_load(p0 + i2_1 + INT64_C(67)*i0);
          a0_1 = f32_above(v1, a0_1);
        }
        {
          const int64_t i2_2 = i2 + 2*LANES;
          const f32v v1 = f32_load(p0 + i2_2 + INT64_C(67)*i0);
          a0_2 = f32_above(v1, a0_2);
        }
        {
          const int64_t i2_3 = i2 + 3*LANES;
          const f32v v1 = f32_load(p0 + i2_3 + INT64_C(67)*i0);
          a0_3 = f32_above(v1, a0_3);
        }
      }
      for (; i2 + LANES <= INT64_C(67); i2 += LANES) {
        const f32v v1 = f32_load(p0 + i2 + INT64_C(67)*i0);
        a0 = f32_above(v1, a0);
      }
      if (i2 < INT64_C(67)) {
        const int i2_rest = (int)(INT64_C(67) - i2);
        const f32v v1 = f32_load_part(p0 + i2 + INT64_C(67)*i0, i2_rest);
        a0 = f32_above(f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())), a0);
      }
    }
    const f32v v2 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a0, a0_1), a0_2), a0_3)));
    f32v a3 = SPLAT(f32v, 0x0.0p+0f);
    f32v a3_1 = SPLAT(f32v, 0x0.0p+0f);
    f32v a3_2 = SPLAT(f32v, 0x0.0p+0f);
    f32v a3_3 = SPLAT(f32v, 0x0.0p+0f);
    {
      int64_t i3 = 0;
      for (; i3 + 4*LANES <= INT64_C(67); i3 += 4*LANES) {
        {
          fetch_of(0, p0 + i3 + INT64_C(67)*i0 + INT64_C(1005));
          const f32v v4 = f32_load(p0 + i3 + INT64_C(67)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3, v6);
          a3 = (a3 + v6);
        }
        {
          const int64_t i3_1 = i3 + 1*LANES;
          fetch_of(1, p0 + i3_1 + INT64_C(67)*i0 + INT64_C(1005));
          const f32v v4 = f32_load(p0 + i3_1 + INT64_C(67)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3_1, v6);
          a3_1 = (a3_1 + v6);
        }
        {
          const int64_t i3_2 = i3 + 2*LANES;
          fetch_of(2, p0 + i3_2 + INT64_C(67)*i0 + INT64_C(1005));
          const f32v v4 = f32_load(p0 + i3_2 + INT64_C(67)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3_2, v6);
          a3_2 = (a3_2 + v6);
        }
        {
          const int64_t i3_3 = i3 + 3*LANES;
          fetch_of(3, p0 + i3_3 + INT64_C(67)*i0 + INT64_C(1005));
          const f32v v4 = f32_load(p0 + i3_3 + INT64_C(67)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3_3, v6);
          a3_3 = (a3_3 + v6);
        }
      }
      for (; i3 + LANES <= INT64_C(67); i3 += LANES) {
        fetch(p0 + i3 + INT64_C(67)*i0 + INT64_C(1005));
        const f32v v4 = f32_load(p0 + i3 + INT64_C(67)*i0);
        const f32v v5 = (v4 - v2);
        const f32v v6 = f32_exp_of_deficit(v5);
        f32_store(row0 + i3, v6);
        a3 = (a3 + v6);
      }
      if (i3 < INT64_C(67)) {
        const int i3_rest = (int)(INT64_C(67) - i3);
        const f32v v4 = f32_load_part(p0 + i3 + INT64_C(67)*i0, i3_rest);
        const f32v v5 = (v4 - v2);
        const f32v v6 = f32_exp_of_deficit(v5);
        f32_store_part(row0 + i3, v6, i3_rest);
        a3 = (a3 + f32_select(lanes_below(i3_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
    const f32v v7 = SPLAT(f32v, f32_sum((((a3 + a3_1) + a3_2) + a3_3)));
    const f32v v11 = f32_rec(v7);
    const int v12 = f32_is_far(v11);
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(67); i1 += LANES) {
        const f32v v10 = f32_load(row0 + i1);
        const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
        f32_store(p1 + INT64_C(67)*i0 + i1, v13);
      }
      if (i1 < INT64_C(67)) {
        const int i1_rest = (int)(INT64_C(67) - i1);
        const f32v v10 = f32_load_part(row0 + i1, i1_rest);
        const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
        f32_store_part(p1 + INT64_C(67)*i0 + i1, v13, i1_rest);
      }
    }
  }
}
static void k_softmax_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_softmax_nest0(nest->b, nest->s, begin, end, 0);
}
int k_softmax(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(335) + INT64_C(335) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_softmax_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 1, .portions = 0}, threads); else k_softmax_nest0(b, s, 0, INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
