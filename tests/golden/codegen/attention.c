#include "vector_math.h"
#include "runtime.h"
static void k_attention_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p4 = (float *)b[4];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row49[11];
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(7); i1++) {
      f32v a27 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(11); i4 += LANES) {
          f32v a28 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i5 = 0; i5 < INT64_C(16); i5++) {
            const f32v v29 = f32_one(p0 + i5 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v30 = f32_gather(p1 + i5 + INT64_C(16)*i4 + INT64_C(176)*i0, INT64_C(16), LANES);
            const f32v v31 = (v29 * v30);
            a28 = (a28 + v31);
          }
          const f32v v32 = (a28 * SPLAT(f32v, 0x1.0000000000000p-2f));
          a27 = f32_above(v32, a27);
        }
        if (i4 < INT64_C(11)) {
          const int i4_rest = (int)(INT64_C(11) - i4);
          f32v a33 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i6 = 0; i6 < INT64_C(16); i6++) {
            const f32v v34 = f32_one(p0 + i6 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v35 = f32_gather(p1 + i6 + INT64_C(16)*i4 + INT64_C(176)*i0, INT64_C(16), i4_rest);
            const f32v v36 = (v34 * v35);
            a33 = (a33 + v36);
          }
          const f32v v37 = (a33 * SPLAT(f32v, 0x1.0000000000000p-2f));
          a27 = f32_above(f32_select(lanes_below(i4_rest), v37, SPLAT(f32v, -__builtin_inff())), a27);
        }
      }
      const f32v v38 = SPLAT(f32v, f32_max(a27));
      f32v a41 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i7 = 0;
        for (; i7 + LANES <= INT64_C(11); i7 += LANES) {
          f32v a42 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i8 = 0; i8 < INT64_C(16); i8++) {
            const f32v v43 = f32_one(p0 + i8 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v44 = f32_gather(p1 + i8 + INT64_C(16)*i7 + INT64_C(176)*i0, INT64_C(16), LANES);
            const f32v v45 = (v43 * v44);
            a42 = (a42 + v45);
          }
          const f32v v46 = (a42 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v47 = (v46 - v38);
          const f32v v48 = f32_exp_of_deficit(v47);
          f32_store(row49 + i7, v48);
          a41 = (a41 + v48);
        }
        if (i7 < INT64_C(11)) {
          const int i7_rest = (int)(INT64_C(11) - i7);
          f32v a50 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i9 = 0; i9 < INT64_C(16); i9++) {
            const f32v v51 = f32_one(p0 + i9 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v52 = f32_gather(p1 + i9 + INT64_C(16)*i7 + INT64_C(176)*i0, INT64_C(16), i7_rest);
            const f32v v53 = (v51 * v52);
            a50 = (a50 + v53);
          }
          const f32v v54 = (a50 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v55 = (v54 - v38);
          const f32v v56 = f32_exp_of_deficit(v55);
          f32_store_part(row49 + i7, v56, i7_rest);
          a41 = (a41 + f32_select(lanes_below(i7_rest), v56, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v57 = SPLAT(f32v, f32_sum(a41));
      const f32v v58 = f32_rec(v57);
      const int v59 = f32_is_far(v58);
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
              const f32v v13 = f32_load_part(p0 + i3 + INT64_C(112)*i0 + INT64_C(16)*i1, i3_rest);
              const f32v v14 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2, i3_rest);
              const f32v v15 = (v13 * v14);
              a0 = (a0 + f32_select(lanes_below(i3_rest), v15, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v16 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(16), i3_rest);
              const f32v v17 = (v13 * v16);
              a1 = (a1 + f32_select(lanes_below(i3_rest), v17, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v18 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(32), i3_rest);
              const f32v v19 = (v13 * v18);
              a2 = (a2 + f32_select(lanes_below(i3_rest), v19, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v20 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(48), i3_rest);
              const f32v v21 = (v13 * v20);
              a3 = (a3 + f32_select(lanes_below(i3_rest), v21, SPLAT(f32v, 0x0.0p+0f)));
            }
          }
          const f32v v22 = SPLAT(f32v, f32_sum(a0));
          const f32v v23 = SPLAT(f32v, f32_sum(a1));
          const f32v v24 = SPLAT(f32v, f32_sum(a2));
          const f32v v25 = SPLAT(f32v, f32_sum(a3));
          const f32v v26 = (v22 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v39 = (v26 - v38);
          const f32v v40 = f32_exp_of_deficit(v39);
          const f32v v60 = f32_nearly_over(v40, v57, v58, v59);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2, v60, 1);
          const f32v v61 = (v23 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v62 = (v61 - v38);
          const f32v v63 = f32_exp_of_deficit(v62);
          const f32v v64 = f32_nearly_over(v63, v57, v58, v59);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(1), v64, 1);
          const f32v v65 = (v24 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v66 = (v65 - v38);
          const f32v v67 = f32_exp_of_deficit(v66);
          const f32v v68 = f32_nearly_over(v67, v57, v58, v59);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(2), v68, 1);
          const f32v v69 = (v25 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v70 = (v69 - v38);
          const f32v v71 = f32_exp_of_deficit(v70);
          const f32v v72 = f32_nearly_over(v71, v57, v58, v59);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(3), v72, 1);
        }
        for (; i2 < INT64_C(11); i2++) {
          f32v a73 = SPLAT(f32v, 0x0.0p+0f);
          {
            int64_t i10 = 0;
            for (; i10 + LANES <= INT64_C(16); i10 += LANES) {
              const f32v v74 = f32_load(p0 + i10 + INT64_C(112)*i0 + INT64_C(16)*i1);
              const f32v v75 = f32_load(p1 + i10 + INT64_C(176)*i0 + INT64_C(16)*i2);
              const f32v v76 = (v74 * v75);
              a73 = (a73 + v76);
            }
            if (i10 < INT64_C(16)) {
              const int i10_rest = (int)(INT64_C(16) - i10);
              const f32v v77 = f32_load_part(p0 + i10 + INT64_C(112)*i0 + INT64_C(16)*i1, i10_rest);
              const f32v v78 = f32_load_part(p1 + i10 + INT64_C(176)*i0 + INT64_C(16)*i2, i10_rest);
              const f32v v79 = (v77 * v78);
              a73 = (a73 + f32_select(lanes_below(i10_rest), v79, SPLAT(f32v, 0x0.0p+0f)));
            }
          }
          const f32v v80 = SPLAT(f32v, f32_sum(a73));
          const f32v v81 = (v80 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v82 = (v81 - v38);
          const f32v v83 = f32_exp_of_deficit(v82);
          const f32v v84 = f32_nearly_over(v83, v57, v58, v59);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2, v84, 1);
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
            f32v a13 = SPLAT(f32v, 0x0.0p+0f);
            f32v a14 = SPLAT(f32v, 0x0.0p+0f);
            f32v a15 = SPLAT(f32v, 0x0.0p+0f);
            f32v a16 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i4 = 0; i4 < INT64_C(11); i4++) {
              const f32v v17 = f32_one(p4 + i4 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v18 = f32_load_part(p2 + INT64_C(16)*i4 + INT64_C(176)*i0 + i2, i2_rest);
              const f32v v19 = (v17 * v18);
              a13 = (a13 + v19);
              const f32v v20 = f32_one(p4 + i4 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(11));
              const f32v v21 = (v20 * v18);
              a14 = (a14 + v21);
              const f32v v22 = f32_one(p4 + i4 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(22));
              const f32v v23 = (v22 * v18);
              a15 = (a15 + v23);
              const f32v v24 = f32_one(p4 + i4 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(33));
              const f32v v25 = (v24 * v18);
              a16 = (a16 + v25);
            }
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a13, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(16), a14, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(32), a15, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(48), a16, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(7); i1++) {
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(16); i2 += LANES) {
            f32v a26 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i5 = 0; i5 < INT64_C(11); i5++) {
              const f32v v27 = f32_one(p4 + i5 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v28 = f32_load(p2 + INT64_C(16)*i5 + INT64_C(176)*i0 + i2);
              const f32v v29 = (v27 * v28);
              a26 = (a26 + v29);
            }
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a26);
          }
          if (i2 < INT64_C(16)) {
            const int i2_rest = (int)(INT64_C(16) - i2);
            f32v a30 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i6 = 0; i6 < INT64_C(11); i6++) {
              const f32v v31 = f32_one(p4 + i6 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v32 = f32_load_part(p2 + INT64_C(16)*i6 + INT64_C(176)*i0 + i2, i2_rest);
              const f32v v33 = (v31 * v32);
              a30 = (a30 + v33);
            }
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a30, i2_rest);
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
  memset(all + 4, 0, sizeof all - 4*sizeof(void *));
  all[4] = aligned_alloc(64, ((INT64_C(154))*4 + 127) & ~INT64_C(63));
  if (!all[4]) { missing = 1; goto done; }
  k_attention_nest0(b, s, INT64_C(0), INT64_C(2), 0);
  k_attention_nest1(b, s, INT64_C(0), INT64_C(2), 0);
  free(all[4]); all[4] = 0;
  goto done;
  done:
  free(all[4]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
