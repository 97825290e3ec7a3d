#include "vector_math.h"
#include "runtime.h"
static void k_attention_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p4 = (float *)b[4];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(7); i1++) {
      f32v a6 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(11); i4 += LANES) {
          f32v a7 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i5 = 0; i5 < INT64_C(16); i5++) {
            const f32v v8 = f32_one(p0 + i5 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v9 = f32_gather(p1 + i5 + INT64_C(16)*i4 + INT64_C(176)*i0, INT64_C(16), LANES);
            const f32v v10 = (v8 * v9);
            a7 = (a7 + v10);
          }
          const f32v v11 = (a7 * SPLAT(f32v, 0x1.0000000000000p-2f));
          a6 = f32_above(v11, a6);
        }
        if (i4 < INT64_C(11)) {
          const int i4_rest = (int)(INT64_C(11) - i4);
          f32v a7 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i5 = 0; i5 < INT64_C(16); i5++) {
            const f32v v8 = f32_one(p0 + i5 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v9 = f32_gather(p1 + i5 + INT64_C(16)*i4 + INT64_C(176)*i0, INT64_C(16), i4_rest);
            const f32v v10 = (v8 * v9);
            a7 = (a7 + v10);
          }
          const f32v v11 = (a7 * SPLAT(f32v, 0x1.0000000000000p-2f));
          a6 = f32_above(f32_select(lanes_below(i4_rest), v11, SPLAT(f32v, -__builtin_inff())), a6);
        }
      }
      const f32v v12 = SPLAT(f32v, f32_max(a6));
      f32v a15 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i6 = 0;
        for (; i6 + LANES <= INT64_C(11); i6 += LANES) {
          f32v a16 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i7 = 0; i7 < INT64_C(16); i7++) {
            const f32v v17 = f32_one(p0 + i7 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v18 = f32_gather(p1 + i7 + INT64_C(16)*i6 + INT64_C(176)*i0, INT64_C(16), LANES);
            const f32v v19 = (v17 * v18);
            a16 = (a16 + v19);
          }
          const f32v v20 = (a16 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v21 = (v20 - v12);
          const f32v v22 = f32_exp_of_deficit(v21);
          a15 = (a15 + v22);
        }
        if (i6 < INT64_C(11)) {
          const int i6_rest = (int)(INT64_C(11) - i6);
          f32v a16 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i7 = 0; i7 < INT64_C(16); i7++) {
            const f32v v17 = f32_one(p0 + i7 + INT64_C(112)*i0 + INT64_C(16)*i1);
            const f32v v18 = f32_gather(p1 + i7 + INT64_C(16)*i6 + INT64_C(176)*i0, INT64_C(16), i6_rest);
            const f32v v19 = (v17 * v18);
            a16 = (a16 + v19);
          }
          const f32v v20 = (a16 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v21 = (v20 - v12);
          const f32v v22 = f32_exp_of_deficit(v21);
          a15 = (a15 + f32_select(lanes_below(i6_rest), v22, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v23 = SPLAT(f32v, f32_sum(a15));
      const f32v v24 = f32_rec(v23);
      const int v25 = f32_is_far(v24);
      {
        int64_t i2 = 0;
        for (; i2 + 4 <= INT64_C(11); i2 += 4) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
          {
            int64_t i3 = 0;
            for (; i3 + LANES <= INT64_C(16); i3 += LANES) {
              const f32v v1 = f32_load(p0 + i3 + INT64_C(112)*i0 + INT64_C(16)*i1);
              const f32v v2 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + v3);
              const f32v v2_r1 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(16));
              const f32v v3_r1 = (v1 * v2_r1);
              a0_r1 = (a0_r1 + v3_r1);
              const f32v v2_r2 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(32));
              const f32v v3_r2 = (v1 * v2_r2);
              a0_r2 = (a0_r2 + v3_r2);
              const f32v v2_r3 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(48));
              const f32v v3_r3 = (v1 * v2_r3);
              a0_r3 = (a0_r3 + v3_r3);
            }
            if (i3 < INT64_C(16)) {
              const int i3_rest = (int)(INT64_C(16) - i3);
              const f32v v1 = f32_load_part(p0 + i3 + INT64_C(112)*i0 + INT64_C(16)*i1, i3_rest);
              const f32v v2 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2, i3_rest);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + f32_select(lanes_below(i3_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v2_r1 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(16), i3_rest);
              const f32v v3_r1 = (v1 * v2_r1);
              a0_r1 = (a0_r1 + f32_select(lanes_below(i3_rest), v3_r1, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v2_r2 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(32), i3_rest);
              const f32v v3_r2 = (v1 * v2_r2);
              a0_r2 = (a0_r2 + f32_select(lanes_below(i3_rest), v3_r2, SPLAT(f32v, 0x0.0p+0f)));
              const f32v v2_r3 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2 + INT64_C(48), i3_rest);
              const f32v v3_r3 = (v1 * v2_r3);
              a0_r3 = (a0_r3 + f32_select(lanes_below(i3_rest), v3_r3, SPLAT(f32v, 0x0.0p+0f)));
            }
          }
          const f32v v4 = SPLAT(f32v, f32_sum(a0));
          const f32v v4_r1 = SPLAT(f32v, f32_sum(a0_r1));
          const f32v v4_r2 = SPLAT(f32v, f32_sum(a0_r2));
          const f32v v4_r3 = SPLAT(f32v, f32_sum(a0_r3));
          const f32v v5 = (v4 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v13 = (v5 - v12);
          const f32v v14 = f32_exp_of_deficit(v13);
          const f32v v26 = f32_nearly_over(v14, v23, v24, v25);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2, v26, 1);
          const f32v v5_r1 = (v4_r1 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v13_r1 = (v5_r1 - v12);
          const f32v v14_r1 = f32_exp_of_deficit(v13_r1);
          const f32v v26_r1 = f32_nearly_over(v14_r1, v23, v24, v25);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(1), v26_r1, 1);
          const f32v v5_r2 = (v4_r2 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v13_r2 = (v5_r2 - v12);
          const f32v v14_r2 = f32_exp_of_deficit(v13_r2);
          const f32v v26_r2 = f32_nearly_over(v14_r2, v23, v24, v25);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(2), v26_r2, 1);
          const f32v v5_r3 = (v4_r3 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v13_r3 = (v5_r3 - v12);
          const f32v v14_r3 = f32_exp_of_deficit(v13_r3);
          const f32v v26_r3 = f32_nearly_over(v14_r3, v23, v24, v25);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2 + INT64_C(3), v26_r3, 1);
        }
        for (; i2 < INT64_C(11); i2++) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          {
            int64_t i3 = 0;
            for (; i3 + LANES <= INT64_C(16); i3 += LANES) {
              const f32v v1 = f32_load(p0 + i3 + INT64_C(112)*i0 + INT64_C(16)*i1);
              const f32v v2 = f32_load(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + v3);
            }
            if (i3 < INT64_C(16)) {
              const int i3_rest = (int)(INT64_C(16) - i3);
              const f32v v1 = f32_load_part(p0 + i3 + INT64_C(112)*i0 + INT64_C(16)*i1, i3_rest);
              const f32v v2 = f32_load_part(p1 + i3 + INT64_C(176)*i0 + INT64_C(16)*i2, i3_rest);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + f32_select(lanes_below(i3_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
            }
          }
          const f32v v4 = SPLAT(f32v, f32_sum(a0));
          const f32v v5 = (v4 * SPLAT(f32v, 0x1.0000000000000p-2f));
          const f32v v13 = (v5 - v12);
          const f32v v14 = f32_exp_of_deficit(v13);
          const f32v v26 = f32_nearly_over(v14, v23, v24, v25);
          f32_store_part(p4 + INT64_C(77)*i0 + INT64_C(11)*i1 + i2, v26, 1);
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
            f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
            f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
            f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i3 = 0; i3 < INT64_C(11); i3++) {
              const f32v v1 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v2 = f32_load(p2 + INT64_C(16)*i3 + INT64_C(176)*i0 + i2);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + v3);
              const f32v v1_r1 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(11));
              const f32v v3_r1 = (v1_r1 * v2);
              a0_r1 = (a0_r1 + v3_r1);
              const f32v v1_r2 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(22));
              const f32v v3_r2 = (v1_r2 * v2);
              a0_r2 = (a0_r2 + v3_r2);
              const f32v v1_r3 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(33));
              const f32v v3_r3 = (v1_r3 * v2);
              a0_r3 = (a0_r3 + v3_r3);
            }
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a0);
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(16), a0_r1);
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(32), a0_r2);
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(48), a0_r3);
          }
          if (i2 < INT64_C(16)) {
            const int i2_rest = (int)(INT64_C(16) - i2);
            f32v a0 = SPLAT(f32v, 0x0.0p+0f);
            f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
            f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
            f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i3 = 0; i3 < INT64_C(11); i3++) {
              const f32v v1 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v2 = f32_load_part(p2 + INT64_C(16)*i3 + INT64_C(176)*i0 + i2, i2_rest);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + v3);
              const f32v v1_r1 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(11));
              const f32v v3_r1 = (v1_r1 * v2);
              a0_r1 = (a0_r1 + v3_r1);
              const f32v v1_r2 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(22));
              const f32v v3_r2 = (v1_r2 * v2);
              a0_r2 = (a0_r2 + v3_r2);
              const f32v v1_r3 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1 + INT64_C(33));
              const f32v v3_r3 = (v1_r3 * v2);
              a0_r3 = (a0_r3 + v3_r3);
            }
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a0, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(16), a0_r1, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(32), a0_r2, i2_rest);
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2 + INT64_C(48), a0_r3, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(7); i1++) {
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(16); i2 += LANES) {
            f32v a0 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i3 = 0; i3 < INT64_C(11); i3++) {
              const f32v v1 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v2 = f32_load(p2 + INT64_C(16)*i3 + INT64_C(176)*i0 + i2);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + v3);
            }
            f32_store(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a0);
          }
          if (i2 < INT64_C(16)) {
            const int i2_rest = (int)(INT64_C(16) - i2);
            f32v a0 = SPLAT(f32v, 0x0.0p+0f);
            for (int64_t i3 = 0; i3 < INT64_C(11); i3++) {
              const f32v v1 = f32_one(p4 + i3 + INT64_C(77)*i0 + INT64_C(11)*i1);
              const f32v v2 = f32_load_part(p2 + INT64_C(16)*i3 + INT64_C(176)*i0 + i2, i2_rest);
              const f32v v3 = (v1 * v2);
              a0 = (a0 + v3);
            }
            f32_store_part(p3 + INT64_C(112)*i0 + INT64_C(16)*i1 + i2, a0, i2_rest);
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
