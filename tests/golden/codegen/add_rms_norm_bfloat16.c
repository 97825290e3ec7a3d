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
      f32v a1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(61); i2 += LANES) {
          const f32v v4 = bf16_load(p0 + i2 + INT64_C(61)*i0);
          const f32v v5 = bf16_load(p1 + i2 + INT64_C(61)*i0);
          const f32v v6 = (v4 + v5);
          const f32v v7 = (v6 * v6);
          a0 = (a0 + v7);
          const f32v v8 = bf16_load(p0 + i2 + INT64_C(61)*i0 + INT64_C(61));
          const f32v v9 = bf16_load(p1 + i2 + INT64_C(61)*i0 + INT64_C(61));
          const f32v v10 = (v8 + v9);
          const f32v v11 = (v10 * v10);
          a1 = (a1 + v11);
          const f32v v12 = bf16_load(p0 + i2 + INT64_C(61)*i0 + INT64_C(122));
          const f32v v13 = bf16_load(p1 + i2 + INT64_C(61)*i0 + INT64_C(122));
          const f32v v14 = (v12 + v13);
          const f32v v15 = (v14 * v14);
          a2 = (a2 + v15);
          const f32v v16 = bf16_load(p0 + i2 + INT64_C(61)*i0 + INT64_C(183));
          const f32v v17 = bf16_load(p1 + i2 + INT64_C(61)*i0 + INT64_C(183));
          const f32v v18 = (v16 + v17);
          const f32v v19 = (v18 * v18);
          a3 = (a3 + v19);
        }
        if (i2 < INT64_C(61)) {
          const int i2_rest = (int)(INT64_C(61) - i2);
          const f32v v4 = bf16_load_part(p0 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v5 = bf16_load_part(p1 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v6 = (v4 + v5);
          const f32v v7 = (v6 * v6);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v7, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v8 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(61), i2_rest);
          const f32v v9 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(61), i2_rest);
          const f32v v10 = (v8 + v9);
          const f32v v11 = (v10 * v10);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v11, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v12 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(122), i2_rest);
          const f32v v13 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(122), i2_rest);
          const f32v v14 = (v12 + v13);
          const f32v v15 = (v14 * v14);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v15, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v16 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(183), i2_rest);
          const f32v v17 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(183), i2_rest);
          const f32v v18 = (v16 + v17);
          const f32v v19 = (v18 * v18);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v19, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v20 = SPLAT(f32v, f32_sum(a0));
      const f32v v21 = SPLAT(f32v, f32_sum(a1));
      const f32v v22 = SPLAT(f32v, f32_sum(a2));
      const f32v v23 = SPLAT(f32v, f32_sum(a3));
      const f32v v27 = (v20 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v28 = (v27 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v29 = f32_rsqrt(v28);
      const f32v v37 = (v21 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v38 = (v37 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v39 = f32_rsqrt(v38);
      const f32v v46 = (v22 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v47 = (v46 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v48 = f32_rsqrt(v47);
      const f32v v55 = (v23 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v56 = (v55 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v57 = f32_rsqrt(v56);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(61); i1 += LANES) {
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v24 = bf16_load(p0 + INT64_C(61)*i0 + i1);
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v25 = bf16_load(p1 + INT64_C(61)*i0 + i1);
          const f32v v26 = (v24 + v25);
          const f32v v30 = (v26 * v29);
          const f32v v31 = bf16_load(p2 + i1);
          const f32v v32 = (v30 * v31);
          const f32v v33 = f32_round_bf16(v32);
          bf16_store(p3 + INT64_C(61)*i0 + i1, v33);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2074));
          const f32v v34 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(61));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2074));
          const f32v v35 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(61));
          const f32v v36 = (v34 + v35);
          const f32v v40 = (v36 * v39);
          const f32v v41 = (v40 * v31);
          const f32v v42 = f32_round_bf16(v41);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(61), v42);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2135));
          const f32v v43 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(122));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2135));
          const f32v v44 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(122));
          const f32v v45 = (v43 + v44);
          const f32v v49 = (v45 * v48);
          const f32v v50 = (v49 * v31);
          const f32v v51 = f32_round_bf16(v50);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(122), v51);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2196));
          const f32v v52 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(183));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2196));
          const f32v v53 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(183));
          const f32v v54 = (v52 + v53);
          const f32v v58 = (v54 * v57);
          const f32v v59 = (v58 * v31);
          const f32v v60 = f32_round_bf16(v59);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(183), v60);
          const f32v v61 = f32_round_bf16(v26);
          bf16_store(p4 + INT64_C(61)*i0 + i1, v61);
          const f32v v62 = f32_round_bf16(v36);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(61), v62);
          const f32v v63 = f32_round_bf16(v45);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(122), v63);
          const f32v v64 = f32_round_bf16(v54);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(183), v64);
        }
        if (i1 < INT64_C(61)) {
          const int i1_rest = (int)(INT64_C(61) - i1);
          const f32v v24 = bf16_load_part(p0 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v25 = bf16_load_part(p1 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v26 = (v24 + v25);
          const f32v v30 = (v26 * v29);
          const f32v v31 = bf16_load_part(p2 + i1, i1_rest);
          const f32v v32 = (v30 * v31);
          const f32v v33 = f32_round_bf16(v32);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1, v33, i1_rest);
          const f32v v34 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(61), i1_rest);
          const f32v v35 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(61), i1_rest);
          const f32v v36 = (v34 + v35);
          const f32v v40 = (v36 * v39);
          const f32v v41 = (v40 * v31);
          const f32v v42 = f32_round_bf16(v41);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(61), v42, i1_rest);
          const f32v v43 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(122), i1_rest);
          const f32v v44 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(122), i1_rest);
          const f32v v45 = (v43 + v44);
          const f32v v49 = (v45 * v48);
          const f32v v50 = (v49 * v31);
          const f32v v51 = f32_round_bf16(v50);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(122), v51, i1_rest);
          const f32v v52 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(183), i1_rest);
          const f32v v53 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(183), i1_rest);
          const f32v v54 = (v52 + v53);
          const f32v v58 = (v54 * v57);
          const f32v v59 = (v58 * v31);
          const f32v v60 = f32_round_bf16(v59);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(183), v60, i1_rest);
          const f32v v61 = f32_round_bf16(v26);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1, v61, i1_rest);
          const f32v v62 = f32_round_bf16(v36);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(61), v62, i1_rest);
          const f32v v63 = f32_round_bf16(v45);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(122), v63, i1_rest);
          const f32v v64 = f32_round_bf16(v54);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(183), v64, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a65 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(61); i3 += LANES) {
          const f32v v66 = bf16_load(p0 + i3 + INT64_C(61)*i0);
          const f32v v67 = bf16_load(p1 + i3 + INT64_C(61)*i0);
          const f32v v68 = (v66 + v67);
          const f32v v69 = (v68 * v68);
          a65 = (a65 + v69);
        }
        if (i3 < INT64_C(61)) {
          const int i3_rest = (int)(INT64_C(61) - i3);
          const f32v v66 = bf16_load_part(p0 + i3 + INT64_C(61)*i0, i3_rest);
          const f32v v67 = bf16_load_part(p1 + i3 + INT64_C(61)*i0, i3_rest);
          const f32v v68 = (v66 + v67);
          const f32v v69 = (v68 * v68);
          a65 = (a65 + f32_select(lanes_below(i3_rest), v69, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v70 = SPLAT(f32v, f32_sum(a65));
      const f32v v74 = (v70 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v75 = (v74 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v76 = f32_rsqrt(v75);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(61); i1 += LANES) {
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v71 = bf16_load(p0 + INT64_C(61)*i0 + i1);
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v72 = bf16_load(p1 + INT64_C(61)*i0 + i1);
          const f32v v73 = (v71 + v72);
          const f32v v77 = (v73 * v76);
          const f32v v78 = bf16_load(p2 + i1);
          const f32v v79 = (v77 * v78);
          const f32v v80 = f32_round_bf16(v79);
          bf16_store(p3 + INT64_C(61)*i0 + i1, v80);
          const f32v v81 = f32_round_bf16(v73);
          bf16_store(p4 + INT64_C(61)*i0 + i1, v81);
        }
        if (i1 < INT64_C(61)) {
          const int i1_rest = (int)(INT64_C(61) - i1);
          const f32v v71 = bf16_load_part(p0 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v72 = bf16_load_part(p1 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v73 = (v71 + v72);
          const f32v v77 = (v73 * v76);
          const f32v v78 = bf16_load_part(p2 + i1, i1_rest);
          const f32v v79 = (v77 * v78);
          const f32v v80 = f32_round_bf16(v79);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1, v80, i1_rest);
          const f32v v81 = f32_round_bf16(v73);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1, v81, i1_rest);
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
