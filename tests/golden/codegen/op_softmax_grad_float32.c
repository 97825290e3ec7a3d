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
          const f32v v16 = f32_load_part(p0 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v17 = f32_load_part(p1 + i2 + INT64_C(37)*i0, i2_rest);
          const f32v v18 = (v16 * v17);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v18, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v19 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(37), i2_rest);
          const f32v v20 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(37), i2_rest);
          const f32v v21 = (v19 * v20);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v21, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v22 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(74), i2_rest);
          const f32v v23 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(74), i2_rest);
          const f32v v24 = (v22 * v23);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v24, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v25 = f32_load_part(p0 + i2 + INT64_C(37)*i0 + INT64_C(111), i2_rest);
          const f32v v26 = f32_load_part(p1 + i2 + INT64_C(37)*i0 + INT64_C(111), i2_rest);
          const f32v v27 = (v25 * v26);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v27, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v28 = SPLAT(f32v, f32_sum(a0));
      const f32v v29 = SPLAT(f32v, f32_sum(a1));
      const f32v v30 = SPLAT(f32v, f32_sum(a2));
      const f32v v31 = SPLAT(f32v, f32_sum(a3));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v32 = f32_load(p0 + INT64_C(37)*i0 + i1);
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v33 = f32_load(p1 + INT64_C(37)*i0 + i1);
          const f32v v34 = (v33 - v28);
          const f32v v35 = (v32 * v34);
          f32_store(p2 + INT64_C(37)*i0 + i1, v35);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1036));
          const f32v v36 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(37));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1036));
          const f32v v37 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(37));
          const f32v v38 = (v37 - v29);
          const f32v v39 = (v36 * v38);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), v39);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1073));
          const f32v v40 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(74));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1073));
          const f32v v41 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(74));
          const f32v v42 = (v41 - v30);
          const f32v v43 = (v40 * v42);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), v43);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(1110));
          const f32v v44 = f32_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(111));
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(1110));
          const f32v v45 = f32_load(p1 + INT64_C(37)*i0 + i1 + INT64_C(111));
          const f32v v46 = (v45 - v31);
          const f32v v47 = (v44 * v46);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), v47);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v48 = f32_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v49 = f32_load_part(p1 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v50 = (v49 - v28);
          const f32v v51 = (v48 * v50);
          f32_store_part(p2 + INT64_C(37)*i0 + i1, v51, i1_rest);
          const f32v v52 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(37), i1_rest);
          const f32v v53 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(37), i1_rest);
          const f32v v54 = (v53 - v29);
          const f32v v55 = (v52 * v54);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), v55, i1_rest);
          const f32v v56 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(74), i1_rest);
          const f32v v57 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(74), i1_rest);
          const f32v v58 = (v57 - v30);
          const f32v v59 = (v56 * v58);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), v59, i1_rest);
          const f32v v60 = f32_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(111), i1_rest);
          const f32v v61 = f32_load_part(p1 + INT64_C(37)*i0 + i1 + INT64_C(111), i1_rest);
          const f32v v62 = (v61 - v31);
          const f32v v63 = (v60 * v62);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), v63, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a64 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(37); i3 += LANES) {
          const f32v v65 = f32_load(p0 + i3 + INT64_C(37)*i0);
          const f32v v66 = f32_load(p1 + i3 + INT64_C(37)*i0);
          const f32v v67 = (v65 * v66);
          a64 = (a64 + v67);
        }
        if (i3 < INT64_C(37)) {
          const int i3_rest = (int)(INT64_C(37) - i3);
          const f32v v68 = f32_load_part(p0 + i3 + INT64_C(37)*i0, i3_rest);
          const f32v v69 = f32_load_part(p1 + i3 + INT64_C(37)*i0, i3_rest);
          const f32v v70 = (v68 * v69);
          a64 = (a64 + f32_select(lanes_below(i3_rest), v70, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v71 = SPLAT(f32v, f32_sum(a64));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v72 = f32_load(p0 + INT64_C(37)*i0 + i1);
          fetch(p1 + INT64_C(37)*i0 + i1 + INT64_C(999));
          const f32v v73 = f32_load(p1 + INT64_C(37)*i0 + i1);
          const f32v v74 = (v73 - v71);
          const f32v v75 = (v72 * v74);
          f32_store(p2 + INT64_C(37)*i0 + i1, v75);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const f32v v76 = f32_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v77 = f32_load_part(p1 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v78 = (v77 - v71);
          const f32v v79 = (v76 * v78);
          f32_store_part(p2 + INT64_C(37)*i0 + i1, v79, i1_rest);
        }
      }
    }
  }
}
static void k_op_softmax_grad_float32_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own; k_op_softmax_grad_float32_nest0(nest->b, nest->s, begin, end, 0);
}
int k_op_softmax_grad_float32(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && (INT64_C(185)) + (INT64_C(185)) + (INT64_C(185)) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_op_softmax_grad_float32_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads);
  else k_op_softmax_grad_float32_nest0(b, s, INT64_C(0), INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
