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
          const f32v v8 = f32_load_part(p0 + i1 + INT64_C(53)*i0, i1_rest);
          a0 = f32_max_so_far(a0, f32_select(lanes_below(i1_rest), v8, SPLAT(f32v, -__builtin_inff())));
          const f32v v9 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(53), i1_rest);
          a1 = f32_max_so_far(a1, f32_select(lanes_below(i1_rest), v9, SPLAT(f32v, -__builtin_inff())));
          const f32v v10 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(106), i1_rest);
          a2 = f32_max_so_far(a2, f32_select(lanes_below(i1_rest), v10, SPLAT(f32v, -__builtin_inff())));
          const f32v v11 = f32_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(159), i1_rest);
          a3 = f32_max_so_far(a3, f32_select(lanes_below(i1_rest), v11, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v12 = SPLAT(f32v, f32_max(a0));
      const f32v v13 = SPLAT(f32v, f32_max(a1));
      const f32v v14 = SPLAT(f32v, f32_max(a2));
      const f32v v15 = SPLAT(f32v, f32_max(a3));
      f32_store_part(p1 + i0, v12, 1);
      f32_store_part(p1 + i0 + INT64_C(1), v13, 1);
      f32_store_part(p1 + i0 + INT64_C(2), v14, 1);
      f32_store_part(p1 + i0 + INT64_C(3), v15, 1);
      f32v a16 = SPLAT(f32v, __builtin_inff());
      f32v a17 = SPLAT(f32v, __builtin_inff());
      f32v a18 = SPLAT(f32v, __builtin_inff());
      f32v a19 = SPLAT(f32v, __builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(53); i2 += LANES) {
          const f32v v20 = f32_load(p0 + INT64_C(53)*i0 + i2);
          a16 = f32_minimum(a16, v20);
          const f32v v21 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(53));
          a17 = f32_minimum(a17, v21);
          const f32v v22 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(106));
          a18 = f32_minimum(a18, v22);
          const f32v v23 = f32_load(p0 + INT64_C(53)*i0 + i2 + INT64_C(159));
          a19 = f32_minimum(a19, v23);
        }
        if (i2 < INT64_C(53)) {
          const int i2_rest = (int)(INT64_C(53) - i2);
          const f32v v24 = f32_load_part(p0 + INT64_C(53)*i0 + i2, i2_rest);
          a16 = f32_minimum(a16, f32_select(lanes_below(i2_rest), v24, SPLAT(f32v, __builtin_inff())));
          const f32v v25 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(53), i2_rest);
          a17 = f32_minimum(a17, f32_select(lanes_below(i2_rest), v25, SPLAT(f32v, __builtin_inff())));
          const f32v v26 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(106), i2_rest);
          a18 = f32_minimum(a18, f32_select(lanes_below(i2_rest), v26, SPLAT(f32v, __builtin_inff())));
          const f32v v27 = f32_load_part(p0 + INT64_C(53)*i0 + i2 + INT64_C(159), i2_rest);
          a19 = f32_minimum(a19, f32_select(lanes_below(i2_rest), v27, SPLAT(f32v, __builtin_inff())));
        }
      }
      const f32v v28 = SPLAT(f32v, f32_min(a16));
      const f32v v29 = SPLAT(f32v, f32_min(a17));
      const f32v v30 = SPLAT(f32v, f32_min(a18));
      const f32v v31 = SPLAT(f32v, f32_min(a19));
      f32_store_part(p2 + i0, v28, 1);
      f32_store_part(p2 + i0 + INT64_C(1), v29, 1);
      f32_store_part(p2 + i0 + INT64_C(2), v30, 1);
      f32_store_part(p2 + i0 + INT64_C(3), v31, 1);
      f32v a32 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a33 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a34 = SPLAT(f32v, 0x1.0000000000000p+0f);
      f32v a35 = SPLAT(f32v, 0x1.0000000000000p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(53); i3 += LANES) {
          const f32v v36 = f32_load(p0 + INT64_C(53)*i0 + i3);
          a32 = (a32 * v36);
          const f32v v37 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(53));
          a33 = (a33 * v37);
          const f32v v38 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(106));
          a34 = (a34 * v38);
          const f32v v39 = f32_load(p0 + INT64_C(53)*i0 + i3 + INT64_C(159));
          a35 = (a35 * v39);
        }
        if (i3 < INT64_C(53)) {
          const int i3_rest = (int)(INT64_C(53) - i3);
          const f32v v40 = f32_load_part(p0 + INT64_C(53)*i0 + i3, i3_rest);
          a32 = (a32 * f32_select(lanes_below(i3_rest), v40, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v41 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(53), i3_rest);
          a33 = (a33 * f32_select(lanes_below(i3_rest), v41, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v42 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(106), i3_rest);
          a34 = (a34 * f32_select(lanes_below(i3_rest), v42, SPLAT(f32v, 0x1.0000000000000p+0f)));
          const f32v v43 = f32_load_part(p0 + INT64_C(53)*i0 + i3 + INT64_C(159), i3_rest);
          a35 = (a35 * f32_select(lanes_below(i3_rest), v43, SPLAT(f32v, 0x1.0000000000000p+0f)));
        }
      }
      const f32v v44 = SPLAT(f32v, f32_prod(a32));
      const f32v v45 = SPLAT(f32v, f32_prod(a33));
      const f32v v46 = SPLAT(f32v, f32_prod(a34));
      const f32v v47 = SPLAT(f32v, f32_prod(a35));
      f32_store_part(p3 + i0, v44, 1);
      f32_store_part(p3 + i0 + INT64_C(1), v45, 1);
      f32_store_part(p3 + i0 + INT64_C(2), v46, 1);
      f32_store_part(p3 + i0 + INT64_C(3), v47, 1);
    }
    for (; i0 < end; i0++) {
      f32v a48 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(53); i4 += LANES) {
          const f32v v49 = f32_load(p0 + i4 + INT64_C(53)*i0);
          a48 = f32_max_so_far(a48, v49);
        }
        if (i4 < INT64_C(53)) {
          const int i4_rest = (int)(INT64_C(53) - i4);
          const f32v v50 = f32_load_part(p0 + i4 + INT64_C(53)*i0, i4_rest);
          a48 = f32_max_so_far(a48, f32_select(lanes_below(i4_rest), v50, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v51 = SPLAT(f32v, f32_max(a48));
      f32_store_part(p1 + i0, v51, 1);
      f32v a52 = SPLAT(f32v, __builtin_inff());
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(53); i5 += LANES) {
          const f32v v53 = f32_load(p0 + INT64_C(53)*i0 + i5);
          a52 = f32_minimum(a52, v53);
        }
        if (i5 < INT64_C(53)) {
          const int i5_rest = (int)(INT64_C(53) - i5);
          const f32v v54 = f32_load_part(p0 + INT64_C(53)*i0 + i5, i5_rest);
          a52 = f32_minimum(a52, f32_select(lanes_below(i5_rest), v54, SPLAT(f32v, __builtin_inff())));
        }
      }
      const f32v v55 = SPLAT(f32v, f32_min(a52));
      f32_store_part(p2 + i0, v55, 1);
      f32v a56 = SPLAT(f32v, 0x1.0000000000000p+0f);
      {
        int64_t i6 = 0;
        for (; i6 + LANES <= INT64_C(53); i6 += LANES) {
          const f32v v57 = f32_load(p0 + INT64_C(53)*i0 + i6);
          a56 = (a56 * v57);
        }
        if (i6 < INT64_C(53)) {
          const int i6_rest = (int)(INT64_C(53) - i6);
          const f32v v58 = f32_load_part(p0 + INT64_C(53)*i0 + i6, i6_rest);
          a56 = (a56 * f32_select(lanes_below(i6_rest), v58, SPLAT(f32v, 0x1.0000000000000p+0f)));
        }
      }
      const f32v v59 = SPLAT(f32v, f32_prod(a56));
      f32_store_part(p3 + i0, v59, 1);
    }
  }
}
int k_extremes_and_product(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_extremes_and_product_nest0(b, s, INT64_C(0), INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
