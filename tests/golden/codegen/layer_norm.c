#include "vector_math.h"
#include "runtime.h"
static void k_layer_norm_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  float *p4 = (float *)b[4];
  float *p5 = (float *)b[5];
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
          a0 = (a0 + v1);
          const f32v v1_r1 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(50));
          a0_r1 = (a0_r1 + v1_r1);
          const f32v v1_r2 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(100));
          a0_r2 = (a0_r2 + v1_r2);
          const f32v v1_r3 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(150));
          a0_r3 = (a0_r3 + v1_r3);
        }
        if (i2 < INT64_C(50)) {
          const int i2_rest = (int)(INT64_C(50) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(50), i2_rest);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i2_rest), v1_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(100), i2_rest);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i2_rest), v1_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(150), i2_rest);
          a0_r3 = (a0_r3 + f32_select(lanes_below(i2_rest), v1_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_sum(a0));
      const f32v v2_r1 = SPLAT(f32v, f32_sum(a0_r1));
      const f32v v2_r2 = SPLAT(f32v, f32_sum(a0_r2));
      const f32v v2_r3 = SPLAT(f32v, f32_sum(a0_r3));
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0, v3, 1);
      const f32v v3_r1 = (v2_r1 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(1), v3_r1, 1);
      const f32v v3_r2 = (v2_r2 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(2), v3_r2, 1);
      const f32v v3_r3 = (v2_r3 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(3), v3_r3, 1);
      f32v a4 = SPLAT(f32v, 0x0.0p+0f);
      f32v a4_r1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a4_r2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a4_r3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v5 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v6 = (v5 - v3);
          const f32v v7 = (v6 * v6);
          a4 = (a4 + v7);
          const f32v v5_r1 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v6_r1 = (v5_r1 - v3_r1);
          const f32v v7_r1 = (v6_r1 * v6_r1);
          a4_r1 = (a4_r1 + v7_r1);
          const f32v v5_r2 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v6_r2 = (v5_r2 - v3_r2);
          const f32v v7_r2 = (v6_r2 * v6_r2);
          a4_r2 = (a4_r2 + v7_r2);
          const f32v v5_r3 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v6_r3 = (v5_r3 - v3_r3);
          const f32v v7_r3 = (v6_r3 * v6_r3);
          a4_r3 = (a4_r3 + v7_r3);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v5 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v6 = (v5 - v3);
          const f32v v7 = (v6 * v6);
          a4 = (a4 + f32_select(lanes_below(i3_rest), v7, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v5_r1 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v6_r1 = (v5_r1 - v3_r1);
          const f32v v7_r1 = (v6_r1 * v6_r1);
          a4_r1 = (a4_r1 + f32_select(lanes_below(i3_rest), v7_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v5_r2 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v6_r2 = (v5_r2 - v3_r2);
          const f32v v7_r2 = (v6_r2 * v6_r2);
          a4_r2 = (a4_r2 + f32_select(lanes_below(i3_rest), v7_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v5_r3 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v6_r3 = (v5_r3 - v3_r3);
          const f32v v7_r3 = (v6_r3 * v6_r3);
          a4_r3 = (a4_r3 + f32_select(lanes_below(i3_rest), v7_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_sum(a4));
      const f32v v8_r1 = SPLAT(f32v, f32_sum(a4_r1));
      const f32v v8_r2 = SPLAT(f32v, f32_sum(a4_r2));
      const f32v v8_r3 = SPLAT(f32v, f32_sum(a4_r3));
      const f32v v9 = (v8 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v10 = (v9 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v11 = f32_rsqrt(v10);
      f32_store_part(p5 + i0, v11, 1);
      const f32v v9_r1 = (v8_r1 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v10_r1 = (v9_r1 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v11_r1 = f32_rsqrt(v10_r1);
      f32_store_part(p5 + i0 + INT64_C(1), v11_r1, 1);
      const f32v v9_r2 = (v8_r2 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v10_r2 = (v9_r2 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v11_r2 = f32_rsqrt(v10_r2);
      f32_store_part(p5 + i0 + INT64_C(2), v11_r2, 1);
      const f32v v9_r3 = (v8_r3 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v10_r3 = (v9_r3 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v11_r3 = f32_rsqrt(v10_r3);
      f32_store_part(p5 + i0 + INT64_C(3), v11_r3, 1);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v12 = f32_load(p0 + INT64_C(50)*i0 + i1);
          const f32v v13 = (v12 - v3);
          const f32v v14 = (v13 * v11);
          const f32v v15 = f32_load(p1 + i1);
          const f32v v16 = (v14 * v15);
          const f32v v17 = f32_load(p2 + i1);
          const f32v v18 = (v16 + v17);
          f32_store(p3 + INT64_C(50)*i0 + i1, v18);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v12_r1 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(50));
          const f32v v13_r1 = (v12_r1 - v3_r1);
          const f32v v14_r1 = (v13_r1 * v11_r1);
          const f32v v16_r1 = (v14_r1 * v15);
          const f32v v18_r1 = (v16_r1 + v17);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(50), v18_r1);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v12_r2 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(100));
          const f32v v13_r2 = (v12_r2 - v3_r2);
          const f32v v14_r2 = (v13_r2 * v11_r2);
          const f32v v16_r2 = (v14_r2 * v15);
          const f32v v18_r2 = (v16_r2 + v17);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(100), v18_r2);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v12_r3 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(150));
          const f32v v13_r3 = (v12_r3 - v3_r3);
          const f32v v14_r3 = (v13_r3 * v11_r3);
          const f32v v16_r3 = (v14_r3 * v15);
          const f32v v18_r3 = (v16_r3 + v17);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(150), v18_r3);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v12 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v13 = (v12 - v3);
          const f32v v14 = (v13 * v11);
          const f32v v15 = f32_load_part(p1 + i1, i1_rest);
          const f32v v16 = (v14 * v15);
          const f32v v17 = f32_load_part(p2 + i1, i1_rest);
          const f32v v18 = (v16 + v17);
          f32_store_part(p3 + INT64_C(50)*i0 + i1, v18, i1_rest);
          const f32v v12_r1 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v13_r1 = (v12_r1 - v3_r1);
          const f32v v14_r1 = (v13_r1 * v11_r1);
          const f32v v16_r1 = (v14_r1 * v15);
          const f32v v18_r1 = (v16_r1 + v17);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(50), v18_r1, i1_rest);
          const f32v v12_r2 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v13_r2 = (v12_r2 - v3_r2);
          const f32v v14_r2 = (v13_r2 * v11_r2);
          const f32v v16_r2 = (v14_r2 * v15);
          const f32v v18_r2 = (v16_r2 + v17);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(100), v18_r2, i1_rest);
          const f32v v12_r3 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v13_r3 = (v12_r3 - v3_r3);
          const f32v v14_r3 = (v13_r3 * v11_r3);
          const f32v v16_r3 = (v14_r3 * v15);
          const f32v v18_r3 = (v16_r3 + v17);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(150), v18_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(50); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(50)*i0);
          a0 = (a0 + v1);
        }
        if (i2 < INT64_C(50)) {
          const int i2_rest = (int)(INT64_C(50) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_sum(a0));
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0, v3, 1);
      f32v a4 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v5 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v6 = (v5 - v3);
          const f32v v7 = (v6 * v6);
          a4 = (a4 + v7);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v5 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v6 = (v5 - v3);
          const f32v v7 = (v6 * v6);
          a4 = (a4 + f32_select(lanes_below(i3_rest), v7, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_sum(a4));
      const f32v v9 = (v8 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v10 = (v9 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v11 = f32_rsqrt(v10);
      f32_store_part(p5 + i0, v11, 1);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v12 = f32_load(p0 + INT64_C(50)*i0 + i1);
          const f32v v13 = (v12 - v3);
          const f32v v14 = (v13 * v11);
          const f32v v15 = f32_load(p1 + i1);
          const f32v v16 = (v14 * v15);
          const f32v v17 = f32_load(p2 + i1);
          const f32v v18 = (v16 + v17);
          f32_store(p3 + INT64_C(50)*i0 + i1, v18);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v12 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v13 = (v12 - v3);
          const f32v v14 = (v13 * v11);
          const f32v v15 = f32_load_part(p1 + i1, i1_rest);
          const f32v v16 = (v14 * v15);
          const f32v v17 = f32_load_part(p2 + i1, i1_rest);
          const f32v v18 = (v16 + v17);
          f32_store_part(p3 + INT64_C(50)*i0 + i1, v18, i1_rest);
        }
      }
    }
  }
}
static void k_layer_norm_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_layer_norm_nest0(nest->b, nest->s, begin, end, 0);
}
int k_layer_norm(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(300) + INT64_C(50) + INT64_C(50) + INT64_C(300) + INT64_C(6) + INT64_C(6) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_layer_norm_nest0_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0}, threads); else k_layer_norm_nest0(b, s, 0, INT64_C(6), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
