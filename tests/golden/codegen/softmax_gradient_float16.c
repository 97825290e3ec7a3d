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
          const f32v v4 = f16_load_part(p0 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v5 = f16_load_part(p1 + i2 + INT64_C(43)*i0, i2_rest);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v7 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          const f32v v8 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          const f32v v9 = (v7 * v8);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v9, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v10 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          const f32v v11 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          const f32v v12 = (v10 * v11);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v12, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v13 = f16_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
          const f32v v14 = f16_load_part(p1 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
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
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v20 = f16_load(p0 + INT64_C(43)*i0 + i1);
          const f32v v21 = (v20 - v16);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v22 = f16_load(p1 + INT64_C(43)*i0 + i1);
          const f32v v23 = (v21 * v22);
          const f32v v24 = f32_round_f16(v23);
          f16_store(p2 + INT64_C(43)*i0 + i1, v24);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2064));
          const f32v v25 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const f32v v26 = (v25 - v17);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2064));
          const f32v v27 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const f32v v28 = (v26 * v27);
          const f32v v29 = f32_round_f16(v28);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(43), v29);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2107));
          const f32v v30 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const f32v v31 = (v30 - v18);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2107));
          const f32v v32 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const f32v v33 = (v31 * v32);
          const f32v v34 = f32_round_f16(v33);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(86), v34);
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2150));
          const f32v v35 = f16_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const f32v v36 = (v35 - v19);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2150));
          const f32v v37 = f16_load(p1 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const f32v v38 = (v36 * v37);
          const f32v v39 = f32_round_f16(v38);
          f16_store(p2 + INT64_C(43)*i0 + i1 + INT64_C(129), v39);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v20 = f16_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v21 = (v20 - v16);
          const f32v v22 = f16_load_part(p1 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v23 = (v21 * v22);
          const f32v v24 = f32_round_f16(v23);
          f16_store_part(p2 + INT64_C(43)*i0 + i1, v24, i1_rest);
          const f32v v25 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const f32v v26 = (v25 - v17);
          const f32v v27 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const f32v v28 = (v26 * v27);
          const f32v v29 = f32_round_f16(v28);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(43), v29, i1_rest);
          const f32v v30 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const f32v v31 = (v30 - v18);
          const f32v v32 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const f32v v33 = (v31 * v32);
          const f32v v34 = f32_round_f16(v33);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(86), v34, i1_rest);
          const f32v v35 = f16_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const f32v v36 = (v35 - v19);
          const f32v v37 = f16_load_part(p1 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const f32v v38 = (v36 * v37);
          const f32v v39 = f32_round_f16(v38);
          f16_store_part(p2 + INT64_C(43)*i0 + i1 + INT64_C(129), v39, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a40 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(43); i3 += LANES) {
          const f32v v41 = f16_load(p0 + i3 + INT64_C(43)*i0);
          const f32v v42 = f16_load(p1 + i3 + INT64_C(43)*i0);
          const f32v v43 = (v41 * v42);
          a40 = (a40 + v43);
        }
        if (i3 < INT64_C(43)) {
          const int i3_rest = (int)(INT64_C(43) - i3);
          const f32v v41 = f16_load_part(p0 + i3 + INT64_C(43)*i0, i3_rest);
          const f32v v42 = f16_load_part(p1 + i3 + INT64_C(43)*i0, i3_rest);
          const f32v v43 = (v41 * v42);
          a40 = (a40 + f32_select(lanes_below(i3_rest), v43, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v44 = SPLAT(f32v, f32_sum(a40));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v45 = f16_load(p0 + INT64_C(43)*i0 + i1);
          const f32v v46 = (v45 - v44);
          fetch(p1 + INT64_C(43)*i0 + i1 + INT64_C(2021));
          const f32v v47 = f16_load(p1 + INT64_C(43)*i0 + i1);
          const f32v v48 = (v46 * v47);
          const f32v v49 = f32_round_f16(v48);
          f16_store(p2 + INT64_C(43)*i0 + i1, v49);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v45 = f16_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v46 = (v45 - v44);
          const f32v v47 = f16_load_part(p1 + INT64_C(43)*i0 + i1, i1_rest);
          const f32v v48 = (v46 * v47);
          const f32v v49 = f32_round_f16(v48);
          f16_store_part(p2 + INT64_C(43)*i0 + i1, v49, i1_rest);
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
