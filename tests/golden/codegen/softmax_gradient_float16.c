#include "vector_math.h"
#include "runtime.h"
static void k_softmax_gradient_float16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  uint16_t *p2 = (uint16_t *)b[2];
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
        for (; i2 + LANES <= INT64_C(43); i2 += LANES) {
          const f32v v1 = f16_load(p0 + i2 + INT64_C(43)*i0);
          const f32v v2 = f16_load(p1 + i2 + INT64_C(43)*i0);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
          const f32v v1_r1 = f16_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(43));
          const f32v v2_r1 = f16_load(p1 + i2 + INT64_C(43)*i0 + INT64_C(43));
          const f32v v3_r1 = (v1_r1 * v2_r1);
          a0_r1 = (a0_r1 + v3_r1);
          const f32v v1_r2 = f16_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(86));
          const f32v v2_r2 = f16_load(p1 + i2 + INT64_C(43)*i0 + INT64_C(86));
          const f32v v3_r2 = (v1_r2 * v2_r2);
          a0_r2 = (a0_r2 + v3_r2);
          const f32v v1_r3 = f16_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(129));
          const f32v v2_r3 = f16_load(p1 + i2 + INT64_C(43)*i0 + INT64_C(129));
          const f32v v3_r3 = (v1_r3 * v2_r3);
          a0_r3 = (a0_r3 + v3_r3);
        }
        if (i2 < INT64_C(43)) {
          const int i2_rest = (int)(INT64_C(43) - i2);
          const f32v v1 = f16_load_part(p0 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v2 = f16_load_part(p1 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          const f32v v2_r1 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          const f32v v3_r1 = (v1_r1 * v2_r1);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i2_rest), v3_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          const f32v v2_r2 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          const f32v v3_r2 = (v1_r2 * v2_r2);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i2_rest), v3_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
          const f32v v2_r3 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
          const f32v v3_r3 = (v1_r3 * v2_r3);
          a0_r3 = (a0_r3 + f32_select(lanes_below(i2_rest), v3_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v4 = SPLAT(f32v, f32_sum(a0));
      const f32v v4_r1 = SPLAT(f32v, f32_sum(a0_r1));
      const f32v v4_r2 = SPLAT(f32v, f32_sum(a0_r2));
      const f32v v4_r3 = SPLAT(f32v, f32_sum(a0_r3));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v5 = f16_load(p0 + INT64_C(43)*i0 + i1);
          const f32v v6 = (v5 - v4);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v7 = f16_load(p1 + INT64_C(43)*i0 + i1);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_round_f16(v8);
          f16_store(p2 + INT64_C(43)*i0 + i1, v9);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2064));
          const f32v v5_r1 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const f32v v6_r1 = (v5_r1 - v4_r1);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2064));
          const f32v v7_r1 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const f32v v8_r1 = (v6_r1 * v7_r1);
          const f32v v9_r1 = f32_round_f16(v8_r1);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(43), v9_r1);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2107));
          const f32v v5_r2 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const f32v v6_r2 = (v5_r2 - v4_r2);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2107));
          const f32v v7_r2 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const f32v v8_r2 = (v6_r2 * v7_r2);
          const f32v v9_r2 = f32_round_f16(v8_r2);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(86), v9_r2);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2150));
          const f32v v5_r3 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const f32v v6_r3 = (v5_r3 - v4_r3);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2150));
          const f32v v7_r3 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const f32v v8_r3 = (v6_r3 * v7_r3);
          const f32v v9_r3 = f32_round_f16(v8_r3);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(129), v9_r3);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v5 = f16_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v6 = (v5 - v4);
          const f32v v7 = f16_load_part(p1 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_round_f16(v8);
          f16_store_part(p2 + INT64_C(43)*i0 + i1, v9, i1_rest);
          const f32v v5_r1 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const f32v v6_r1 = (v5_r1 - v4_r1);
          const f32v v7_r1 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const f32v v8_r1 = (v6_r1 * v7_r1);
          const f32v v9_r1 = f32_round_f16(v8_r1);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(43), v9_r1, i1_rest);
          const f32v v5_r2 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const f32v v6_r2 = (v5_r2 - v4_r2);
          const f32v v7_r2 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const f32v v8_r2 = (v6_r2 * v7_r2);
          const f32v v9_r2 = f32_round_f16(v8_r2);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(86), v9_r2, i1_rest);
          const f32v v5_r3 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const f32v v6_r3 = (v5_r3 - v4_r3);
          const f32v v7_r3 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const f32v v8_r3 = (v6_r3 * v7_r3);
          const f32v v9_r3 = f32_round_f16(v8_r3);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(129), v9_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(43); i2 += LANES) {
          const f32v v1 = f16_load(p0 + i2 + INT64_C(43)*i0);
          const f32v v2 = f16_load(p1 + i2 + INT64_C(43)*i0);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
        }
        if (i2 < INT64_C(43)) {
          const int i2_rest = (int)(INT64_C(43) - i2);
          const f32v v1 = f16_load_part(p0 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v2 = f16_load_part(p1 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v4 = SPLAT(f32v, f32_sum(a0));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v5 = f16_load(p0 + INT64_C(43)*i0 + i1);
          const f32v v6 = (v5 - v4);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v7 = f16_load(p1 + INT64_C(43)*i0 + i1);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_round_f16(v8);
          f16_store(p2 + INT64_C(43)*i0 + i1, v9);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v5 = f16_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v6 = (v5 - v4);
          const f32v v7 = f16_load_part(p1 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v8 = (v6 * v7);
          const f32v v9 = f32_round_f16(v8);
          f16_store_part(p2 + INT64_C(43)*i0 + i1, v9, i1_rest);
        }
      }
    }
  }
}
static void k_softmax_gradient_float16_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_softmax_gradient_float16_nest0(nest->b, nest->s, begin, end, 0);
}
int k_softmax_gradient_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(215) + INT64_C(215) + INT64_C(215) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_softmax_gradient_float16_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads); else k_softmax_gradient_float16_nest0(b, s, 0, INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
