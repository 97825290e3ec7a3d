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
      f32v a1 = SPLAT(f32v, -__builtin_inff());
      f32v a2 = SPLAT(f32v, -__builtin_inff());
      f32v a3 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(53); i1 += LANES) {
          const f32v v4 = f32_load(p0 + i1 + INT64_C(53)*i0);
          a0 = f32_max_so_far(a0, v4);
          const f32v v5 = f32_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(53));
          a1 = f32_max_so_far(a1, v5);
          const f32v v6 = f32_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(106));
          a2 = f32_max_so_far(a2, v6);
          const f32v v7 = f32_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(159));
          a3 = f32_max_so_far(a3, v7);
        }
        if (i1 < INT64_C(53)) {
          const int i1_rest = (int)(INT64_C(53) - i1);
          const f32v v4 = f32_load_part(p0 + i1 + INT64_C(53)*i0, i1_rest);
          a0 = f32_max_so_far(a0, f32_select(lanes_below(i1_rest), v4, SPLAT(f32v, -__builtin_inff())));
          const f32v v5 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(53), i1_rest);
          a1 = f32_max_so_far(a1, f32_select(lanes_below(i1_rest), v5, SPLAT(f32v, -__builtin_inff())));
          const f32v v6 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(106), i1_rest);
          a2 = f32_max_so_far(a2, f32_select(lanes_below(i1_rest), v6, SPLAT(f32v, -__builtin_inff())));
          const f32v v7 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(159), i1_rest);
          a3 = f32_max_so_far(a3, f32_select(lanes_below(i1_rest), v7, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_max(a0));
      const f32v v9 = SPLAT(f32v, f32_max(a1));
      const f32v v10 = SPLAT(f32v, f32_max(a2));
      const f32v v11 = SPLAT(f32v, f32_max(a3));
      f32_store_part(p1 + i0, v8, 1);
      f32_store_part(p1 + i0 + INT64_C(1), v9, 1);
      f32_store_part(p1 + i0 + INT64_C(2), v10, 1);
      f32_store_part(p1 + i0 + INT64_C(3), v11, 1);
      f32v a12 = SPLAT(f32v, __builtin_inff());
      f32v a13 = SPLAT(f32v, __builtin_inff());
      f32v a14 = SPLAT(f32v, __builtin_inff());
      f32v a15 = SPLAT(f32v, __builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(53); i2 += LANES) {
          const f32v v16 = f32_load(p0 + INT64_C(53)*i0 + i2);
          a12 = f32_minimum(a12, v16);
          const f32v v17 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(53));
          a13 = f32_minimum(a13, v17);
          const f32v v18 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(106));
          a14 = f32_minimum(a14, v18);
          const f32v v19 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(159));
          a15 = f32_minimum(a15, v19);
        }
        if (i2 < INT64_C(53)) {
          const int i2_rest = (int)(INT64_C(53) - i2);
          const f32v v16 = f32_load_part(p0 + INT64_C(53)*i0 + i2, i2_rest);
          a12 = f32_minimum(a12, f32_select(lanes_below(i2_rest), v16, SPLAT(f32v, __builtin_inff())));
          const f32v v17 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(53), i2_rest);
          a13 = f32_minimum(a13, f32_select(lanes_below(i2_rest), v17, SPLAT(f32v, __builtin_inff())));
          const f32v v18 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(106), i2_rest);
          a14 = f32_minimum(a14, f32_select(lanes_below(i2_rest), v18, SPLAT(f32v, __builtin_inff())));
          const f32v v19 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(159), i2_rest);
          a15 = f32_minimum(a15, f32_select(lanes_below(i2_rest), v19, SPLAT(f32v, __builtin_inff())));
        }
      }
      const f32v v20 = SPLAT(f32v, f32_min(a12));
      const f32v v21 = SPLAT(f32v, f32_min(a13));
      const f32v v22 = SPLAT(f32v, f32_min(a14));
      const f32v v23 = SPLAT(f32v, f32_min(a15));
      f32_store_part(p2 + i0, v20, 1);
      f32_store_part(p2 + i0 + INT64_C(1), v21, 1);
      f32_store_part(p2 + i0 + INT64_C(2), v22, 1);
      f32_store_part(p2 + i0 + INT64_C(3), v23, 1);
      f32v a24 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a25 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a26 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a27 = SPLAT(f32v, 0x1.0000000000000p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(53); i3 += LANES) {
          const f32v v28 = f32_load(p0 + INT64_C(53)*i0 + i3);
          a24 = (a24 * v28);
          const f32v v29 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(53));
          a25 = (a25 * v29);
          const f32v v30 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(106));
          a26 = (a26 * v30);
          const f32v v31 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(159));
          a27 = (a27 * v31);
        }
        if (i3 < INT64_C(53)) {
          const int i3_rest = (int)(INT64_C(53) - i3);
          const f32v v28 = f32_load_part(p0 + INT64_C(53)*i0 + i3, i3_rest);
          a24 = (a24 * f32_select(lanes_below(i3_rest), v28, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v29 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(53), i3_rest);
          a25 = (a25 * f32_select(lanes_below(i3_rest), v29, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v30 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(106), i3_rest);
          a26 = (a26 * f32_select(lanes_below(i3_rest), v30, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v31 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(159), i3_rest);
          a27 = (a27 * f32_select(lanes_below(i3_rest), v31, SPLAT(f32v, 0x1.0000000000000p+0f)));
        }
      }
      const f32v v32 = SPLAT(f32v, f32_prod(a24));
      const f32v v33 = SPLAT(f32v, f32_prod(a25));
      const f32v v34 = SPLAT(f32v, f32_prod(a26));
      const f32v v35 = SPLAT(f32v, f32_prod(a27));
      f32_store_part(p3 + i0, v32, 1);
      f32_store_part(p3 + i0 + INT64_C(1), v33, 1);
      f32_store_part(p3 + i0 + INT64_C(2), v34, 1);
      f32_store_part(p3 + i0 + INT64_C(3), v35, 1);
    }
    for (; i0 < end; i0++) {
      f32v a36 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(53); i4 += LANES) {
          const f32v v37 = f32_load(p0 + i4 + INT64_C(53)*i0);
          a36 = f32_max_so_far(a36, v37);
        }
        if (i4 < INT64_C(53)) {
          const int i4_rest = (int)(INT64_C(53) - i4);
          const f32v v37 = f32_load_part(p0 + i4 + INT64_C(53)*i0, i4_rest);
          a36 = f32_max_so_far(a36, f32_select(lanes_below(i4_rest), v37, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v38 = SPLAT(f32v, f32_max(a36));
      f32_store_part(p1 + i0, v38, 1);
      f32v a39 = SPLAT(f32v, __builtin_inff());
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(53); i5 += LANES) {
          const f32v v40 = f32_load(p0 + INT64_C(53)*i0 + i5);
          a39 = f32_minimum(a39, v40);
        }
        if (i5 < INT64_C(53)) {
          const int i5_rest = (int)(INT64_C(53) - i5);
          const f32v v40 = f32_load_part(p0 + INT64_C(53)*i0 + i5, i5_rest);
          a39 = f32_minimum(a39, f32_select(lanes_below(i5_rest), v40, SPLAT(f32v, __builtin_inff())));
        }
      }
      const f32v v41 = SPLAT(f32v, f32_min(a39));
      f32_store_part(p2 + i0, v41, 1);
      f32v a42 = SPLAT(f32v, 0x1.0000000000000p+0f);
      {
        int64_t i6 = 0;
        for (; i6 + LANES <= INT64_C(53); i6 += LANES) {
          const f32v v43 = f32_load(p0 + INT64_C(53)*i0 + i6);
          a42 = (a42 * v43);
        }
        if (i6 < INT64_C(53)) {
          const int i6_rest = (int)(INT64_C(53) - i6);
          const f32v v43 = f32_load_part(p0 + INT64_C(53)*i0 + i6, i6_rest);
          a42 = (a42 * f32_select(lanes_below(i6_rest), v43, SPLAT(f32v, 0x1.0000000000000p+0f)));
        }
      }
      const f32v v44 = SPLAT(f32v, f32_prod(a42));
      f32_store_part(p3 + i0, v44, 1);
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
