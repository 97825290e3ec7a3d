#include "vector_math.h"
#include "runtime.h"
static void k_layer_norm_gradients_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  float *p4 = (float *)b[4];
  float *p5 = (float *)b[5];
  float *c0 = (float *)rows;
  for (int64_t i = 0; i < INT64_C(50); i++) {
    c0[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
  float *c1 = (float *)(rows + ((INT64_C(50)*4 + 63) & ~INT64_C(63)));
  for (int64_t i = 0; i < INT64_C(50); i++) {
    c1[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
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
        for (; i2 + LANES <= INT64_C(50); i2 += LANES) {
          const f32v v4 = f32_load(p0 + i2 + INT64_C(50)*i0);
          const f32v v5 = f32_load(p2 + i2);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + v6);
          const f32v v7 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v8 = (v7 * v5);
          a1 = (a1 + v8);
          const f32v v9 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v10 = (v9 * v5);
          a2 = (a2 + v10);
          const f32v v11 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v12 = (v11 * v5);
          a3 = (a3 + v12);
        }
        if (i2 < INT64_C(50)) {
          const int i2_rest = (int)(INT64_C(50) - i2);
          const f32v v4 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          const f32v v5 = f32_load_part(p2 + i2, i2_rest);
          const f32v v6 = (v4 * v5);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v7 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(50), i2_rest);
          const f32v v8 = (v7 * v5);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v8, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v9 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(100), i2_rest);
          const f32v v10 = (v9 * v5);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v10, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v11 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(150), i2_rest);
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
      const f32v v25 = f32_one(p3 + i0);
      const f32v v27 = f32_one(p4 + i0);
      const f32v v33 = f32_one(p3 + i0 + INT64_C(1));
      const f32v v35 = f32_one(p4 + i0 + INT64_C(1));
      const f32v v41 = f32_one(p3 + i0 + INT64_C(2));
      const f32v v43 = f32_one(p4 + i0 + INT64_C(2));
      const f32v v49 = f32_one(p3 + i0 + INT64_C(3));
      const f32v v51 = f32_one(p4 + i0 + INT64_C(3));
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v21 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v22 = f32_load(p2 + i3);
          const f32v v23 = (v21 * v22);
          const f32v v24 = f32_load(p1 + i3 + INT64_C(50)*i0);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v26 * v27);
          const f32v v29 = (v23 * v28);
          a17 = (a17 + v29);
          const f32v v30 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v31 = (v30 * v22);
          const f32v v32 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v34 = (v32 - v33);
          const f32v v36 = (v34 * v35);
          const f32v v37 = (v31 * v36);
          a18 = (a18 + v37);
          const f32v v38 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v39 = (v38 * v22);
          const f32v v40 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v42 = (v40 - v41);
          const f32v v44 = (v42 * v43);
          const f32v v45 = (v39 * v44);
          a19 = (a19 + v45);
          const f32v v46 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v47 = (v46 * v22);
          const f32v v48 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v50 = (v48 - v49);
          const f32v v52 = (v50 * v51);
          const f32v v53 = (v47 * v52);
          a20 = (a20 + v53);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v21 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v22 = f32_load_part(p2 + i3, i3_rest);
          const f32v v23 = (v21 * v22);
          const f32v v24 = f32_load_part(p1 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v26 = (v24 - v25);
          const f32v v28 = (v26 * v27);
          const f32v v29 = (v23 * v28);
          a17 = (a17 + f32_select(lanes_below(i3_rest), v29, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v30 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v31 = (v30 * v22);
          const f32v v32 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v34 = (v32 - v33);
          const f32v v36 = (v34 * v35);
          const f32v v37 = (v31 * v36);
          a18 = (a18 + f32_select(lanes_below(i3_rest), v37, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v38 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v39 = (v38 * v22);
          const f32v v40 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v42 = (v40 - v41);
          const f32v v44 = (v42 * v43);
          const f32v v45 = (v39 * v44);
          a19 = (a19 + f32_select(lanes_below(i3_rest), v45, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v46 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v47 = (v46 * v22);
          const f32v v48 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v50 = (v48 - v49);
          const f32v v52 = (v50 * v51);
          const f32v v53 = (v47 * v52);
          a20 = (a20 + f32_select(lanes_below(i3_rest), v53, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v54 = SPLAT(f32v, f32_sum(a17));
      const f32v v55 = SPLAT(f32v, f32_sum(a18));
      const f32v v56 = SPLAT(f32v, f32_sum(a19));
      const f32v v57 = SPLAT(f32v, f32_sum(a20));
      const f32v v80 = (v13 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v82 = (v54 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v87 = (v14 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v89 = (v55 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v94 = (v15 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v96 = (v56 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v101 = (v16 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v103 = (v57 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v58 = f32_load(p0 + INT64_C(50)*i0 + i1);
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v59 = f32_load(p1 + INT64_C(50)*i0 + i1);
          const f32v v60 = (v59 - v25);
          const f32v v61 = (v60 * v27);
          const f32v v62 = (v58 * v61);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v63 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(50));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v64 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(50));
          const f32v v65 = (v64 - v33);
          const f32v v66 = (v65 * v35);
          const f32v v67 = (v63 * v66);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v68 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(100));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v69 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(100));
          const f32v v70 = (v69 - v41);
          const f32v v71 = (v70 * v43);
          const f32v v72 = (v68 * v71);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v73 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(150));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v74 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(150));
          const f32v v75 = (v74 - v49);
          const f32v v76 = (v75 * v51);
          const f32v v77 = (v73 * v76);
          f32_store(c0 + i1, ((((f32_load(c0 + i1) + v62) + v67) + v72) + v77));
          f32_store(c1 + i1, ((((f32_load(c1 + i1) + v58) + v63) + v68) + v73));
          const f32v v78 = f32_load(p2 + i1);
          const f32v v79 = (v58 * v78);
          const f32v v81 = (v79 - v80);
          const f32v v83 = (v61 * v82);
          const f32v v84 = (v81 - v83);
          const f32v v85 = (v84 * v27);
          f32_store(p5 + INT64_C(50)*i0 + i1, v85);
          const f32v v86 = (v63 * v78);
          const f32v v88 = (v86 - v87);
          const f32v v90 = (v66 * v89);
          const f32v v91 = (v88 - v90);
          const f32v v92 = (v91 * v35);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(50), v92);
          const f32v v93 = (v68 * v78);
          const f32v v95 = (v93 - v94);
          const f32v v97 = (v71 * v96);
          const f32v v98 = (v95 - v97);
          const f32v v99 = (v98 * v43);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(100), v99);
          const f32v v100 = (v73 * v78);
          const f32v v102 = (v100 - v101);
          const f32v v104 = (v76 * v103);
          const f32v v105 = (v102 - v104);
          const f32v v106 = (v105 * v51);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(150), v106);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v58 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v59 = f32_load_part(p1 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v60 = (v59 - v25);
          const f32v v61 = (v60 * v27);
          const f32v v62 = (v58 * v61);
          const f32v v63 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v64 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v65 = (v64 - v33);
          const f32v v66 = (v65 * v35);
          const f32v v67 = (v63 * v66);
          const f32v v68 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v69 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v70 = (v69 - v41);
          const f32v v71 = (v70 * v43);
          const f32v v72 = (v68 * v71);
          const f32v v73 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v74 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v75 = (v74 - v49);
          const f32v v76 = (v75 * v51);
          const f32v v77 = (v73 * v76);
          f32_store_part(c0 + i1, ((((f32_load_part(c0 + i1, i1_rest) + v62) + v67) + v72) + v77), i1_rest);
          f32_store_part(c1 + i1, ((((f32_load_part(c1 + i1, i1_rest) + v58) + v63) + v68) + v73), i1_rest);
          const f32v v78 = f32_load_part(p2 + i1, i1_rest);
          const f32v v79 = (v58 * v78);
          const f32v v81 = (v79 - v80);
          const f32v v83 = (v61 * v82);
          const f32v v84 = (v81 - v83);
          const f32v v85 = (v84 * v27);
          f32_store_part(p5 + INT64_C(50)*i0 + i1, v85, i1_rest);
          const f32v v86 = (v63 * v78);
          const f32v v88 = (v86 - v87);
          const f32v v90 = (v66 * v89);
          const f32v v91 = (v88 - v90);
          const f32v v92 = (v91 * v35);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(50), v92, i1_rest);
          const f32v v93 = (v68 * v78);
          const f32v v95 = (v93 - v94);
          const f32v v97 = (v71 * v96);
          const f32v v98 = (v95 - v97);
          const f32v v99 = (v98 * v43);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(100), v99, i1_rest);
          const f32v v100 = (v73 * v78);
          const f32v v102 = (v100 - v101);
          const f32v v104 = (v76 * v103);
          const f32v v105 = (v102 - v104);
          const f32v v106 = (v105 * v51);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(150), v106, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a107 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(50); i4 += LANES) {
          const f32v v108 = f32_load(p0 + i4 + INT64_C(50)*i0);
          const f32v v109 = f32_load(p2 + i4);
          const f32v v110 = (v108 * v109);
          a107 = (a107 + v110);
        }
        if (i4 < INT64_C(50)) {
          const int i4_rest = (int)(INT64_C(50) - i4);
          const f32v v108 = f32_load_part(p0 + i4 + INT64_C(50)*i0, i4_rest);
          const f32v v109 = f32_load_part(p2 + i4, i4_rest);
          const f32v v110 = (v108 * v109);
          a107 = (a107 + f32_select(lanes_below(i4_rest), v110, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v111 = SPLAT(f32v, f32_sum(a107));
      f32v a112 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v117 = f32_one(p3 + i0);
      const f32v v119 = f32_one(p4 + i0);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(50); i5 += LANES) {
          const f32v v113 = f32_load(p0 + i5 + INT64_C(50)*i0);
          const f32v v114 = f32_load(p2 + i5);
          const f32v v115 = (v113 * v114);
          const f32v v116 = f32_load(p1 + i5 + INT64_C(50)*i0);
          const f32v v118 = (v116 - v117);
          const f32v v120 = (v118 * v119);
          const f32v v121 = (v115 * v120);
          a112 = (a112 + v121);
        }
        if (i5 < INT64_C(50)) {
          const int i5_rest = (int)(INT64_C(50) - i5);
          const f32v v113 = f32_load_part(p0 + i5 + INT64_C(50)*i0, i5_rest);
          const f32v v114 = f32_load_part(p2 + i5, i5_rest);
          const f32v v115 = (v113 * v114);
          const f32v v116 = f32_load_part(p1 + i5 + INT64_C(50)*i0, i5_rest);
          const f32v v118 = (v116 - v117);
          const f32v v120 = (v118 * v119);
          const f32v v121 = (v115 * v120);
          a112 = (a112 + f32_select(lanes_below(i5_rest), v121, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v122 = SPLAT(f32v, f32_sum(a112));
      const f32v v130 = (v111 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v132 = (v122 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v123 = f32_load(p0 + INT64_C(50)*i0 + i1);
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v124 = f32_load(p1 + INT64_C(50)*i0 + i1);
          const f32v v125 = (v124 - v117);
          const f32v v126 = (v125 * v119);
          const f32v v127 = (v123 * v126);
          f32_store(c0 + i1, (f32_load(c0 + i1) + v127));
          f32_store(c1 + i1, (f32_load(c1 + i1) + v123));
          const f32v v128 = f32_load(p2 + i1);
          const f32v v129 = (v123 * v128);
          const f32v v131 = (v129 - v130);
          const f32v v133 = (v126 * v132);
          const f32v v134 = (v131 - v133);
          const f32v v135 = (v134 * v119);
          f32_store(p5 + INT64_C(50)*i0 + i1, v135);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v123 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v124 = f32_load_part(p1 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v125 = (v124 - v117);
          const f32v v126 = (v125 * v119);
          const f32v v127 = (v123 * v126);
          f32_store_part(c0 + i1, (f32_load_part(c0 + i1, i1_rest) + v127), i1_rest);
          f32_store_part(c1 + i1, (f32_load_part(c1 + i1, i1_rest) + v123), i1_rest);
          const f32v v128 = f32_load_part(p2 + i1, i1_rest);
          const f32v v129 = (v123 * v128);
          const f32v v131 = (v129 - v130);
          const f32v v133 = (v126 * v132);
          const f32v v134 = (v131 - v133);
          const f32v v135 = (v134 * v119);
          f32_store_part(p5 + INT64_C(50)*i0 + i1, v135, i1_rest);
        }
      }
    }
  }
}
static void k_layer_norm_gradients_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_layer_norm_gradients_nest0(nest->b, nest->s, begin, end, 0, own);
}
static void k_layer_norm_gradients_nest0_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  float *p6 = (float *)b[6];
  float *p7 = (float *)b[7];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(50); i += LANES) {
    const int64_t left = INT64_C(50) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load_part((float *)rows + i, n);
    for (int t = 1; t < used; t++) {
      v = (v + f32_load_part((float *)(rows + t*row_bytes) + i, n));
    }
    f32_store_part(p6 + i, v, n);
  }
  for (int64_t i = 0; i < INT64_C(50); i += LANES) {
    const int64_t left = INT64_C(50) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load_part((float *)(rows + ((INT64_C(50)*4 + 63) & ~INT64_C(63))) + i, n);
    for (int t = 1; t < used; t++) {
      v = (v + f32_load_part((float *)(rows + t*row_bytes + ((INT64_C(50)*4 + 63) & ~INT64_C(63))) + i, n));
    }
    f32_store_part(p7 + i, v, n);
  }
}
int k_layer_norm_gradients(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  {
    const int64_t row_bytes = ((INT64_C(50)*4 + 63) & ~INT64_C(63)) + ((INT64_C(50)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(300) + INT64_C(300) + INT64_C(50) + INT64_C(6) + INT64_C(6) + INT64_C(300) + INT64_C(50) + INT64_C(50) >= 524288) used = share_nest(&(struct shared_nest){.run = k_layer_norm_gradients_nest0_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_layer_norm_gradients_nest0(b, s, 0, INT64_C(6), 0, rows);
    k_layer_norm_gradients_nest0_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
