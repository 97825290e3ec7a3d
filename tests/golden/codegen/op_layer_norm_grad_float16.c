#include "vector_math.h"
#include "runtime.h"
static void k_op_layer_norm_grad_float16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p2 = (uint16_t *)b[2];
  float *p8 = (float *)b[8];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f16_load(p2 + i0);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.19799812dea11p-40f));
      const f32v v2 = f32_rsqrt(v1);
      f32_store(p8 + i0, v2);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f16_load_part(p2 + i0, i0_rest);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.19799812dea11p-40f));
      const f32v v2 = f32_rsqrt(v1);
      f32_store_part(p8 + i0, v2, i0_rest);
    }
  }
}
static void k_op_layer_norm_grad_float16_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  uint16_t *p3 = (uint16_t *)b[3];
  uint16_t *p4 = (uint16_t *)b[4];
  uint16_t *p5 = (uint16_t *)b[5];
  float *p8 = (float *)b[8];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row117[34];
  _Alignas(64) float row56[34];
  _Alignas(64) float row47[34];
  _Alignas(64) float row38[34];
  _Alignas(64) float row29[34];
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      f32v a1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(34); i2 += LANES) {
          const f32v v4 = f16_load(p0 + i2 + INT64_C(34)*i0);
          const f32v v5 = f16_load(p4 + i2);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + v6);
          const f32v v7 = f16_load(p0 + i2 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v8 = (v7 * v5);
          a1 = (a1 + v8);
          const f32v v9 = f16_load(p0 + i2 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v10 = (v9 * v5);
          a2 = (a2 + v10);
          const f32v v11 = f16_load(p0 + i2 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v12 = (v11 * v5);
          a3 = (a3 + v12);
        }
        if (i2 < INT64_C(34)) {
          const int i2_rest = (int)(INT64_C(34) - i2);
          const f32v v4 = f16_load_part(p0 + i2 + INT64_C(34)*i0, i2_rest);
          const f32v v5 = f16_load_part(p4 + i2, i2_rest);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v7 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(34), i2_rest);
          const f32v v8 = (v7 * v5);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v8, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v9 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(68), i2_rest);
          const f32v v10 = (v9 * v5);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v10, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v11 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(102), i2_rest);
          const f32v v12 = (v11 * v5);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v12, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v13 = SPLAT(f32v, f32_sum(a0));
      const f32v v14 = SPLAT(f32v, f32_sum(a1));
      const f32v v15 = SPLAT(f32v, f32_sum(a2));
      const f32v v16 = SPLAT(f32v, f32_sum(a3));
      f32v a17 = SPLAT(f32v, 0x0.0p+0f);
      f32v a18 = SPLAT(f32v, 0x0.0p+0f);
      f32v a19 = SPLAT(f32v, 0x0.0p+0f);
      f32v a20 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v25 = f16_one(p3 + i0);
      const f32v v27 = f32_one(p8 + i0);
      const f32v v34 = f16_one(p3 + i0 + INT64_C(1));
      const f32v v36 = f32_one(p8 + i0 + INT64_C(1));
      const f32v v43 = f16_one(p3 + i0 + INT64_C(2));
      const f32v v45 = f32_one(p8 + i0 + INT64_C(2));
      const f32v v52 = f16_one(p3 + i0 + INT64_C(3));
      const f32v v54 = f32_one(p8 + i0 + INT64_C(3));
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(34); i3 += LANES) {
          const f32v v21 = f16_load(p0 + i3 + INT64_C(34)*i0);
          const f32v v22 = f16_load(p4 + i3);
          const f32v v23 = (v21 * v22);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2040));
          const f32v v24 = f16_load(p1 + i3 + INT64_C(34)*i0);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v26 * v27);
          f32_store(row29 + i3, v28);
          const f32v v30 = (v23 * v28);
          a17 = (a17 + v30);
          const f32v v31 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v32 = (v31 * v22);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2074));
          const f32v v33 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v35 = (v33 - v34);
          const f32v v37 = (v35 * v36);
          f32_store(row38 + i3, v37);
          const f32v v39 = (v32 * v37);
          a18 = (a18 + v39);
          const f32v v40 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v41 = (v40 * v22);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2108));
          const f32v v42 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v44 = (v42 - v43);
          const f32v v46 = (v44 * v45);
          f32_store(row47 + i3, v46);
          const f32v v48 = (v41 * v46);
          a19 = (a19 + v48);
          const f32v v49 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v50 = (v49 * v22);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2142));
          const f32v v51 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v53 = (v51 - v52);
          const f32v v55 = (v53 * v54);
          f32_store(row56 + i3, v55);
          const f32v v57 = (v50 * v55);
          a20 = (a20 + v57);
        }
        if (i3 < INT64_C(34)) {
          const int i3_rest = (int)(INT64_C(34) - i3);
          const f32v v21 = f16_load_part(p0 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v22 = f16_load_part(p4 + i3, i3_rest);
          const f32v v23 = (v21 * v22);
          const f32v v24 = f16_load_part(p1 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v26 * v27);
          f32_store_part(row29 + i3, v28, i3_rest);
          const f32v v30 = (v23 * v28);
          a17 = (a17 + f32_select(lanes_below(i3_rest), v30, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v31 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(34), i3_rest);
          const f32v v32 = (v31 * v22);
          const f32v v33 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(34), i3_rest);
          const f32v v35 = (v33 - v34);
          const f32v v37 = (v35 * v36);
          f32_store_part(row38 + i3, v37, i3_rest);
          const f32v v39 = (v32 * v37);
          a18 = (a18 + f32_select(lanes_below(i3_rest), v39, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v40 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(68), i3_rest);
          const f32v v41 = (v40 * v22);
          const f32v v42 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(68), i3_rest);
          const f32v v44 = (v42 - v43);
          const f32v v46 = (v44 * v45);
          f32_store_part(row47 + i3, v46, i3_rest);
          const f32v v48 = (v41 * v46);
          a19 = (a19 + f32_select(lanes_below(i3_rest), v48, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v49 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(102), i3_rest);
          const f32v v50 = (v49 * v22);
          const f32v v51 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(102), i3_rest);
          const f32v v53 = (v51 - v52);
          const f32v v55 = (v53 * v54);
          f32_store_part(row56 + i3, v55, i3_rest);
          const f32v v57 = (v50 * v55);
          a20 = (a20 + f32_select(lanes_below(i3_rest), v57, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v58 = SPLAT(f32v, f32_sum(a17));
      const f32v v59 = SPLAT(f32v, f32_sum(a18));
      const f32v v60 = SPLAT(f32v, f32_sum(a19));
      const f32v v61 = SPLAT(f32v, f32_sum(a20));
      const f32v v65 = (v13 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v68 = (v58 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v75 = (v14 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v78 = (v59 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v85 = (v15 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v88 = (v60 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v95 = (v16 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v98 = (v61 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(34); i1 += LANES) {
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2040));
          const f32v v62 = f16_load(p0 + INT64_C(34)*i0 + i1);
          const f32v v63 = f16_load(p4 + i1);
          const f32v v64 = (v62 * v63);
          const f32v v66 = (v64 - v65);
          const f32v v67 = f32_load(row29 + i1);
          const f32v v69 = (v67 * v68);
          const f32v v70 = (v66 - v69);
          const f32v v71 = (v70 * v27);
          const f32v v72 = f32_round_f16(v71);
          f16_store(p5 + INT64_C(34)*i0 + i1, v72);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2074));
          const f32v v73 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(34));
          const f32v v74 = (v73 * v63);
          const f32v v76 = (v74 - v75);
          const f32v v77 = f32_load(row38 + i1);
          const f32v v79 = (v77 * v78);
          const f32v v80 = (v76 - v79);
          const f32v v81 = (v80 * v36);
          const f32v v82 = f32_round_f16(v81);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(34), v82);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2108));
          const f32v v83 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(68));
          const f32v v84 = (v83 * v63);
          const f32v v86 = (v84 - v85);
          const f32v v87 = f32_load(row47 + i1);
          const f32v v89 = (v87 * v88);
          const f32v v90 = (v86 - v89);
          const f32v v91 = (v90 * v45);
          const f32v v92 = f32_round_f16(v91);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(68), v92);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2142));
          const f32v v93 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(102));
          const f32v v94 = (v93 * v63);
          const f32v v96 = (v94 - v95);
          const f32v v97 = f32_load(row56 + i1);
          const f32v v99 = (v97 * v98);
          const f32v v100 = (v96 - v99);
          const f32v v101 = (v100 * v54);
          const f32v v102 = f32_round_f16(v101);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(102), v102);
        }
        if (i1 < INT64_C(34)) {
          const int i1_rest = (int)(INT64_C(34) - i1);
          const f32v v62 = f16_load_part(p0 + INT64_C(34)*i0 + i1, i1_rest);
          const f32v v63 = f16_load_part(p4 + i1, i1_rest);
          const f32v v64 = (v62 * v63);
          const f32v v66 = (v64 - v65);
          const f32v v67 = f32_load_part(row29 + i1, i1_rest);
          const f32v v69 = (v67 * v68);
          const f32v v70 = (v66 - v69);
          const f32v v71 = (v70 * v27);
          const f32v v72 = f32_round_f16(v71);
          f16_store_part(p5 + INT64_C(34)*i0 + i1, v72, i1_rest);
          const f32v v73 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(34), i1_rest);
          const f32v v74 = (v73 * v63);
          const f32v v76 = (v74 - v75);
          const f32v v77 = f32_load_part(row38 + i1, i1_rest);
          const f32v v79 = (v77 * v78);
          const f32v v80 = (v76 - v79);
          const f32v v81 = (v80 * v36);
          const f32v v82 = f32_round_f16(v81);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(34), v82, i1_rest);
          const f32v v83 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(68), i1_rest);
          const f32v v84 = (v83 * v63);
          const f32v v86 = (v84 - v85);
          const f32v v87 = f32_load_part(row47 + i1, i1_rest);
          const f32v v89 = (v87 * v88);
          const f32v v90 = (v86 - v89);
          const f32v v91 = (v90 * v45);
          const f32v v92 = f32_round_f16(v91);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(68), v92, i1_rest);
          const f32v v93 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(102), i1_rest);
          const f32v v94 = (v93 * v63);
          const f32v v96 = (v94 - v95);
          const f32v v97 = f32_load_part(row56 + i1, i1_rest);
          const f32v v99 = (v97 * v98);
          const f32v v100 = (v96 - v99);
          const f32v v101 = (v100 * v54);
          const f32v v102 = f32_round_f16(v101);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(102), v102, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a103 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(34); i4 += LANES) {
          const f32v v104 = f16_load(p0 + i4 + INT64_C(34)*i0);
          const f32v v105 = f16_load(p4 + i4);
          const f32v v106 = (v104 * v105);
          a103 = (a103 + v106);
        }
        if (i4 < INT64_C(34)) {
          const int i4_rest = (int)(INT64_C(34) - i4);
          const f32v v104 = f16_load_part(p0 + i4 + INT64_C(34)*i0, i4_rest);
          const f32v v105 = f16_load_part(p4 + i4, i4_rest);
          const f32v v106 = (v104 * v105);
          a103 = (a103 + f32_select(lanes_below(i4_rest), v106, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v107 = SPLAT(f32v, f32_sum(a103));
      f32v a108 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v113 = f16_one(p3 + i0);
      const f32v v115 = f32_one(p8 + i0);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(34); i5 += LANES) {
          const f32v v109 = f16_load(p0 + i5 + INT64_C(34)*i0);
          const f32v v110 = f16_load(p4 + i5);
          const f32v v111 = (v109 * v110);
          fetch(p1 + i5 + INT64_C(34)*i0 + INT64_C(2040));
          const f32v v112 = f16_load(p1 + i5 + INT64_C(34)*i0);
          const f32v v114 = (v112 - v113);
          const f32v v116 = (v114 * v115);
          f32_store(row117 + i5, v116);
          const f32v v118 = (v111 * v116);
          a108 = (a108 + v118);
        }
        if (i5 < INT64_C(34)) {
          const int i5_rest = (int)(INT64_C(34) - i5);
          const f32v v109 = f16_load_part(p0 + i5 + INT64_C(34)*i0, i5_rest);
          const f32v v110 = f16_load_part(p4 + i5, i5_rest);
          const f32v v111 = (v109 * v110);
          const f32v v112 = f16_load_part(p1 + i5 + INT64_C(34)*i0, i5_rest);
          const f32v v114 = (v112 - v113);
          const f32v v116 = (v114 * v115);
          f32_store_part(row117 + i5, v116, i5_rest);
          const f32v v118 = (v111 * v116);
          a108 = (a108 + f32_select(lanes_below(i5_rest), v118, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v119 = SPLAT(f32v, f32_sum(a108));
      const f32v v123 = (v107 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v126 = (v119 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(34); i1 += LANES) {
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2040));
          const f32v v120 = f16_load(p0 + INT64_C(34)*i0 + i1);
          const f32v v121 = f16_load(p4 + i1);
          const f32v v122 = (v120 * v121);
          const f32v v124 = (v122 - v123);
          const f32v v125 = f32_load(row117 + i1);
          const f32v v127 = (v125 * v126);
          const f32v v128 = (v124 - v127);
          const f32v v129 = (v128 * v115);
          const f32v v130 = f32_round_f16(v129);
          f16_store(p5 + INT64_C(34)*i0 + i1, v130);
        }
        if (i1 < INT64_C(34)) {
          const int i1_rest = (int)(INT64_C(34) - i1);
          const f32v v120 = f16_load_part(p0 + INT64_C(34)*i0 + i1, i1_rest);
          const f32v v121 = f16_load_part(p4 + i1, i1_rest);
          const f32v v122 = (v120 * v121);
          const f32v v124 = (v122 - v123);
          const f32v v125 = f32_load_part(row117 + i1, i1_rest);
          const f32v v127 = (v125 * v126);
          const f32v v128 = (v124 - v127);
          const f32v v129 = (v128 * v115);
          const f32v v130 = f32_round_f16(v129);
          f16_store_part(p5 + INT64_C(34)*i0 + i1, v130, i1_rest);
        }
      }
    }
  }
}
static void k_op_layer_norm_grad_float16_nest2(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  uint16_t *p3 = (uint16_t *)b[3];
  uint16_t *p6 = (uint16_t *)b[6];
  uint16_t *p7 = (uint16_t *)b[7];
  float *p8 = (float *)b[8];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i1 = 0; i1 < INT64_C(4); i1++) {
        const f32v v1 = f16_load(p0 + INT64_C(34)*i1 + i0);
        const f32v v2 = f16_load(p1 + INT64_C(34)*i1 + i0);
        const f32v v3 = f16_one(p3 + i1);
        const f32v v4 = (v2 - v3);
        const f32v v5 = f32_one(p8 + i1);
        const f32v v6 = (v4 * v5);
        const f32v v7 = (v1 * v6);
        a0 = (a0 + v7);
      }
      const f32v v8 = f32_round_f16(a0);
      f16_store(p6 + i0, v8);
      f32v a9 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i2 = 0; i2 < INT64_C(4); i2++) {
        const f32v v10 = f16_load(p0 + INT64_C(34)*i2 + i0);
        a9 = (a9 + v10);
      }
      const f32v v11 = f32_round_f16(a9);
      f16_store(p7 + i0, v11);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i1 = 0; i1 < INT64_C(4); i1++) {
        const f32v v1 = f16_load_part(p0 + INT64_C(34)*i1 + i0, i0_rest);
        const f32v v2 = f16_load_part(p1 + INT64_C(34)*i1 + i0, i0_rest);
        const f32v v3 = f16_one(p3 + i1);
        const f32v v4 = (v2 - v3);
        const f32v v5 = f32_one(p8 + i1);
        const f32v v6 = (v4 * v5);
        const f32v v7 = (v1 * v6);
        a0 = (a0 + v7);
      }
      const f32v v8 = f32_round_f16(a0);
      f16_store_part(p6 + i0, v8, i0_rest);
      f32v a9 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i2 = 0; i2 < INT64_C(4); i2++) {
        const f32v v10 = f16_load_part(p0 + INT64_C(34)*i2 + i0, i0_rest);
        a9 = (a9 + v10);
      }
      const f32v v11 = f32_round_f16(a9);
      f16_store_part(p7 + i0, v11, i0_rest);
    }
  }
}
int k_op_layer_norm_grad_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[9];
  memcpy(all, b, 8*sizeof(void *));
  b = all;
  memset(all + 8, 0, sizeof(all) - 8*sizeof(void *));
  all[8] = aligned_alloc(64, (INT64_C(4)*4 + 127) & ~INT64_C(63));
  if (!all[8]) {
    missing = 1;
    goto done;
  }
  k_op_layer_norm_grad_float16_nest0(b, s, 0, INT64_C(4), 0);
  k_op_layer_norm_grad_float16_nest1(b, s, 0, INT64_C(4), 0);
  k_op_layer_norm_grad_float16_nest2(b, s, 0, INT64_C(34), 0);
  free(all[8]);
  all[8] = 0;
  goto done;
  done:
  free(all[8]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
