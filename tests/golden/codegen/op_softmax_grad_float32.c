#include "vector_math.h"
#include "runtime.h"
static void k_op_softmax_grad_float32_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
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
        for (; i2 + LANES <= INT64_C(37); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(37)*i0);
          const f32v v2 = f32_load(p1 + i2 + INT64_C(37)*i0);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
          const f32v v1_r1 = f32_load(p0 + i2 + INT64_C(37)*i0 + INT64_C(37));
          const f32v v2_r1 = f32_load(p1 + i2 + INT64_C(37)*i0 + INT64_C(37));
          const f32v v3_r1 = (v1_r1 * v2_r1);
          a0_r1 = (a0_r1 + v3_r1);
          const f32v v1_r2 = f32_load(p0 + i2 + INT64_C(37)*i0 + INT64_C(74));
          const f32v v2_r2 = f32_load(p1 + i2 + INT64_C(37)*i0 + INT64_C(74));
          const f32v v3_r2 = (v1_r2 * v2_r2);
          a0_r2 = (a0_r2 + v3_r2);
          const f32v v1_r3 = f32_load(p0 + i2 + INT64_C(37)*i0 + INT64_C(111));
          const f32v v2_r3 = f32_load(p1 + i2 + INT64_C(37)*i0 + INT64_C(111));
          const f32v v3_r3 = (v1_r3 * v2_r3);
          a0_r3 = (a0_r3 + v3_r3);
        }
        if (i2 < INT64_C(37)) {
          const int i2_rest = (int)(INT64_C(37) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v2 = f32_load_part(p1 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(37), i2_rest);
          const f32v v2_r1 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(37), i2_rest);
          const f32v v3_r1 = (v1_r1 * v2_r1);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i2_rest), v3_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(74), i2_rest);
          const f32v v2_r2 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(74), i2_rest);
          const f32v v3_r2 = (v1_r2 * v2_r2);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i2_rest), v3_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(111), i2_rest);
          const f32v v2_r3 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(111), i2_rest);
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
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v5 = f32_load(p0 + INT64_C(37)*i0 + i1);
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v6 = f32_load(p1 + INT64_C(37)*i0 + i1);
          const f32v v7 = (v6 - v4);
          const f32v v8 = (v5 * v7);
          f32_store(p2 + INT64_C(37)*i0 + i1, v8);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1036));
          const f32v v5_r1 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(37));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1036));
          const f32v v6_r1 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(37));
          const f32v v7_r1 = (v6_r1 - v4_r1);
          const f32v v8_r1 = (v5_r1 * v7_r1);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), v8_r1);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1073));
          const f32v v5_r2 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(74));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1073));
          const f32v v6_r2 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(74));
          const f32v v7_r2 = (v6_r2 - v4_r2);
          const f32v v8_r2 = (v5_r2 * v7_r2);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), v8_r2);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1110));
          const f32v v5_r3 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(111));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1110));
          const f32v v6_r3 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(111));
          const f32v v7_r3 = (v6_r3 - v4_r3);
          const f32v v8_r3 = (v5_r3 * v7_r3);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), v8_r3);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v5 = f32_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v6 = f32_load_part(p1 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v7 = (v6 - v4);
          const f32v v8 = (v5 * v7);
          f32_store_part(p2 + INT64_C(37)*i0 + i1, v8, i1_rest);
          const f32v v5_r1 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(37), i1_rest);
          const f32v v6_r1 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(37), i1_rest);
          const f32v v7_r1 = (v6_r1 - v4_r1);
          const f32v v8_r1 = (v5_r1 * v7_r1);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), v8_r1, i1_rest);
          const f32v v5_r2 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(74), i1_rest);
          const f32v v6_r2 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(74), i1_rest);
          const f32v v7_r2 = (v6_r2 - v4_r2);
          const f32v v8_r2 = (v5_r2 * v7_r2);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), v8_r2, i1_rest);
          const f32v v5_r3 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(111), i1_rest);
          const f32v v6_r3 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(111), i1_rest);
          const f32v v7_r3 = (v6_r3 - v4_r3);
          const f32v v8_r3 = (v5_r3 * v7_r3);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), v8_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(37); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(37)*i0);
          const f32v v2 = f32_load(p1 + i2 + INT64_C(37)*i0);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + v3);
        }
        if (i2 < INT64_C(37)) {
          const int i2_rest = (int)(INT64_C(37) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v2 = f32_load_part(p1 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v3 = (v1 * v2);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v4 = SPLAT(f32v, f32_sum(a0));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v5 = f32_load(p0 + INT64_C(37)*i0 + i1);
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v6 = f32_load(p1 + INT64_C(37)*i0 + i1);
          const f32v v7 = (v6 - v4);
          const f32v v8 = (v5 * v7);
          f32_store(p2 + INT64_C(37)*i0 + i1, v8);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v5 = f32_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v6 = f32_load_part(p1 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v7 = (v6 - v4);
          const f32v v8 = (v5 * v7);
          f32_store_part(p2 + INT64_C(37)*i0 + i1, v8, i1_rest);
        }
      }
    }
  }
}
static void k_op_softmax_grad_float32_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_op_softmax_grad_float32_nest0(nest->b, nest->s, begin, end, 0);
}
int k_op_softmax_grad_float32(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(185) + INT64_C(185) + INT64_C(185) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_op_softmax_grad_float32_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads); else k_op_softmax_grad_float32_nest0(b, s, 0, INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
