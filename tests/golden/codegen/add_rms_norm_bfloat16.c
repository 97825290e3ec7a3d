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
          const f32v v20 = bf16_load_part(p0 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v21 = bf16_load_part(p1 + i2 + INT64_C(61)*i0, i2_rest);
          const f32v v22 = (v20 + v21);
          const f32v v23 = (v22 * v22);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v23, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v24 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(61), i2_rest);
          const f32v v25 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(61), i2_rest);
          const f32v v26 = (v24 + v25);
          const f32v v27 = (v26 * v26);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v27, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v28 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(122), i2_rest);
          const f32v v29 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(122), i2_rest);
          const f32v v30 = (v28 + v29);
          const f32v v31 = (v30 * v30);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v31, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v32 = bf16_load_part(p0 + i2 + INT64_C(61)*i0 + INT64_C(183), i2_rest);
          const f32v v33 = bf16_load_part(p1 + i2 + INT64_C(61)*i0 + INT64_C(183), i2_rest);
          const f32v v34 = (v32 + v33);
          const f32v v35 = (v34 * v34);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v35, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v36 = SPLAT(f32v, f32_sum(a0));
      const f32v v37 = SPLAT(f32v, f32_sum(a1));
      const f32v v38 = SPLAT(f32v, f32_sum(a2));
      const f32v v39 = SPLAT(f32v, f32_sum(a3));
      const f32v v43 = (v36 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v44 = (v43 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v45 = f32_rsqrt(v44);
      const f32v v53 = (v37 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v54 = (v53 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v55 = f32_rsqrt(v54);
      const f32v v62 = (v38 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v63 = (v62 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v64 = f32_rsqrt(v63);
      const f32v v71 = (v39 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v72 = (v71 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v73 = f32_rsqrt(v72);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(61); i1 += LANES) {
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v40 = bf16_load(p0 + INT64_C(61)*i0 + i1);
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v41 = bf16_load(p1 + INT64_C(61)*i0 + i1);
          const f32v v42 = (v40 + v41);
          const f32v v46 = (v42 * v45);
          const f32v v47 = bf16_load(p2 + i1);
          const f32v v48 = (v46 * v47);
          const f32v v49 = f32_round_bf16(v48);
          bf16_store(p3 + INT64_C(61)*i0 + i1, v49);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2074));
          const f32v v50 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(61));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2074));
          const f32v v51 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(61));
          const f32v v52 = (v50 + v51);
          const f32v v56 = (v52 * v55);
          const f32v v57 = (v56 * v47);
          const f32v v58 = f32_round_bf16(v57);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(61), v58);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2135));
          const f32v v59 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(122));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2135));
          const f32v v60 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(122));
          const f32v v61 = (v59 + v60);
          const f32v v65 = (v61 * v64);
          const f32v v66 = (v65 * v47);
          const f32v v67 = f32_round_bf16(v66);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(122), v67);
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2196));
          const f32v v68 = bf16_load(p0 + INT64_C(61)*i0 + i1 + INT64_C(183));
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2196));
          const f32v v69 = bf16_load(p1 + INT64_C(61)*i0 + i1 + INT64_C(183));
          const f32v v70 = (v68 + v69);
          const f32v v74 = (v70 * v73);
          const f32v v75 = (v74 * v47);
          const f32v v76 = f32_round_bf16(v75);
          bf16_store(p3 + INT64_C(61)*i0 + i1 + INT64_C(183), v76);
          const f32v v77 = f32_round_bf16(v42);
          bf16_store(p4 + INT64_C(61)*i0 + i1, v77);
          const f32v v78 = f32_round_bf16(v52);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(61), v78);
          const f32v v79 = f32_round_bf16(v61);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(122), v79);
          const f32v v80 = f32_round_bf16(v70);
          bf16_store(p4 + INT64_C(61)*i0 + i1 + INT64_C(183), v80);
        }
        if (i1 < INT64_C(61)) {
          const int i1_rest = (int)(INT64_C(61) - i1);
          const f32v v81 = bf16_load_part(p0 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v82 = bf16_load_part(p1 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v83 = (v81 + v82);
          const f32v v84 = (v83 * v45);
          const f32v v85 = bf16_load_part(p2 + i1, i1_rest);
          const f32v v86 = (v84 * v85);
          const f32v v87 = f32_round_bf16(v86);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1, v87, i1_rest);
          const f32v v88 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(61), i1_rest);
          const f32v v89 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(61), i1_rest);
          const f32v v90 = (v88 + v89);
          const f32v v91 = (v90 * v55);
          const f32v v92 = (v91 * v85);
          const f32v v93 = f32_round_bf16(v92);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(61), v93, i1_rest);
          const f32v v94 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(122), i1_rest);
          const f32v v95 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(122), i1_rest);
          const f32v v96 = (v94 + v95);
          const f32v v97 = (v96 * v64);
          const f32v v98 = (v97 * v85);
          const f32v v99 = f32_round_bf16(v98);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(122), v99, i1_rest);
          const f32v v100 = bf16_load_part(p0 + INT64_C(61)*i0 + i1 + INT64_C(183), i1_rest);
          const f32v v101 = bf16_load_part(p1 + INT64_C(61)*i0 + i1 + INT64_C(183), i1_rest);
          const f32v v102 = (v100 + v101);
          const f32v v103 = (v102 * v73);
          const f32v v104 = (v103 * v85);
          const f32v v105 = f32_round_bf16(v104);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1 + INT64_C(183), v105, i1_rest);
          const f32v v106 = f32_round_bf16(v83);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1, v106, i1_rest);
          const f32v v107 = f32_round_bf16(v90);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(61), v107, i1_rest);
          const f32v v108 = f32_round_bf16(v96);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(122), v108, i1_rest);
          const f32v v109 = f32_round_bf16(v102);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1 + INT64_C(183), v109, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a110 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(61); i3 += LANES) {
          const f32v v111 = bf16_load(p0 + i3 + INT64_C(61)*i0);
          const f32v v112 = bf16_load(p1 + i3 + INT64_C(61)*i0);
          const f32v v113 = (v111 + v112);
          const f32v v114 = (v113 * v113);
          a110 = (a110 + v114);
        }
        if (i3 < INT64_C(61)) {
          const int i3_rest = (int)(INT64_C(61) - i3);
          const f32v v115 = bf16_load_part(p0 + i3 + INT64_C(61)*i0, i3_rest);
          const f32v v116 = bf16_load_part(p1 + i3 + INT64_C(61)*i0, i3_rest);
          const f32v v117 = (v115 + v116);
          const f32v v118 = (v117 * v117);
          a110 = (a110 + f32_select(lanes_below(i3_rest), v118, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v119 = SPLAT(f32v, f32_sum(a110));
      const f32v v123 = (v119 * SPLAT(f32v, 0x1.0c9714fbcda3bp-6f));
      const f32v v124 = (v123 + SPLAT(f32v, 0x1.0c6f7a0b5ed8dp-20f));
      const f32v v125 = f32_rsqrt(v124);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(61); i1 += LANES) {
          fetch(p0 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v120 = bf16_load(p0 + INT64_C(61)*i0 + i1);
          fetch(p1 + INT64_C(61)*i0 + i1 + INT64_C(2013));
          const f32v v121 = bf16_load(p1 + INT64_C(61)*i0 + i1);
          const f32v v122 = (v120 + v121);
          const f32v v126 = (v122 * v125);
          const f32v v127 = bf16_load(p2 + i1);
          const f32v v128 = (v126 * v127);
          const f32v v129 = f32_round_bf16(v128);
          bf16_store(p3 + INT64_C(61)*i0 + i1, v129);
          const f32v v130 = f32_round_bf16(v122);
          bf16_store(p4 + INT64_C(61)*i0 + i1, v130);
        }
        if (i1 < INT64_C(61)) {
          const int i1_rest = (int)(INT64_C(61) - i1);
          const f32v v131 = bf16_load_part(p0 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v132 = bf16_load_part(p1 + INT64_C(61)*i0 + i1, i1_rest);
          const f32v v133 = (v131 + v132);
          const f32v v134 = (v133 * v125);
          const f32v v135 = bf16_load_part(p2 + i1, i1_rest);
          const f32v v136 = (v134 * v135);
          const f32v v137 = f32_round_bf16(v136);
          bf16_store_part(p3 + INT64_C(61)*i0 + i1, v137, i1_rest);
          const f32v v138 = f32_round_bf16(v133);
          bf16_store_part(p4 + INT64_C(61)*i0 + i1, v138, i1_rest);
        }
      }
    }
  }
}
int k_add_rms_norm_bfloat16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_add_rms_norm_bfloat16_nest0(b, s, INT64_C(0), INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
