#include "vector_math.h"
#include "runtime.h"
static void k_attention_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p4 = (float *)b[4];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row35[11];
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(7); i1++) {
      f32v a18 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(11); i4 += LANES) {
          f32v a19 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i5 = 0; i5 < INT64_C(16); i5++) {
            const f32v v20 = f32_one(p0 + i5 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v21 = f32_gather(p1 + i5 + INT64_C(16)*i4 + INT64_C(176)*i0, INT64_C(16), LANES);
            const f32v v22 = (v20 * v21);
            a19 = (a19 + v22);
          }
          const f32v v23 = (a19 * SPLAT(f32v, 0x1.0000000000000p-2f));
          a18 = f32_above(v23, a18);
        }
        if (i4 < INT64_C(11)) {
          const int i4_rest = (int)(INT64_C(11) - i4);
          f32v a19 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i5 = 0; i5 < INT64_C(16); i5++) {
            const f32v v20 = f32_one(p0 + i5 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v21 = f32_gather(p1 + i5 + INT64_C(16)*i4 + INT64_C(176)*i0, INT64_C(16), i4_rest);
            const f32v v22 = (v20 * v21);
            a19 = (a19 + v22);
          }
          const f32v v23 = (a19 * SPLAT(f32v, 0x1.0000000000000p-2f));
          a18 = f32_above(f32_select(lanes_below(i4_rest), v23, SPLAT(f32v, -__builtin_inff())), a18);
        }
      }
      const f32v v24 = SPLAT(f32v, f32_max(a18));
      f32v a27 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i6 = 0;
        for (; i6 + LANES <= INT64_C(11); i6 += LANES) {
          f32v a28 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i7 = 0; i7 < INT64_C(16); i7++) {
            const f32v v29 = f32_one(p0 + i7 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v30 = f32_gather(p1 + i7 + INT64_C(16)*i6 + INT64_C(176)*i0, INT64_C(16), LANES);
            const f32v v31 = (v29 * v30);
            a28 = (a28 + v31);
          }
          const f32v v32 = (a28 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v33 = (v32 - v24);
          const f32v v34 = f32_exp_of_deficit(v33);
          f32_store(row35 + i6, v34);
          a27 = (a27 + v34);
        }
        if (i6 < INT64_C(11)) {
          const int i6_rest = (int)(INT64_C(11) - i6);
          f32v a28 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i7 = 0; i7 < INT64_C(16); i7++) {
            const f32v v29 = f32_one(p0 + i7 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v30 = f32_gather(p1 + i7 + INT64_C(16)*i6 + INT64_C(176)*i0, INT64_C(16), i6_rest);
            const f32v v31 = (v29 * v30);
            a28 = (a28 + v31);
          }
          const f32v v32 = (a28 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v33 = (v32 - v24);
          const f32v v34 = f32_exp_of_deficit(v33);
          f32_store_part(row35 + i6, v34, i6_rest);
          a27 = (a27 + f32_select(lanes_below(i6_rest), v34, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v36 = SPLAT(f32v, f32_sum(a27));
      const f32v v37 = f32_rec(v36);
      const int v38 = f32_is_far(v37);
      {
        int64_t i2 = 0;
        for (; i2 + 4 <= INT64_C(11); i2 += 4) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          f32v a1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a3 = SPLAT(f32v, 0x0.0p+0f);
          {
            int64_t i3 = 0;
            for (; i3 + LANES <= INT64_C(16); i3 += LANES) {
              const f32v v4 = f32_load(p0 + i3 + INT64_C(112)*i0 + INT64_C(16)*i1);
              const f32v v5 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2);
              const f32v v6 = (v4 * v5);
              a0 = (a0 + v6);
              const f32v v7 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(16));
              const f32v v8 = (v4 * v7);
              a1 = (a1 + v8);
              const f32v v9 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(32));
              const f32v v10 = (v4 * v9);
              a2 = (a2 + v10);
              const f32v v11 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(48));
              const f32v v12 = (v4 * v11);
              a3 = (a3 + v12);
            }
            if (i3 < INT64_C(16)) {
              const int i3_rest = (int)(INT64_C(16) - i3);
              const f32v v4 = f32_load_part(p0 + i3 + INT64_C(112)*i0 + INT64_C(16)*i1, i3_rest);
              const f32v v5 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2, i3_rest);
              const f32v v6 = (v4 * v5);
              a0 = (a0 + f32_select(lanes_below(i3_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v7 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(16), i3_rest);
              const f32v v8 = (v4 * v7);
              a1 = (a1 + f32_select(lanes_below(i3_rest), v8, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v9 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(32), i3_rest);
              const f32v v10 = (v4 * v9);
              a2 = (a2 + f32_select(lanes_below(i3_rest), v10, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v11 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(48), i3_rest);
              const f32v v12 = (v4 * v11);
              a3 = (a3 + f32_select(lanes_below(i3_rest), v12, SPLAT(f32v, 0x0.0p+0f)));
            }
          }
          const f32v v13 = SPLAT(f32v, f32_sum(a0));
          const f32v v14 = SPLAT(f32v, f32_sum(a1));
          const f32v v15 = SPLAT(f32v, f32_sum(a2));
          const f32v v16 = SPLAT(f32v, f32_sum(a3));
          const f32v v17 = (v13 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v25 = (v17 - v24);
          const f32v v26 = f32_exp_of_deficit(v25);
          const f32v v39 = f32_nearly_over(v26, v36, v37, v38);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2, v39, 1);
          const f32v v40 = (v14 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v41 = (v40 - v24);
          const f32v v42 = f32_exp_of_deficit(v41);
          const f32v v43 = f32_nearly_over(v42, v36, v37, v38);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(1), v43, 1);
          const f32v v44 = (v15 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v45 = (v44 - v24);
          const f32v v46 = f32_exp_of_deficit(v45);
          const f32v v47 = f32_nearly_over(v46, v36, v37, v38);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(2), v47, 1);
          const f32v v48 = (v16 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v49 = (v48 - v24);
          const f32v v50 = f32_exp_of_deficit(v49);
          const f32v v51 = f32_nearly_over(v50, v36, v37, v38);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(3), v51, 1);
        }
        for (; i2 < INT64_C(11); i2++) {
          f32v a52 = SPLAT(f32v, 0x0.0p+0f);
          {
            int64_t i8 = 0;
            for (; i8 + LANES <= INT64_C(16); i8 += LANES) {
              const f32v v53 = f32_load(p0 + i8 + INT64_C(112)*i0 + INT64_C(16)*i1);
              const f32v v54 = f32_load(p1 + i8 + INT64_C(176)*i0 + INT64_C(16)*i2);
              const f32v v55 = (v53 * v54);
              a52 = (a52 + v55);
            }
            if (i8 < INT64_C(16)) {
              const int i8_rest = (int)(INT64_C(16) - i8);
              const f32v v53 = f32_load_part(p0 + i8 + INT64_C(112)*i0 + INT64_C(16)*i1, i8_rest);
              const f32v v54 = f32_load_part(p1 + i8 + INT64_C(176)*i0 + INT64_C(16)*i2, i8_rest);
              const f32v v55 = (v53 * v54);
              a52 = (a52 + f32_select(lanes_below(i8_rest), v55, SPLAT(f32v, 0x0.0p+0f)));
            }
          }
          const f32v v56 = SPLAT(f32v, f32_sum(a52));
          const f32v v57 = (v56 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v58 = (v57 - v24);
          const f32v v59 = f32_exp_of_deficit(v58);
          const f32v v60 = f32_nearly_over(v59, v36, v37, v38);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2, v60, 1);
        }
      }
    }
  }
}
static void k_attention_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  float *p4 = (float *)b[4];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    {
      int64_t i1 = 0;
      for (; i1 + 4 <= INT64_C(7); i1 += 4) {
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(16); i2 += LANES) {
            f32v a0 = SPLAT(f32v, 0x0.0p+0f);
            f32v a1 = SPLAT(f32v, 0x0.0p+0f);
            f32v a2 = SPLAT(f32v, 0x0.0p+0f);
            f32v a3 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i3 = 0; i3 < INT64_C(11); i3++) {
              const f32v v4 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v5 = f32_load(p2 + INT64_C(16)*i3 + INT64_C(176)*i0 + i2);
              const f32v v6 = (v4 * v5);
              a0 = (a0 + v6);
              const f32v v7 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(11));
              const f32v v8 = (v7 * v5);
              a1 = (a1 + v8);
              const f32v v9 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(22));
              const f32v v10 = (v9 * v5);
              a2 = (a2 + v10);
              const f32v v11 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(33));
              const f32v v12 = (v11 * v5);
              a3 = (a3 + v12);
            }
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a0);
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(16), a1);
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(32), a2);
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(48), a3);
          }
          if (i2 < INT64_C(16)) {
            const int i2_rest = (int)(INT64_C(16) - i2);
            f32v a0 = SPLAT(f32v, 0x0.0p+0f);
            f32v a1 = SPLAT(f32v, 0x0.0p+0f);
            f32v a2 = SPLAT(f32v, 0x0.0p+0f);
            f32v a3 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i3 = 0; i3 < INT64_C(11); i3++) {
              const f32v v4 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v5 = f32_load_part(p2 + INT64_C(16)*i3 + INT64_C(176)*i0 + i2, i2_rest);
              const f32v v6 = (v4 * v5);
              a0 = (a0 + v6);
              const f32v v7 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(11));
              const f32v v8 = (v7 * v5);
              a1 = (a1 + v8);
              const f32v v9 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(22));
              const f32v v10 = (v9 * v5);
              a2 = (a2 + v10);
              const f32v v11 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(33));
              const f32v v12 = (v11 * v5);
              a3 = (a3 + v12);
            }
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a0, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(16), a1, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(32), a2, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(48), a3, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(7); i1++) {
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(16); i2 += LANES) {
            f32v a13 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i4 = 0; i4 < INT64_C(11); i4++) {
              const f32v v14 = f32_one(p4 + i4 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v15 = f32_load(p2 + INT64_C(16)*i4 + INT64_C(176)*i0 + i2);
              const f32v v16 = (v14 * v15);
              a13 = (a13 + v16);
            }
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a13);
          }
          if (i2 < INT64_C(16)) {
            const int i2_rest = (int)(INT64_C(16) - i2);
            f32v a13 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i4 = 0; i4 < INT64_C(11); i4++) {
              const f32v v14 = f32_one(p4 + i4 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v15 = f32_load_part(p2 + INT64_C(16)*i4 + INT64_C(176)*i0 + i2, i2_rest);
              const f32v v16 = (v14 * v15);
              a13 = (a13 + v16);
            }
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a13, i2_rest);
          }
        }
      }
    }
  }
}
int k_attention(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[5];
  memcpy(all, b, 4*sizeof(void *));
  b = all;
  memset(all + 4, 0, sizeof(all) - 4*sizeof(void *));
  all[4] = aligned_alloc(64, (INT64_C(154)*4 + 127) & ~INT64_C(63));
  if (!all[4]) {
    missing = 1;
    goto done;
  }
  k_attention_nest0(b, s, 0, INT64_C(2), 0);
  k_attention_nest1(b, s, 0, INT64_C(2), 0);
  free(all[4]);
  all[4] = 0;
  goto done;
  done:
  free(all[4]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
