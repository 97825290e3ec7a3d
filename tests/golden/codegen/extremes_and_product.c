#include "vector_math.h"
#include "runtime.h"
static void k_extremes_and_product_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r1 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r2 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r3 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(53); i1 += LANES) {
          const f32v v1 = f32_load(p0 + i1 + INT64_C(53)*i0);
          a0 = f32_max_so_far(a0, v1);
          const f32v v1_r1 = f32_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(53));
          a0_r1 = f32_max_so_far(a0_r1, v1_r1);
          const f32v v1_r2 = f32_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(106));
          a0_r2 = f32_max_so_far(a0_r2, v1_r2);
          const f32v v1_r3 = f32_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(159));
          a0_r3 = f32_max_so_far(a0_r3, v1_r3);
        }
        if (i1 < INT64_C(53)) {
          const int i1_rest = (int)(INT64_C(53) - i1);
          const f32v v1 = f32_load_part(p0 + i1 + INT64_C(53)*i0, i1_rest);
          a0 = f32_max_so_far(a0, f32_select(lanes_below(i1_rest), v1, SPLAT(f32v, -__builtin_inff())));
          const f32v v1_r1 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(53), i1_rest);
          a0_r1 = f32_max_so_far(a0_r1, f32_select(lanes_below(i1_rest), v1_r1, SPLAT(f32v, -__builtin_inff())));
          const f32v v1_r2 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(106), i1_rest);
          a0_r2 = f32_max_so_far(a0_r2, f32_select(lanes_below(i1_rest), v1_r2, SPLAT(f32v, -__builtin_inff())));
          const f32v v1_r3 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(159), i1_rest);
          a0_r3 = f32_max_so_far(a0_r3, f32_select(lanes_below(i1_rest), v1_r3, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_max(a0));
      const f32v v2_r1 = SPLAT(f32v, f32_max(a0_r1));
      const f32v v2_r2 = SPLAT(f32v, f32_max(a0_r2));
      const f32v v2_r3 = SPLAT(f32v, f32_max(a0_r3));
      f32_store_part(p1 + i0, v2, 1);
      f32_store_part(p1 + i0 + INT64_C(1), v2_r1, 1);
      f32_store_part(p1 + i0 + INT64_C(2), v2_r2, 1);
      f32_store_part(p1 + i0 + INT64_C(3), v2_r3, 1);
      f32v a3 = SPLAT(f32v, __builtin_inff());
      f32v a3_r1 = SPLAT(f32v, __builtin_inff());
      f32v a3_r2 = SPLAT(f32v, __builtin_inff());
      f32v a3_r3 = SPLAT(f32v, __builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(53); i2 += LANES) {
          const f32v v4 = f32_load(p0 + INT64_C(53)*i0 + i2);
          a3 = f32_minimum(a3, v4);
          const f32v v4_r1 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(53));
          a3_r1 = f32_minimum(a3_r1, v4_r1);
          const f32v v4_r2 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(106));
          a3_r2 = f32_minimum(a3_r2, v4_r2);
          const f32v v4_r3 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(159));
          a3_r3 = f32_minimum(a3_r3, v4_r3);
        }
        if (i2 < INT64_C(53)) {
          const int i2_rest = (int)(INT64_C(53) - i2);
          const f32v v4 = f32_load_part(p0 + INT64_C(53)*i0 + i2, i2_rest);
          a3 = f32_minimum(a3, f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, __builtin_inff())));
          const f32v v4_r1 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(53), i2_rest);
          a3_r1 = f32_minimum(a3_r1, f32_select(lanes_below(i2_rest), v4_r1, SPLAT(f32v, __builtin_inff())));
          const f32v v4_r2 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(106), i2_rest);
          a3_r2 = f32_minimum(a3_r2, f32_select(lanes_below(i2_rest), v4_r2, SPLAT(f32v, __builtin_inff())));
          const f32v v4_r3 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(159), i2_rest);
          a3_r3 = f32_minimum(a3_r3, f32_select(lanes_below(i2_rest), v4_r3, SPLAT(f32v, __builtin_inff())));
        }
      }
      const f32v v5 = SPLAT(f32v, f32_min(a3));
      const f32v v5_r1 = SPLAT(f32v, f32_min(a3_r1));
      const f32v v5_r2 = SPLAT(f32v, f32_min(a3_r2));
      const f32v v5_r3 = SPLAT(f32v, f32_min(a3_r3));
      f32_store_part(p2 + i0, v5, 1);
      f32_store_part(p2 + i0 + INT64_C(1), v5_r1, 1);
      f32_store_part(p2 + i0 + INT64_C(2), v5_r2, 1);
      f32_store_part(p2 + i0 + INT64_C(3), v5_r3, 1);
      f32v a6 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a6_r1 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a6_r2 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a6_r3 = SPLAT(f32v, 0x1.0000000000000p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(53); i3 += LANES) {
          const f32v v7 = f32_load(p0 + INT64_C(53)*i0 + i3);
          a6 = (a6 * v7);
          const f32v v7_r1 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(53));
          a6_r1 = (a6_r1 * v7_r1);
          const f32v v7_r2 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(106));
          a6_r2 = (a6_r2 * v7_r2);
          const f32v v7_r3 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(159));
          a6_r3 = (a6_r3 * v7_r3);
        }
        if (i3 < INT64_C(53)) {
          const int i3_rest = (int)(INT64_C(53) - i3);
          const f32v v7 = f32_load_part(p0 + INT64_C(53)*i0 + i3, i3_rest);
          a6 = (a6 * f32_select(lanes_below(i3_rest), v7, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v7_r1 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(53), i3_rest);
          a6_r1 = (a6_r1 * f32_select(lanes_below(i3_rest), v7_r1, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v7_r2 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(106), i3_rest);
          a6_r2 = (a6_r2 * f32_select(lanes_below(i3_rest), v7_r2, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v7_r3 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(159), i3_rest);
          a6_r3 = (a6_r3 * f32_select(lanes_below(i3_rest), v7_r3, SPLAT(f32v, 0x1.0000000000000p+0f)));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_prod(a6));
      const f32v v8_r1 = SPLAT(f32v, f32_prod(a6_r1));
      const f32v v8_r2 = SPLAT(f32v, f32_prod(a6_r2));
      const f32v v8_r3 = SPLAT(f32v, f32_prod(a6_r3));
      f32_store_part(p3 + i0, v8, 1);
      f32_store_part(p3 + i0 + INT64_C(1), v8_r1, 1);
      f32_store_part(p3 + i0 + INT64_C(2), v8_r2, 1);
      f32_store_part(p3 + i0 + INT64_C(3), v8_r3, 1);
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(53); i1 += LANES) {
          const f32v v1 = f32_load(p0 + i1 + INT64_C(53)*i0);
          a0 = f32_max_so_far(a0, v1);
        }
        if (i1 < INT64_C(53)) {
          const int i1_rest = (int)(INT64_C(53) - i1);
          const f32v v1 = f32_load_part(p0 + i1 + INT64_C(53)*i0, i1_rest);
          a0 = f32_max_so_far(a0, f32_select(lanes_below(i1_rest), v1, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_max(a0));
      f32_store_part(p1 + i0, v2, 1);
      f32v a3 = SPLAT(f32v, __builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(53); i2 += LANES) {
          const f32v v4 = f32_load(p0 + INT64_C(53)*i0 + i2);
          a3 = f32_minimum(a3, v4);
        }
        if (i2 < INT64_C(53)) {
          const int i2_rest = (int)(INT64_C(53) - i2);
          const f32v v4 = f32_load_part(p0 + INT64_C(53)*i0 + i2, i2_rest);
          a3 = f32_minimum(a3, f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, __builtin_inff())));
        }
      }
      const f32v v5 = SPLAT(f32v, f32_min(a3));
      f32_store_part(p2 + i0, v5, 1);
      f32v a6 = SPLAT(f32v, 0x1.0000000000000p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(53); i3 += LANES) {
          const f32v v7 = f32_load(p0 + INT64_C(53)*i0 + i3);
          a6 = (a6 * v7);
        }
        if (i3 < INT64_C(53)) {
          const int i3_rest = (int)(INT64_C(53) - i3);
          const f32v v7 = f32_load_part(p0 + INT64_C(53)*i0 + i3, i3_rest);
          a6 = (a6 * f32_select(lanes_below(i3_rest), v7, SPLAT(f32v, 0x1.0000000000000p+0f)));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_prod(a6));
      f32_store_part(p3 + i0, v8, 1);
    }
  }
}
int k_extremes_and_product(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_extremes_and_product_nest0(b, s, 0, INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
