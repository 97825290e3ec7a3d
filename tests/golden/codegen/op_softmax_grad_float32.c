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
      f32v a1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(37); i2 += LANES) {
          const f32v v4 = f32_load(p0 + i2 + INT64_C(37)*i0);
          const f32v v5 = f32_load(p1 + i2 + INT64_C(37)*i0);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + v6);
          const f32v v7 = f32_load(p0 + i2 + INT64_C(37)*i0 + INT64_C(37));
          const f32v v8 = f32_load(p1 + i2 + INT64_C(37)*i0 + INT64_C(37));
          const f32v v9 = (v7 * v8);
          a1 = (a1 + v9);
          const f32v v10 = f32_load(p0 + i2 + INT64_C(37)*i0 + INT64_C(74));
          const f32v v11 = f32_load(p1 + i2 + INT64_C(37)*i0 + INT64_C(74));
          const f32v v12 = (v10 * v11);
          a2 = (a2 + v12);
          const f32v v13 = f32_load(p0 + i2 + INT64_C(37)*i0 + INT64_C(111));
          const f32v v14 = f32_load(p1 + i2 + INT64_C(37)*i0 + INT64_C(111));
          const f32v v15 = (v13 * v14);
          a3 = (a3 + v15);
        }
        if (i2 < INT64_C(37)) {
          const int i2_rest = (int)(INT64_C(37) - i2);
          const f32v v4 = f32_load_part(p0 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v5 = f32_load_part(p1 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v7 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(37), i2_rest);
          const f32v v8 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(37), i2_rest);
          const f32v v9 = (v7 * v8);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v9, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v10 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(74), i2_rest);
          const f32v v11 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(74), i2_rest);
          const f32v v12 = (v10 * v11);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v12, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v13 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(111), i2_rest);
          const f32v v14 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(111), i2_rest);
          const f32v v15 = (v13 * v14);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v15, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v16 = SPLAT(f32v, f32_sum(a0));
      const f32v v17 = SPLAT(f32v, f32_sum(a1));
      const f32v v18 = SPLAT(f32v, f32_sum(a2));
      const f32v v19 = SPLAT(f32v, f32_sum(a3));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v20 = f32_load(p0 + INT64_C(37)*i0 + i1);
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v21 = f32_load(p1 + INT64_C(37)*i0 + i1);
          const f32v v22 = (v21 - v16);
          const f32v v23 = (v20 * v22);
          f32_store(p2 + INT64_C(37)*i0 + i1, v23);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1036));
          const f32v v24 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(37));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1036));
          const f32v v25 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(37));
          const f32v v26 = (v25 - v17);
          const f32v v27 = (v24 * v26);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), v27);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1073));
          const f32v v28 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(74));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1073));
          const f32v v29 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(74));
          const f32v v30 = (v29 - v18);
          const f32v v31 = (v28 * v30);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), v31);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1110));
          const f32v v32 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(111));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1110));
          const f32v v33 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(111));
          const f32v v34 = (v33 - v19);
          const f32v v35 = (v32 * v34);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), v35);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v20 = f32_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v21 = f32_load_part(p1 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v22 = (v21 - v16);
          const f32v v23 = (v20 * v22);
          f32_store_part(p2 + INT64_C(37)*i0 + i1, v23, i1_rest);
          const f32v v24 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(37), i1_rest);
          const f32v v25 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(37), i1_rest);
          const f32v v26 = (v25 - v17);
          const f32v v27 = (v24 * v26);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), v27, i1_rest);
          const f32v v28 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(74), i1_rest);
          const f32v v29 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(74), i1_rest);
          const f32v v30 = (v29 - v18);
          const f32v v31 = (v28 * v30);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), v31, i1_rest);
          const f32v v32 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(111), i1_rest);
          const f32v v33 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(111), i1_rest);
          const f32v v34 = (v33 - v19);
          const f32v v35 = (v32 * v34);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), v35, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a36 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(37); i3 += LANES) {
          const f32v v37 = f32_load(p0 + i3 + INT64_C(37)*i0);
          const f32v v38 = f32_load(p1 + i3 + INT64_C(37)*i0);
          const f32v v39 = (v37 * v38);
          a36 = (a36 + v39);
        }
        if (i3 < INT64_C(37)) {
          const int i3_rest = (int)(INT64_C(37) - i3);
          const f32v v37 = f32_load_part(p0 + i3 + INT64_C(37)*i0, i3_rest);
          const f32v v38 = f32_load_part(p1 + i3 + INT64_C(37)*i0, i3_rest);
          const f32v v39 = (v37 * v38);
          a36 = (a36 + f32_select(lanes_below(i3_rest), v39, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v40 = SPLAT(f32v, f32_sum(a36));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v41 = f32_load(p0 + INT64_C(37)*i0 + i1);
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v42 = f32_load(p1 + INT64_C(37)*i0 + i1);
          const f32v v43 = (v42 - v40);
          const f32v v44 = (v41 * v43);
          f32_store(p2 + INT64_C(37)*i0 + i1, v44);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v41 = f32_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v42 = f32_load_part(p1 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v43 = (v42 - v40);
          const f32v v44 = (v41 * v43);
          f32_store_part(p2 + INT64_C(37)*i0 + i1, v44, i1_rest);
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
