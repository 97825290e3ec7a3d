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
      f32v a1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(43); i2 += LANES) {
          const f32v v4 = f16_load(p0 + i2 + INT64_C(43)*i0);
          const f32v v5 = f16_load(p1 + i2 + INT64_C(43)*i0);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + v6);
          const f32v v7 = f16_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(43));
          const f32v v8 = f16_load(p1 + i2 + INT64_C(43)*i0 + INT64_C(43));
          const f32v v9 = (v7 * v8);
          a1 = (a1 + v9);
          const f32v v10 = f16_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(86));
          const f32v v11 = f16_load(p1 + i2 + INT64_C(43)*i0 + INT64_C(86));
          const f32v v12 = (v10 * v11);
          a2 = (a2 + v12);
          const f32v v13 = f16_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(129));
          const f32v v14 = f16_load(p1 + i2 + INT64_C(43)*i0 + INT64_C(129));
          const f32v v15 = (v13 * v14);
          a3 = (a3 + v15);
        }
        if (i2 < INT64_C(43)) {
          const int i2_rest = (int)(INT64_C(43) - i2);
          const f32v v16 = f16_load_part(p0 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v17 = f16_load_part(p1 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v18 = (v16 * v17);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v18, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v19 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          const f32v v20 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          const f32v v21 = (v19 * v20);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v21, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v22 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          const f32v v23 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          const f32v v24 = (v22 * v23);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v24, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v25 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
          const f32v v26 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
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
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v32 = f16_load(p0 + INT64_C(43)*i0 + i1);
          const f32v v33 = (v32 - v28);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v34 = f16_load(p1 + INT64_C(43)*i0 + i1);
          const f32v v35 = (v33 * v34);
          const f32v v36 = f32_round_f16(v35);
          f16_store(p2 + INT64_C(43)*i0 + i1, v36);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2064));
          const f32v v37 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const f32v v38 = (v37 - v29);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2064));
          const f32v v39 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const f32v v40 = (v38 * v39);
          const f32v v41 = f32_round_f16(v40);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(43), v41);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2107));
          const f32v v42 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const f32v v43 = (v42 - v30);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2107));
          const f32v v44 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const f32v v45 = (v43 * v44);
          const f32v v46 = f32_round_f16(v45);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(86), v46);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2150));
          const f32v v47 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const f32v v48 = (v47 - v31);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2150));
          const f32v v49 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const f32v v50 = (v48 * v49);
          const f32v v51 = f32_round_f16(v50);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(129), v51);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v52 = f16_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v53 = (v52 - v28);
          const f32v v54 = f16_load_part(p1 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v55 = (v53 * v54);
          const f32v v56 = f32_round_f16(v55);
          f16_store_part(p2 + INT64_C(43)*i0 + i1, v56, i1_rest);
          const f32v v57 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const f32v v58 = (v57 - v29);
          const f32v v59 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const f32v v60 = (v58 * v59);
          const f32v v61 = f32_round_f16(v60);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(43), v61, i1_rest);
          const f32v v62 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const f32v v63 = (v62 - v30);
          const f32v v64 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const f32v v65 = (v63 * v64);
          const f32v v66 = f32_round_f16(v65);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(86), v66, i1_rest);
          const f32v v67 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const f32v v68 = (v67 - v31);
          const f32v v69 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const f32v v70 = (v68 * v69);
          const f32v v71 = f32_round_f16(v70);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(129), v71, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a72 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(43); i3 += LANES) {
          const f32v v73 = f16_load(p0 + i3 + INT64_C(43)*i0);
          const f32v v74 = f16_load(p1 + i3 + INT64_C(43)*i0);
          const f32v v75 = (v73 * v74);
          a72 = (a72 + v75);
        }
        if (i3 < INT64_C(43)) {
          const int i3_rest = (int)(INT64_C(43) - i3);
          const f32v v76 = f16_load_part(p0 + i3 + INT64_C(43)*i0, i3_rest);
          const f32v v77 = f16_load_part(p1 + i3 + INT64_C(43)*i0, i3_rest);
          const f32v v78 = (v76 * v77);
          a72 = (a72 + f32_select(lanes_below(i3_rest), v78, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v79 = SPLAT(f32v, f32_sum(a72));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v80 = f16_load(p0 + INT64_C(43)*i0 + i1);
          const f32v v81 = (v80 - v79);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v82 = f16_load(p1 + INT64_C(43)*i0 + i1);
          const f32v v83 = (v81 * v82);
          const f32v v84 = f32_round_f16(v83);
          f16_store(p2 + INT64_C(43)*i0 + i1, v84);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v85 = f16_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v86 = (v85 - v79);
          const f32v v87 = f16_load_part(p1 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v88 = (v86 * v87);
          const f32v v89 = f32_round_f16(v88);
          f16_store_part(p2 + INT64_C(43)*i0 + i1, v89, i1_rest);
        }
      }
    }
  }
}
static void k_softmax_gradient_float16_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own; k_softmax_gradient_float16_nest0(nest->b, nest->s, begin, end, 0);
}
int k_softmax_gradient_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && (INT64_C(215)) + (INT64_C(215)) + (INT64_C(215)) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_softmax_gradient_float16_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads);
  else k_softmax_gradient_float16_nest0(b, s, INT64_C(0), INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
