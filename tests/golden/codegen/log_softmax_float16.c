#include "vector_math.h"
#include "runtime.h"
static void k_log_softmax_float16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a0 = SPLAT(f32v, -__builtin_inff());
    f32v a1 = SPLAT(f32v, -__builtin_inff());
    f32v a2 = SPLAT(f32v, -__builtin_inff());
    f32v a3 = SPLAT(f32v, -__builtin_inff());
    {
      int64_t i2 = 0;
      for (; i2 + 4*LANES <= INT64_C(45); i2 += 4*LANES) {
        {
          const f32v v4 = f16_load(p0 + i2 + INT64_C(45)*i0);
          a0 = f32_above(v4, a0);
        }
        {
          const int64_t i2_1 = i2 + 1*LANES;
          const f32v v4 = f16_load(p0 + i2_1 + INT64_C(45)*i0);
          a1 = f32_above(v4, a1);
        }
        {
          const int64_t i2_2 = i2 + 2*LANES;
          const f32v v4 = f16_load(p0 + i2_2 + INT64_C(45)*i0);
          a2 = f32_above(v4, a2);
        }
        {
          const int64_t i2_3 = i2 + 3*LANES;
          const f32v v4 = f16_load(p0 + i2_3 + INT64_C(45)*i0);
          a3 = f32_above(v4, a3);
        }
      }
      for (; i2 + LANES <= INT64_C(45); i2 += LANES) {
        const f32v v4 = f16_load(p0 + i2 + INT64_C(45)*i0);
        a0 = f32_above(v4, a0);
      }
      if (i2 < INT64_C(45)) {
        const int i2_rest = (int)(INT64_C(45) - i2);
        const f32v v4 = f16_load_part(p0 + i2 + INT64_C(45)*i0, i2_rest);
        a0 = f32_above(f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, -__builtin_inff())), a0);
      }
    }
    const f32v v5 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a0, a1), a2), a3)));
    f32v a6 = SPLAT(f32v, 0x0.0p+0f);
    f32v a7 = SPLAT(f32v, 0x0.0p+0f);
    f32v a8 = SPLAT(f32v, 0x0.0p+0f);
    f32v a9 = SPLAT(f32v, 0x0.0p+0f);
    {
      int64_t i3 = 0;
      for (; i3 + 4*LANES <= INT64_C(45); i3 += 4*LANES) {
        {
          const f32v v10 = f16_load(p0 + i3 + INT64_C(45)*i0);
          const f32v v11 = (v10 - v5);
          const f32v v12 = f32_exp_of_deficit(v11);
          a6 = (a6 + v12);
        }
        {
          const int64_t i3_1 = i3 + 1*LANES;
          const f32v v10 = f16_load(p0 + i3_1 + INT64_C(45)*i0);
          const f32v v11 = (v10 - v5);
          const f32v v12 = f32_exp_of_deficit(v11);
          a7 = (a7 + v12);
        }
        {
          const int64_t i3_2 = i3 + 2*LANES;
          const f32v v10 = f16_load(p0 + i3_2 + INT64_C(45)*i0);
          const f32v v11 = (v10 - v5);
          const f32v v12 = f32_exp_of_deficit(v11);
          a8 = (a8 + v12);
        }
        {
          const int64_t i3_3 = i3 + 3*LANES;
          const f32v v10 = f16_load(p0 + i3_3 + INT64_C(45)*i0);
          const f32v v11 = (v10 - v5);
          const f32v v12 = f32_exp_of_deficit(v11);
          a9 = (a9 + v12);
        }
      }
      for (; i3 + LANES <= INT64_C(45); i3 += LANES) {
        const f32v v10 = f16_load(p0 + i3 + INT64_C(45)*i0);
        const f32v v11 = (v10 - v5);
        const f32v v12 = f32_exp_of_deficit(v11);
        a6 = (a6 + v12);
      }
      if (i3 < INT64_C(45)) {
        const int i3_rest = (int)(INT64_C(45) - i3);
        const f32v v10 = f16_load_part(p0 + i3 + INT64_C(45)*i0, i3_rest);
        const f32v v11 = (v10 - v5);
        const f32v v12 = f32_exp_of_deficit(v11);
        a6 = (a6 + f32_select(lanes_below(i3_rest), v12, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
    const f32v v13 = SPLAT(f32v, f32_sum((((a6 + a7) + a8) + a9)));
    const f32v v16 = f32_log(v13);
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(45); i1 += LANES) {
        fetch(p0 + INT64_C(45)*i0 + i1 + INT64_C(2025));
        const f32v v14 = f16_load(p0 + INT64_C(45)*i0 + i1);
        const f32v v15 = (v14 - v5);
        const f32v v17 = (v15 - v16);
        f16_store(p1 + INT64_C(45)*i0 + i1, v17);
      }
      if (i1 < INT64_C(45)) {
        const int i1_rest = (int)(INT64_C(45) - i1);
        const f32v v14 = f16_load_part(p0 + INT64_C(45)*i0 + i1, i1_rest);
        const f32v v15 = (v14 - v5);
        const f32v v17 = (v15 - v16);
        f16_store_part(p1 + INT64_C(45)*i0 + i1, v17, i1_rest);
      }
    }
  }
}
static void k_log_softmax_float16_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_log_softmax_float16_nest0(nest->b, nest->s, begin, end, 0);
}
int k_log_softmax_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(135) + INT64_C(135) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_log_softmax_float16_nest0_part, .b = b, .s = s, .steps = INT64_C(3), .grain = 1, .portions = 0}, threads); else k_log_softmax_float16_nest0(b, s, 0, INT64_C(3), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
