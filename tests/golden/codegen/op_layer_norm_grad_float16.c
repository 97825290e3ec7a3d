#include "vector_math.h"
#include "runtime.h"
static void k_op_layer_norm_grad_float16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p2 = (uint16_t *)b[2];
  float *p8 = (float *)b[8];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f16_load(p2 + i0);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.19799812dea11p-40f));
      const f32v v2 = f32_rsqrt(v1);
      f32_store(p8 + i0, v2);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f16_load_part(p2 + i0, i0_rest);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.19799812dea11p-40f));
      const f32v v2 = f32_rsqrt(v1);
      f32_store_part(p8 + i0, v2, i0_rest);
    }
  }
}
static void k_op_layer_norm_grad_float16_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  uint16_t *p3 = (uint16_t *)b[3];
  uint16_t *p4 = (uint16_t *)b[4];
  uint16_t *p5 = (uint16_t *)b[5];
  float *p8 = (float *)b[8];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row0_r1[34];
  _Alignas(64) float row0_r2[34];
  _Alignas(64) float row0_r3[34];
  _Alignas(64) float row0[34];
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(34); i2 += LANES) {
          const f32v v1 = f16_load(p0 + i2 + INT64_C(34)*i0);
          const f32v v2 = f16_load(p4 + i2);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
          const f32v v1_r1 = f16_load(p0 + i2 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v3_r1 = (v1_r1 * v2);
          a0_r1 = (a0_r1 + v3_r1);
          const f32v v1_r2 = f16_load(p0 + i2 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v3_r2 = (v1_r2 * v2);
          a0_r2 = (a0_r2 + v3_r2);
          const f32v v1_r3 = f16_load(p0 + i2 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v3_r3 = (v1_r3 * v2);
          a0_r3 = (a0_r3 + v3_r3);
        }
        if (i2 < INT64_C(34)) {
          const int i2_rest = (int)(INT64_C(34) - i2);
          const f32v v1 = f16_load_part(p0 + i2 + INT64_C(34)*i0, i2_rest);
          const f32v v2 = f16_load_part(p4 + i2, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(34), i2_rest);
          const f32v v3_r1 = (v1_r1 * v2);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i2_rest), v3_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(68), i2_rest);
          const f32v v3_r2 = (v1_r2 * v2);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i2_rest), v3_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(102), i2_rest);
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
      const f32v v10 = f16_one(p3 + i0);
      const f32v v12 = f32_one(p8 + i0);
      const f32v v10_r1 = f16_one(p3 + i0 + INT64_C(1));
      const f32v v12_r1 = f32_one(p8 + i0 + INT64_C(1));
      const f32v v10_r2 = f16_one(p3 + i0 + INT64_C(2));
      const f32v v12_r2 = f32_one(p8 + i0 + INT64_C(2));
      const f32v v10_r3 = f16_one(p3 + i0 + INT64_C(3));
      const f32v v12_r3 = f32_one(p8 + i0 + INT64_C(3));
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(34); i3 += LANES) {
          const f32v v6 = f16_load(p0 + i3 + INT64_C(34)*i0);
          const f32v v7 = f16_load(p4 + i3);
          const f32v v8 = (v6 * v7);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2040));
          const f32v v9 = f16_load(p1 + i3 + INT64_C(34)*i0);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          f32_store(row0 + i3, v13);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + v14);
          const f32v v6_r1 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v8_r1 = (v6_r1 * v7);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2074));
          const f32v v9_r1 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v11_r1 = (v9_r1 - v10_r1);
          const f32v v13_r1 = (v11_r1 * v12_r1);
          f32_store(row0_r1 + i3, v13_r1);
          const f32v v14_r1 = (v8_r1 * v13_r1);
          a5_r1 = (a5_r1 + v14_r1);
          const f32v v6_r2 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v8_r2 = (v6_r2 * v7);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2108));
          const f32v v9_r2 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v11_r2 = (v9_r2 - v10_r2);
          const f32v v13_r2 = (v11_r2 * v12_r2);
          f32_store(row0_r2 + i3, v13_r2);
          const f32v v14_r2 = (v8_r2 * v13_r2);
          a5_r2 = (a5_r2 + v14_r2);
          const f32v v6_r3 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v8_r3 = (v6_r3 * v7);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2142));
          const f32v v9_r3 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v11_r3 = (v9_r3 - v10_r3);
          const f32v v13_r3 = (v11_r3 * v12_r3);
          f32_store(row0_r3 + i3, v13_r3);
          const f32v v14_r3 = (v8_r3 * v13_r3);
          a5_r3 = (a5_r3 + v14_r3);
        }
        if (i3 < INT64_C(34)) {
          const int i3_rest = (int)(INT64_C(34) - i3);
          const f32v v6 = f16_load_part(p0 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v7 = f16_load_part(p4 + i3, i3_rest);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f16_load_part(p1 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          f32_store_part(row0 + i3, v13, i3_rest);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + f32_select(lanes_below(i3_rest), v14, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6_r1 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(34), i3_rest);
          const f32v v8_r1 = (v6_r1 * v7);
          const f32v v9_r1 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(34), i3_rest);
          const f32v v11_r1 = (v9_r1 - v10_r1);
          const f32v v13_r1 = (v11_r1 * v12_r1);
          f32_store_part(row0_r1 + i3, v13_r1, i3_rest);
          const f32v v14_r1 = (v8_r1 * v13_r1);
          a5_r1 = (a5_r1 + f32_select(lanes_below(i3_rest), v14_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6_r2 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(68), i3_rest);
          const f32v v8_r2 = (v6_r2 * v7);
          const f32v v9_r2 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(68), i3_rest);
          const f32v v11_r2 = (v9_r2 - v10_r2);
          const f32v v13_r2 = (v11_r2 * v12_r2);
          f32_store_part(row0_r2 + i3, v13_r2, i3_rest);
          const f32v v14_r2 = (v8_r2 * v13_r2);
          a5_r2 = (a5_r2 + f32_select(lanes_below(i3_rest), v14_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6_r3 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(102), i3_rest);
          const f32v v8_r3 = (v6_r3 * v7);
          const f32v v9_r3 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(102), i3_rest);
          const f32v v11_r3 = (v9_r3 - v10_r3);
          const f32v v13_r3 = (v11_r3 * v12_r3);
          f32_store_part(row0_r3 + i3, v13_r3, i3_rest);
          const f32v v14_r3 = (v8_r3 * v13_r3);
          a5_r3 = (a5_r3 + f32_select(lanes_below(i3_rest), v14_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v15 = SPLAT(f32v, f32_sum(a5));
      const f32v v15_r1 = SPLAT(f32v, f32_sum(a5_r1));
      const f32v v15_r2 = SPLAT(f32v, f32_sum(a5_r2));
      const f32v v15_r3 = SPLAT(f32v, f32_sum(a5_r3));
      const f32v v19 = (v4 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v26 = (v15 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v19_r1 = (v4_r1 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v26_r1 = (v15_r1 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v19_r2 = (v4_r2 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v26_r2 = (v15_r2 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v19_r3 = (v4_r3 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v26_r3 = (v15_r3 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(34); i1 += LANES) {
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2040));
          const f32v v16 = f16_load(p0 + INT64_C(34)*i0 + i1);
          const f32v v17 = f16_load(p4 + i1);
          const f32v v18 = (v16 * v17);
          const f32v v20 = (v18 - v19);
          const f32v v25 = f32_load(row0 + i1);
          const f32v v27 = (v25 * v26);
          const f32v v28 = (v20 - v27);
          const f32v v29 = (v28 * v12);
          const f32v v30 = f32_round_f16(v29);
          f16_store(p5 + INT64_C(34)*i0 + i1, v30);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2074));
          const f32v v16_r1 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(34));
          const f32v v18_r1 = (v16_r1 * v17);
          const f32v v20_r1 = (v18_r1 - v19_r1);
          const f32v v25_r1 = f32_load(row0_r1 + i1);
          const f32v v27_r1 = (v25_r1 * v26_r1);
          const f32v v28_r1 = (v20_r1 - v27_r1);
          const f32v v29_r1 = (v28_r1 * v12_r1);
          const f32v v30_r1 = f32_round_f16(v29_r1);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(34), v30_r1);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2108));
          const f32v v16_r2 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(68));
          const f32v v18_r2 = (v16_r2 * v17);
          const f32v v20_r2 = (v18_r2 - v19_r2);
          const f32v v25_r2 = f32_load(row0_r2 + i1);
          const f32v v27_r2 = (v25_r2 * v26_r2);
          const f32v v28_r2 = (v20_r2 - v27_r2);
          const f32v v29_r2 = (v28_r2 * v12_r2);
          const f32v v30_r2 = f32_round_f16(v29_r2);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(68), v30_r2);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2142));
          const f32v v16_r3 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(102));
          const f32v v18_r3 = (v16_r3 * v17);
          const f32v v20_r3 = (v18_r3 - v19_r3);
          const f32v v25_r3 = f32_load(row0_r3 + i1);
          const f32v v27_r3 = (v25_r3 * v26_r3);
          const f32v v28_r3 = (v20_r3 - v27_r3);
          const f32v v29_r3 = (v28_r3 * v12_r3);
          const f32v v30_r3 = f32_round_f16(v29_r3);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(102), v30_r3);
        }
        if (i1 < INT64_C(34)) {
          const int i1_rest = (int)(INT64_C(34) - i1);
          const f32v v16 = f16_load_part(p0 + INT64_C(34)*i0 + i1, i1_rest);
          const f32v v17 = f16_load_part(p4 + i1, i1_rest);
          const f32v v18 = (v16 * v17);
          const f32v v20 = (v18 - v19);
          const f32v v25 = f32_load_part(row0 + i1, i1_rest);
          const f32v v27 = (v25 * v26);
          const f32v v28 = (v20 - v27);
          const f32v v29 = (v28 * v12);
          const f32v v30 = f32_round_f16(v29);
          f16_store_part(p5 + INT64_C(34)*i0 + i1, v30, i1_rest);
          const f32v v16_r1 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(34), i1_rest);
          const f32v v18_r1 = (v16_r1 * v17);
          const f32v v20_r1 = (v18_r1 - v19_r1);
          const f32v v25_r1 = f32_load_part(row0_r1 + i1, i1_rest);
          const f32v v27_r1 = (v25_r1 * v26_r1);
          const f32v v28_r1 = (v20_r1 - v27_r1);
          const f32v v29_r1 = (v28_r1 * v12_r1);
          const f32v v30_r1 = f32_round_f16(v29_r1);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(34), v30_r1, i1_rest);
          const f32v v16_r2 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(68), i1_rest);
          const f32v v18_r2 = (v16_r2 * v17);
          const f32v v20_r2 = (v18_r2 - v19_r2);
          const f32v v25_r2 = f32_load_part(row0_r2 + i1, i1_rest);
          const f32v v27_r2 = (v25_r2 * v26_r2);
          const f32v v28_r2 = (v20_r2 - v27_r2);
          const f32v v29_r2 = (v28_r2 * v12_r2);
          const f32v v30_r2 = f32_round_f16(v29_r2);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(68), v30_r2, i1_rest);
          const f32v v16_r3 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(102), i1_rest);
          const f32v v18_r3 = (v16_r3 * v17);
          const f32v v20_r3 = (v18_r3 - v19_r3);
          const f32v v25_r3 = f32_load_part(row0_r3 + i1, i1_rest);
          const f32v v27_r3 = (v25_r3 * v26_r3);
          const f32v v28_r3 = (v20_r3 - v27_r3);
          const f32v v29_r3 = (v28_r3 * v12_r3);
          const f32v v30_r3 = f32_round_f16(v29_r3);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(102), v30_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(34); i2 += LANES) {
          const f32v v1 = f16_load(p0 + i2 + INT64_C(34)*i0);
          const f32v v2 = f16_load(p4 + i2);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
        }
        if (i2 < INT64_C(34)) {
          const int i2_rest = (int)(INT64_C(34) - i2);
          const f32v v1 = f16_load_part(p0 + i2 + INT64_C(34)*i0, i2_rest);
          const f32v v2 = f16_load_part(p4 + i2, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v4 = SPLAT(f32v, f32_sum(a0));
      f32v a5 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v10 = f16_one(p3 + i0);
      const f32v v12 = f32_one(p8 + i0);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(34); i3 += LANES) {
          const f32v v6 = f16_load(p0 + i3 + INT64_C(34)*i0);
          const f32v v7 = f16_load(p4 + i3);
          const f32v v8 = (v6 * v7);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2040));
          const f32v v9 = f16_load(p1 + i3 + INT64_C(34)*i0);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          f32_store(row0 + i3, v13);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + v14);
        }
        if (i3 < INT64_C(34)) {
          const int i3_rest = (int)(INT64_C(34) - i3);
          const f32v v6 = f16_load_part(p0 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v7 = f16_load_part(p4 + i3, i3_rest);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f16_load_part(p1 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v11 = (v9 - v10);
          const f32v v13 = (v11 * v12);
          f32_store_part(row0 + i3, v13, i3_rest);
          const f32v v14 = (v8 * v13);
          a5 = (a5 + f32_select(lanes_below(i3_rest), v14, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v15 = SPLAT(f32v, f32_sum(a5));
      const f32v v19 = (v4 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v26 = (v15 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(34); i1 += LANES) {
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2040));
          const f32v v16 = f16_load(p0 + INT64_C(34)*i0 + i1);
          const f32v v17 = f16_load(p4 + i1);
          const f32v v18 = (v16 * v17);
          const f32v v20 = (v18 - v19);
          const f32v v25 = f32_load(row0 + i1);
          const f32v v27 = (v25 * v26);
          const f32v v28 = (v20 - v27);
          const f32v v29 = (v28 * v12);
          const f32v v30 = f32_round_f16(v29);
          f16_store(p5 + INT64_C(34)*i0 + i1, v30);
        }
        if (i1 < INT64_C(34)) {
          const int i1_rest = (int)(INT64_C(34) - i1);
          const f32v v16 = f16_load_part(p0 + INT64_C(34)*i0 + i1, i1_rest);
          const f32v v17 = f16_load_part(p4 + i1, i1_rest);
          const f32v v18 = (v16 * v17);
          const f32v v20 = (v18 - v19);
          const f32v v25 = f32_load_part(row0 + i1, i1_rest);
          const f32v v27 = (v25 * v26);
          const f32v v28 = (v20 - v27);
          const f32v v29 = (v28 * v12);
          const f32v v30 = f32_round_f16(v29);
          f16_store_part(p5 + INT64_C(34)*i0 + i1, v30, i1_rest);
        }
      }
    }
  }
}
static void k_op_layer_norm_grad_float16_nest2(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  uint16_t *p3 = (uint16_t *)b[3];
  uint16_t *p6 = (uint16_t *)b[6];
  uint16_t *p7 = (uint16_t *)b[7];
  float *p8 = (float *)b[8];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i1 = 0; i1 < INT64_C(4); i1++) {
        const f32v v1 = f16_load(p0 + INT64_C(34)*i1 + i0);
        const f32v v2 = f16_load(p1 + INT64_C(34)*i1 + i0);
        const f32v v3 = f16_one(p3 + i1);
        const f32v v4 = (v2 - v3);
        const f32v v5 = f32_one(p8 + i1);
        const f32v v6 = (v4 * v5);
        const f32v v7 = (v1 * v6);
        a0 = (a0 + v7);
      }
      const f32v v8 = f32_round_f16(a0);
      f16_store(p6 + i0, v8);
      f32v a9 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i2 = 0; i2 < INT64_C(4); i2++) {
        const f32v v10 = f16_load(p0 + INT64_C(34)*i2 + i0);
        a9 = (a9 + v10);
      }
      const f32v v11 = f32_round_f16(a9);
      f16_store(p7 + i0, v11);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i1 = 0; i1 < INT64_C(4); i1++) {
        const f32v v1 = f16_load_part(p0 + INT64_C(34)*i1 + i0, i0_rest);
        const f32v v2 = f16_load_part(p1 + INT64_C(34)*i1 + i0, i0_rest);
        const f32v v3 = f16_one(p3 + i1);
        const f32v v4 = (v2 - v3);
        const f32v v5 = f32_one(p8 + i1);
        const f32v v6 = (v4 * v5);
        const f32v v7 = (v1 * v6);
        a0 = (a0 + v7);
      }
      const f32v v8 = f32_round_f16(a0);
      f16_store_part(p6 + i0, v8, i0_rest);
      f32v a9 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i2 = 0; i2 < INT64_C(4); i2++) {
        const f32v v10 = f16_load_part(p0 + INT64_C(34)*i2 + i0, i0_rest);
        a9 = (a9 + v10);
      }
      const f32v v11 = f32_round_f16(a9);
      f16_store_part(p7 + i0, v11, i0_rest);
    }
  }
}
int k_op_layer_norm_grad_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[9];
  memcpy(all, b, 8*sizeof(void *));
  b = all;
  memset(all + 8, 0, sizeof(all) - 8*sizeof(void *));
  all[8] = aligned_alloc(64, (INT64_C(4)*4 + 127) & ~INT64_C(63));
  if (!all[8]) {
    missing = 1;
    goto done;
  }
  k_op_layer_norm_grad_float16_nest0(b, s, 0, INT64_C(4), 0);
  k_op_layer_norm_grad_float16_nest1(b, s, 0, INT64_C(4), 0);
  k_op_layer_norm_grad_float16_nest2(b, s, 0, INT64_C(34), 0);
  free(all[8]);
  all[8] = 0;
  goto done;
  done:
  free(all[8]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
