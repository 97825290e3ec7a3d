#include "vector_math.h"
#include "runtime.h"
static void k_layer_norm_gradients_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  float *p4 = (float *)b[4];
  float *p5 = (float *)b[5];
  float *c0 = (float *)rows;
  for (int64_t i = 0; i < INT64_C(50); i++) {
    c0[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
  float *c1 = (float *)(rows + ((INT64_C(50)*4 + 63) & ~INT64_C(63)));
  for (int64_t i = 0; i < INT64_C(50); i++) {
    c1[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(50); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(50)*i0);
          const f32v v2 = f32_load(p2 + i2);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
          const f32v v1_r1 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v3_r1 = (v1_r1 * v2);
          a0_r1 = (a0_r1 + v3_r1);
          const f32v v1_r2 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v3_r2 = (v1_r2 * v2);
          a0_r2 = (a0_r2 + v3_r2);
          const f32v v1_r3 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v3_r3 = (v1_r3 * v2);
          a0_r3 = (a0_r3 + v3_r3);
        }
        if (i2 < INT64_C(50)) {
          const int i2_rest = (int)(INT64_C(50) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          const f32v v2 = f32_load_part(p2 + i2, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(50), i2_rest);
          const f32v v3_r1 = (v1_r1 * v2);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i2_rest), v3_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(100), i2_rest);
          const f32v v3_r2 = (v1_r2 * v2);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i2_rest), v3_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(150), i2_rest);
          const f32v v3_r3 = (v1_r3 * v2);
          a0_r3 = (a0_r3 + f32_select(lanes_below(i2_rest), v3_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v4 = SPLAT(f32v, f32_sum(a0));
      const f32v v4_r1 = SPLAT(f32v, f32_sum(a0_r1));
      const f32v v4_r2 = SPLAT(f32v, f32_sum(a0_r2));
      const f32v v4_r3 = SPLAT(f32v, f32_sum(a0_r3));
      f32v a5 = SPLAT(f32v, 0x0.0p+0f);
      f32v a5_r1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a5_r2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a5_r3 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v10 = f32_one(p3 + i0);
      const f32v v12 = f32_one(p4 + i0);
      const f32v v10_r1 = f32_one(p3 + i0 + INT64_C(1));
      const f32v v12_r1 = f32_one(p4 + i0 + INT64_C(1));
      const f32v v10_r2 = f32_one(p3 + i0 + INT64_C(2));
      const f32v v12_r2 = f32_one(p4 + i0 + INT64_C(2));
      const f32v v10_r3 = f32_one(p3 + i0 + INT64_C(3));
      const f32v v12_r3 = f32_one(p4 + i0 + INT64_C(3));
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v6 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v7 = f32_load(p2 + i3);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_load(p1 + i3 + INT64_C(50)*i0);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + v14);
          const f32v v6_r1 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v8_r1 = (v6_r1 * v7);
          const f32v v9_r1 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v11_r1 = (v9_r1 - v10_r1);
          const f32v v13_r1 = (v11_r1 * v12_r1);
          const f32v v14_r1 = (v8_r1 * v13_r1);
          a5_r1 = (a5_r1 + v14_r1);
          const f32v v6_r2 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v8_r2 = (v6_r2 * v7);
          const f32v v9_r2 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v11_r2 = (v9_r2 - v10_r2);
          const f32v v13_r2 = (v11_r2 * v12_r2);
          const f32v v14_r2 = (v8_r2 * v13_r2);
          a5_r2 = (a5_r2 + v14_r2);
          const f32v v6_r3 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v8_r3 = (v6_r3 * v7);
          const f32v v9_r3 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v11_r3 = (v9_r3 - v10_r3);
          const f32v v13_r3 = (v11_r3 * v12_r3);
          const f32v v14_r3 = (v8_r3 * v13_r3);
          a5_r3 = (a5_r3 + v14_r3);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v6 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v7 = f32_load_part(p2 + i3, i3_rest);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_load_part(p1 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + f32_select(lanes_below(i3_rest), v14, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6_r1 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v8_r1 = (v6_r1 * v7);
          const f32v v9_r1 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v11_r1 = (v9_r1 - v10_r1);
          const f32v v13_r1 = (v11_r1 * v12_r1);
          const f32v v14_r1 = (v8_r1 * v13_r1);
          a5_r1 = (a5_r1 + f32_select(lanes_below(i3_rest), v14_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6_r2 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v8_r2 = (v6_r2 * v7);
          const f32v v9_r2 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v11_r2 = (v9_r2 - v10_r2);
          const f32v v13_r2 = (v11_r2 * v12_r2);
          const f32v v14_r2 = (v8_r2 * v13_r2);
          a5_r2 = (a5_r2 + f32_select(lanes_below(i3_rest), v14_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6_r3 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v8_r3 = (v6_r3 * v7);
          const f32v v9_r3 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v11_r3 = (v9_r3 - v10_r3);
          const f32v v13_r3 = (v11_r3 * v12_r3);
          const f32v v14_r3 = (v8_r3 * v13_r3);
          a5_r3 = (a5_r3 + f32_select(lanes_below(i3_rest), v14_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v15 = SPLAT(f32v, f32_sum(a5));
      const f32v v15_r1 = SPLAT(f32v, f32_sum(a5_r1));
      const f32v v15_r2 = SPLAT(f32v, f32_sum(a5_r2));
      const f32v v15_r3 = SPLAT(f32v, f32_sum(a5_r3));
      const f32v v25 = (v4 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v27 = (v15 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v25_r1 = (v4_r1 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v27_r1 = (v15_r1 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v25_r2 = (v4_r2 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v27_r2 = (v15_r2 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v25_r3 = (v4_r3 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v27_r3 = (v15_r3 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v16 = f32_load(p0 + INT64_C(50)*i0 + i1);
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v17 = f32_load(p1 + INT64_C(50)*i0 + i1);
          const f32v v19 = (v17 - v10);
          const f32v v21 = (v19 * v12);
          const f32v v22 = (v16 * v21);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v16_r1 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(50));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v17_r1 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(50));
          const f32v v19_r1 = (v17_r1 - v10_r1);
          const f32v v21_r1 = (v19_r1 * v12_r1);
          const f32v v22_r1 = (v16_r1 * v21_r1);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v16_r2 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(100));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v17_r2 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(100));
          const f32v v19_r2 = (v17_r2 - v10_r2);
          const f32v v21_r2 = (v19_r2 * v12_r2);
          const f32v v22_r2 = (v16_r2 * v21_r2);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v16_r3 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(150));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v17_r3 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(150));
          const f32v v19_r3 = (v17_r3 - v10_r3);
          const f32v v21_r3 = (v19_r3 * v12_r3);
          const f32v v22_r3 = (v16_r3 * v21_r3);
          f32_store(c0 + i1, ((((f32_load(c0 + i1) + v22) + v22_r1) + v22_r2) + v22_r3));
          f32_store(c1 + i1, ((((f32_load(c1 + i1) + v16) + v16_r1) + v16_r2) + v16_r3));
          const f32v v23 = f32_load(p2 + i1);
          const f32v v24 = (v16 * v23);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v21 * v27);
          const f32v v29 = (v26 - v28);
          const f32v v30 = (v29 * v12);
          f32_store(p5 + INT64_C(50)*i0 + i1, v30);
          const f32v v24_r1 = (v16_r1 * v23);
          const f32v v26_r1 = (v24_r1 - v25_r1);
          const f32v v28_r1 = (v21_r1 * v27_r1);
          const f32v v29_r1 = (v26_r1 - v28_r1);
          const f32v v30_r1 = (v29_r1 * v12_r1);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(50), v30_r1);
          const f32v v24_r2 = (v16_r2 * v23);
          const f32v v26_r2 = (v24_r2 - v25_r2);
          const f32v v28_r2 = (v21_r2 * v27_r2);
          const f32v v29_r2 = (v26_r2 - v28_r2);
          const f32v v30_r2 = (v29_r2 * v12_r2);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(100), v30_r2);
          const f32v v24_r3 = (v16_r3 * v23);
          const f32v v26_r3 = (v24_r3 - v25_r3);
          const f32v v28_r3 = (v21_r3 * v27_r3);
          const f32v v29_r3 = (v26_r3 - v28_r3);
          const f32v v30_r3 = (v29_r3 * v12_r3);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(150), v30_r3);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v16 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v17 = f32_load_part(p1 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v19 = (v17 - v10);
          const f32v v21 = (v19 * v12);
          const f32v v22 = (v16 * v21);
          const f32v v16_r1 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v17_r1 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v19_r1 = (v17_r1 - v10_r1);
          const f32v v21_r1 = (v19_r1 * v12_r1);
          const f32v v22_r1 = (v16_r1 * v21_r1);
          const f32v v16_r2 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v17_r2 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v19_r2 = (v17_r2 - v10_r2);
          const f32v v21_r2 = (v19_r2 * v12_r2);
          const f32v v22_r2 = (v16_r2 * v21_r2);
          const f32v v16_r3 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v17_r3 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v19_r3 = (v17_r3 - v10_r3);
          const f32v v21_r3 = (v19_r3 * v12_r3);
          const f32v v22_r3 = (v16_r3 * v21_r3);
          f32_store_part(c0 + i1, ((((f32_load_part(c0 + i1, i1_rest) + v22) + v22_r1) + v22_r2) + v22_r3), i1_rest);
          f32_store_part(c1 + i1, ((((f32_load_part(c1 + i1, i1_rest) + v16) + v16_r1) + v16_r2) + v16_r3), i1_rest);
          const f32v v23 = f32_load_part(p2 + i1, i1_rest);
          const f32v v24 = (v16 * v23);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v21 * v27);
          const f32v v29 = (v26 - v28);
          const f32v v30 = (v29 * v12);
          f32_store_part(p5 + INT64_C(50)*i0 + i1, v30, i1_rest);
          const f32v v24_r1 = (v16_r1 * v23);
          const f32v v26_r1 = (v24_r1 - v25_r1);
          const f32v v28_r1 = (v21_r1 * v27_r1);
          const f32v v29_r1 = (v26_r1 - v28_r1);
          const f32v v30_r1 = (v29_r1 * v12_r1);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(50), v30_r1, i1_rest);
          const f32v v24_r2 = (v16_r2 * v23);
          const f32v v26_r2 = (v24_r2 - v25_r2);
          const f32v v28_r2 = (v21_r2 * v27_r2);
          const f32v v29_r2 = (v26_r2 - v28_r2);
          const f32v v30_r2 = (v29_r2 * v12_r2);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(100), v30_r2, i1_rest);
          const f32v v24_r3 = (v16_r3 * v23);
          const f32v v26_r3 = (v24_r3 - v25_r3);
          const f32v v28_r3 = (v21_r3 * v27_r3);
          const f32v v29_r3 = (v26_r3 - v28_r3);
          const f32v v30_r3 = (v29_r3 * v12_r3);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(150), v30_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(50); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(50)*i0);
          const f32v v2 = f32_load(p2 + i2);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
        }
        if (i2 < INT64_C(50)) {
          const int i2_rest = (int)(INT64_C(50) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          const f32v v2 = f32_load_part(p2 + i2, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v4 = SPLAT(f32v, f32_sum(a0));
      f32v a5 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v10 = f32_one(p3 + i0);
      const f32v v12 = f32_one(p4 + i0);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v6 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v7 = f32_load(p2 + i3);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_load(p1 + i3 + INT64_C(50)*i0);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + v14);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v6 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v7 = f32_load_part(p2 + i3, i3_rest);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_load_part(p1 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + f32_select(lanes_below(i3_rest), v14, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v15 = SPLAT(f32v, f32_sum(a5));
      const f32v v25 = (v4 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v27 = (v15 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v16 = f32_load(p0 + INT64_C(50)*i0 + i1);
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v17 = f32_load(p1 + INT64_C(50)*i0 + i1);
          const f32v v19 = (v17 - v10);
          const f32v v21 = (v19 * v12);
          const f32v v22 = (v16 * v21);
          f32_store(c0 + i1, (f32_load(c0 + i1) + v22));
          f32_store(c1 + i1, (f32_load(c1 + i1) + v16));
          const f32v v23 = f32_load(p2 + i1);
          const f32v v24 = (v16 * v23);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v21 * v27);
          const f32v v29 = (v26 - v28);
          const f32v v30 = (v29 * v12);
          f32_store(p5 + INT64_C(50)*i0 + i1, v30);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v16 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v17 = f32_load_part(p1 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v19 = (v17 - v10);
          const f32v v21 = (v19 * v12);
          const f32v v22 = (v16 * v21);
          f32_store_part(c0 + i1, (f32_load_part(c0 + i1, i1_rest) + v22), i1_rest);
          f32_store_part(c1 + i1, (f32_load_part(c1 + i1, i1_rest) + v16), i1_rest);
          const f32v v23 = f32_load_part(p2 + i1, i1_rest);
          const f32v v24 = (v16 * v23);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v21 * v27);
          const f32v v29 = (v26 - v28);
          const f32v v30 = (v29 * v12);
          f32_store_part(p5 + INT64_C(50)*i0 + i1, v30, i1_rest);
        }
      }
    }
  }
}
static void k_layer_norm_gradients_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_layer_norm_gradients_nest0(nest->b, nest->s, begin, end, 0, own);
}
static void k_layer_norm_gradients_nest0_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  float *p6 = (float *)b[6];
  float *p7 = (float *)b[7];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(50); i += LANES) {
    const int64_t left = INT64_C(50) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load((float *)rows + i);
    for (int t = 1; t < used; t++) {
      v = (v + f32_load((float *)(rows + t*row_bytes) + i));
    }
    f32_store_part(p6 + i, v, n);
  }
  for (int64_t i = 0; i < INT64_C(50); i += LANES) {
    const int64_t left = INT64_C(50) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load((float *)(rows + ((INT64_C(50)*4 + 63) & ~INT64_C(63))) + i);
    for (int t = 1; t < used; t++) {
      v = (v + f32_load((float *)(rows + t*row_bytes + ((INT64_C(50)*4 + 63) & ~INT64_C(63))) + i));
    }
    f32_store_part(p7 + i, v, n);
  }
}
int k_layer_norm_gradients(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  {
    const int64_t row_bytes = ((INT64_C(50)*4 + 63) & ~INT64_C(63)) + ((INT64_C(50)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(300) + INT64_C(300) + INT64_C(50) + INT64_C(6) + INT64_C(6) + INT64_C(300) + INT64_C(50) + INT64_C(50) >= 524288) used = share_nest(&(struct shared_nest){.run = k_layer_norm_gradients_nest0_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_layer_norm_gradients_nest0(b, s, 0, INT64_C(6), 0, rows);
    k_layer_norm_gradients_nest0_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
