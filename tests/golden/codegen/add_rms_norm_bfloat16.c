#include "vector_math.h"
#include "runtime.h"
static void k_add_rms_norm_bfloat16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  uint16_t *p2 = (uint16_t *)b[2];
  uint16_t *p3 = (uint16_t *)b[3];
  uint16_t *p4 = (uint16_t *)b[4];
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
        for (; i2 + LANES <= INT64_C(61); i2 += LANES) {
          const f32v v1 = bf16_load(p0 + i2 + INT64_C(61)*i0);
          const f32v v2 = bf16_load(p1 + i2 + INT64_C(61)*i0);
          const f32v v3 = (v1 + v2);
          const f32v v4 = (v3 * v3);
          a0 = (a0 + v4);
          const f32v v1_r1 = bf16_load(p0 + i2 + INT64_C(61)*i0 + INT64_C(61));
          const f32v v2_r1 = bf16_load(p1 + i2 + INT64_C(61)*i0 + INT64_C(61));
          const f32v v3_r1 = (v1_r1 + v2_r1);
          const f32v v4_r1 = (v3_r1 * v3_r1);
          a0_r1 = (a0_r1 + v4_r1);
          const f32v v1_r2 = bf16_load(p0 + i2 + INT64_C(61)*i0 + INT64_C(122));
          const f32v v2_r2 = bf16_load(p1 + i2 + INT64_C(61)*i0 + INT64_C(122));
          const f32v v3_r2 = (v1_r2 + v2_r2);
          const f32v v4_r2 = (v3_r2 * v3_r2);
          a0_r2 = (a0_r2 + v4_r2);
          const f32v v1_r3 = bf16_load(p0 + i2 + INT64_C(61)*i0 + INT64_C(183));
          const f32v v2_r3 = bf16_load(p1 + i2 + INT64_C(61)*i0 + INT64_C(183));
          const f32v v3_r3 = (v1_r3 + v2_r3);
          const f32v v4_r3 = (v3_r3 * v3_r3);
          a0_r3 = (a0_r3 + v4_r3);
        }
        if (i2 < INT64_C(61)) {
          const int i2_rest = (int)(INT64_C(61) - i2);
          const f32v v1 = bf16_load_part(p0 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v2 = bf16_load_part(p1 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v3 = (v1 + v2);
          const f32v v4 = (v3 * v3);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(61), i2_rest);
          const f32v v2_r1 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(61), i2_rest);
          const f32v v3_r1 = (v1_r1 + v2_r1);
          const f32v v4_r1 = (v3_r1 * v3_r1);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i2_rest), v4_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(122), i2_rest);
          const f32v v2_r2 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(122), i2_rest);
          const f32v v3_r2 = (v1_r2 + v2_r2);
          const f32v v4_r2 = (v3_r2 * v3_r2);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i2_rest), v4_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(183), i2_rest);
          const f32v v2_r3 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(183), i2_rest);
          const f32v v3_r3 = (v1_r3 + v2_r3);
          const f32v v4_r3 = (v3_r3 * v3_r3);
          a0_r3 = (a0_r3 + f32_select(lanes_below(i2_rest), v4_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v5 = SPLAT(f32v, f32_sum(a0));
      const f32v v5_r1 = SPLAT(f32v, f32_sum(a0_r1));
      const f32v v5_r2 = SPLAT(f32v, f32_sum(a0_r2));
      const f32v v5_r3 = SPLAT(f32v, f32_sum(a0_r3));
      const f32v v9 = (v5 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v10 = (v9 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v11 = f32_rsqrt(v10);
      const f32v v9_r1 = (v5_r1 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v10_r1 = (v9_r1 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v11_r1 = f32_rsqrt(v10_r1);
      const f32v v9_r2 = (v5_r2 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v10_r2 = (v9_r2 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v11_r2 = f32_rsqrt(v10_r2);
      const f32v v9_r3 = (v5_r3 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v10_r3 = (v9_r3 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v11_r3 = f32_rsqrt(v10_r3);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(61); i1 += LANES) {
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v6 = bf16_load(p0 + INT64_C(61)*i0 + i1);
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v7 = bf16_load(p1 + INT64_C(61)*i0 + i1);
          const f32v v8 = (v6 + v7);
          const f32v v12 = (v8 * v11);
          const f32v v13 = bf16_load(p2 + i1);
          const f32v v14 = (v12 * v13);
          const f32v v15 = f32_round_bf16(v14);
          bf16_store(p3 + INT64_C(61)*i0 + i1, v15);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2074));
          const f32v v6_r1 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(61));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2074));
          const f32v v7_r1 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(61));
          const f32v v8_r1 = (v6_r1 + v7_r1);
          const f32v v12_r1 = (v8_r1 * v11_r1);
          const f32v v14_r1 = (v12_r1 * v13);
          const f32v v15_r1 = f32_round_bf16(v14_r1);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(61), v15_r1);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2135));
          const f32v v6_r2 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(122));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2135));
          const f32v v7_r2 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(122));
          const f32v v8_r2 = (v6_r2 + v7_r2);
          const f32v v12_r2 = (v8_r2 * v11_r2);
          const f32v v14_r2 = (v12_r2 * v13);
          const f32v v15_r2 = f32_round_bf16(v14_r2);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(122), v15_r2);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2196));
          const f32v v6_r3 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(183));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2196));
          const f32v v7_r3 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(183));
          const f32v v8_r3 = (v6_r3 + v7_r3);
          const f32v v12_r3 = (v8_r3 * v11_r3);
          const f32v v14_r3 = (v12_r3 * v13);
          const f32v v15_r3 = f32_round_bf16(v14_r3);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(183), v15_r3);
          const f32v v16 = f32_round_bf16(v8);
          bf16_store(p4 + INT64_C(61)*i0 + i1, v16);
          const f32v v16_r1 = f32_round_bf16(v8_r1);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(61), v16_r1);
          const f32v v16_r2 = f32_round_bf16(v8_r2);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(122), v16_r2);
          const f32v v16_r3 = f32_round_bf16(v8_r3);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(183), v16_r3);
        }
        if (i1 < INT64_C(61)) {
          const int i1_rest = (int)(INT64_C(61) - i1);
          const f32v v6 = bf16_load_part(p0 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v7 = bf16_load_part(p1 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v8 = (v6 + v7);
          const f32v v12 = (v8 * v11);
          const f32v v13 = bf16_load_part(p2 + i1, i1_rest);
          const f32v v14 = (v12 * v13);
          const f32v v15 = f32_round_bf16(v14);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1, v15, i1_rest);
          const f32v v6_r1 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(61), i1_rest);
          const f32v v7_r1 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(61), i1_rest);
          const f32v v8_r1 = (v6_r1 + v7_r1);
          const f32v v12_r1 = (v8_r1 * v11_r1);
          const f32v v14_r1 = (v12_r1 * v13);
          const f32v v15_r1 = f32_round_bf16(v14_r1);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(61), v15_r1, i1_rest);
          const f32v v6_r2 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(122), i1_rest);
          const f32v v7_r2 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(122), i1_rest);
          const f32v v8_r2 = (v6_r2 + v7_r2);
          const f32v v12_r2 = (v8_r2 * v11_r2);
          const f32v v14_r2 = (v12_r2 * v13);
          const f32v v15_r2 = f32_round_bf16(v14_r2);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(122), v15_r2, i1_rest);
          const f32v v6_r3 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(183), i1_rest);
          const f32v v7_r3 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(183), i1_rest);
          const f32v v8_r3 = (v6_r3 + v7_r3);
          const f32v v12_r3 = (v8_r3 * v11_r3);
          const f32v v14_r3 = (v12_r3 * v13);
          const f32v v15_r3 = f32_round_bf16(v14_r3);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(183), v15_r3, i1_rest);
          const f32v v16 = f32_round_bf16(v8);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1, v16, i1_rest);
          const f32v v16_r1 = f32_round_bf16(v8_r1);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(61), v16_r1, i1_rest);
          const f32v v16_r2 = f32_round_bf16(v8_r2);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(122), v16_r2, i1_rest);
          const f32v v16_r3 = f32_round_bf16(v8_r3);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(183), v16_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(61); i2 += LANES) {
          const f32v v1 = bf16_load(p0 + i2 + INT64_C(61)*i0);
          const f32v v2 = bf16_load(p1 + i2 + INT64_C(61)*i0);
          const f32v v3 = (v1 + v2);
          const f32v v4 = (v3 * v3);
          a0 = (a0 + v4);
        }
        if (i2 < INT64_C(61)) {
          const int i2_rest = (int)(INT64_C(61) - i2);
          const f32v v1 = bf16_load_part(p0 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v2 = bf16_load_part(p1 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v3 = (v1 + v2);
          const f32v v4 = (v3 * v3);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v5 = SPLAT(f32v, f32_sum(a0));
      const f32v v9 = (v5 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v10 = (v9 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v11 = f32_rsqrt(v10);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(61); i1 += LANES) {
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v6 = bf16_load(p0 + INT64_C(61)*i0 + i1);
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v7 = bf16_load(p1 + INT64_C(61)*i0 + i1);
          const f32v v8 = (v6 + v7);
          const f32v v12 = (v8 * v11);
          const f32v v13 = bf16_load(p2 + i1);
          const f32v v14 = (v12 * v13);
          const f32v v15 = f32_round_bf16(v14);
          bf16_store(p3 + INT64_C(61)*i0 + i1, v15);
          const f32v v16 = f32_round_bf16(v8);
          bf16_store(p4 + INT64_C(61)*i0 + i1, v16);
        }
        if (i1 < INT64_C(61)) {
          const int i1_rest = (int)(INT64_C(61) - i1);
          const f32v v6 = bf16_load_part(p0 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v7 = bf16_load_part(p1 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v8 = (v6 + v7);
          const f32v v12 = (v8 * v11);
          const f32v v13 = bf16_load_part(p2 + i1, i1_rest);
          const f32v v14 = (v12 * v13);
          const f32v v15 = f32_round_bf16(v14);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1, v15, i1_rest);
          const f32v v16 = f32_round_bf16(v8);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1, v16, i1_rest);
        }
      }
    }
  }
}
int k_add_rms_norm_bfloat16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_add_rms_norm_bfloat16_nest0(b, s, 0, INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
