#include "vector_math.h"
#include "runtime.h"
static void k_layer_norm_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  float *p4 = (float *)b[4];
  float *p5 = (float *)b[5];
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
          a0 = (a0 + v4);
          const f32v v5 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(50));
          a1 = (a1 + v5);
          const f32v v6 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(100));
          a2 = (a2 + v6);
          const f32v v7 = f32_load(p0 + i2 + INT64_C(50)*i0 + INT64_C(150));
          a3 = (a3 + v7);
        }
        if (i2 < INT64_C(50)) {
          const int i2_rest = (int)(INT64_C(50) - i2);
          const f32v v8 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v8, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v9 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(50), i2_rest);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v9, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v10 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(100), i2_rest);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v10, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v11 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(150), i2_rest);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v11, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v12 = SPLAT(f32v, f32_sum(a0));
      const f32v v13 = SPLAT(f32v, f32_sum(a1));
      const f32v v14 = SPLAT(f32v, f32_sum(a2));
      const f32v v15 = SPLAT(f32v, f32_sum(a3));
      const f32v v16 = (v12 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0, v16, 1);
      const f32v v17 = (v13 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(1), v17, 1);
      const f32v v18 = (v14 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(2), v18, 1);
      const f32v v19 = (v15 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(3), v19, 1);
      f32v a20 = SPLAT(f32v, 0x0.0p+0f);
      f32v a21 = SPLAT(f32v, 0x0.0p+0f);
      f32v a22 = SPLAT(f32v, 0x0.0p+0f);
      f32v a23 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v24 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v25 = (v24 - v16);
          const f32v v26 = (v25 * v25);
          a20 = (a20 + v26);
          const f32v v27 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v28 = (v27 - v17);
          const f32v v29 = (v28 * v28);
          a21 = (a21 + v29);
          const f32v v30 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v31 = (v30 - v18);
          const f32v v32 = (v31 * v31);
          a22 = (a22 + v32);
          const f32v v33 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v34 = (v33 - v19);
          const f32v v35 = (v34 * v34);
          a23 = (a23 + v35);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v36 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v37 = (v36 - v16);
          const f32v v38 = (v37 * v37);
          a20 = (a20 + f32_select(lanes_below(i3_rest), v38, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v39 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v40 = (v39 - v17);
          const f32v v41 = (v40 * v40);
          a21 = (a21 + f32_select(lanes_below(i3_rest), v41, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v42 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v43 = (v42 - v18);
          const f32v v44 = (v43 * v43);
          a22 = (a22 + f32_select(lanes_below(i3_rest), v44, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v45 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v46 = (v45 - v19);
          const f32v v47 = (v46 * v46);
          a23 = (a23 + f32_select(lanes_below(i3_rest), v47, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v48 = SPLAT(f32v, f32_sum(a20));
      const f32v v49 = SPLAT(f32v, f32_sum(a21));
      const f32v v50 = SPLAT(f32v, f32_sum(a22));
      const f32v v51 = SPLAT(f32v, f32_sum(a23));
      const f32v v52 = (v48 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v53 = (v52 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v54 = f32_rsqrt(v53);
      f32_store_part(p5 + i0, v54, 1);
      const f32v v55 = (v49 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v56 = (v55 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v57 = f32_rsqrt(v56);
      f32_store_part(p5 + i0 + INT64_C(1), v57, 1);
      const f32v v58 = (v50 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v59 = (v58 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v60 = f32_rsqrt(v59);
      f32_store_part(p5 + i0 + INT64_C(2), v60, 1);
      const f32v v61 = (v51 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v62 = (v61 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v63 = f32_rsqrt(v62);
      f32_store_part(p5 + i0 + INT64_C(3), v63, 1);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v64 = f32_load(p0 + INT64_C(50)*i0 + i1);
          const f32v v65 = (v64 - v16);
          const f32v v66 = (v65 * v54);
          const f32v v67 = f32_load(p1 + i1);
          const f32v v68 = (v66 * v67);
          const f32v v69 = f32_load(p2 + i1);
          const f32v v70 = (v68 + v69);
          f32_store(p3 + INT64_C(50)*i0 + i1, v70);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v71 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(50));
          const f32v v72 = (v71 - v17);
          const f32v v73 = (v72 * v57);
          const f32v v74 = (v73 * v67);
          const f32v v75 = (v74 + v69);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(50), v75);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v76 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(100));
          const f32v v77 = (v76 - v18);
          const f32v v78 = (v77 * v60);
          const f32v v79 = (v78 * v67);
          const f32v v80 = (v79 + v69);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(100), v80);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v81 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(150));
          const f32v v82 = (v81 - v19);
          const f32v v83 = (v82 * v63);
          const f32v v84 = (v83 * v67);
          const f32v v85 = (v84 + v69);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(150), v85);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v86 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v87 = (v86 - v16);
          const f32v v88 = (v87 * v54);
          const f32v v89 = f32_load_part(p1 + i1, i1_rest);
          const f32v v90 = (v88 * v89);
          const f32v v91 = f32_load_part(p2 + i1, i1_rest);
          const f32v v92 = (v90 + v91);
          f32_store_part(p3 + INT64_C(50)*i0 + i1, v92, i1_rest);
          const f32v v93 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v94 = (v93 - v17);
          const f32v v95 = (v94 * v57);
          const f32v v96 = (v95 * v89);
          const f32v v97 = (v96 + v91);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(50), v97, i1_rest);
          const f32v v98 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v99 = (v98 - v18);
          const f32v v100 = (v99 * v60);
          const f32v v101 = (v100 * v89);
          const f32v v102 = (v101 + v91);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(100), v102, i1_rest);
          const f32v v103 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v104 = (v103 - v19);
          const f32v v105 = (v104 * v63);
          const f32v v106 = (v105 * v89);
          const f32v v107 = (v106 + v91);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(150), v107, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a108 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(50); i4 += LANES) {
          const f32v v109 = f32_load(p0 + i4 + INT64_C(50)*i0);
          a108 = (a108 + v109);
        }
        if (i4 < INT64_C(50)) {
          const int i4_rest = (int)(INT64_C(50) - i4);
          const f32v v110 = f32_load_part(p0 + i4 + INT64_C(50)*i0, i4_rest);
          a108 = (a108 + f32_select(lanes_below(i4_rest), v110, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v111 = SPLAT(f32v, f32_sum(a108));
      const f32v v112 = (v111 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0, v112, 1);
      f32v a113 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(50); i5 += LANES) {
          const f32v v114 = f32_load(p0 + i5 + INT64_C(50)*i0);
          const f32v v115 = (v114 - v112);
          const f32v v116 = (v115 * v115);
          a113 = (a113 + v116);
        }
        if (i5 < INT64_C(50)) {
          const int i5_rest = (int)(INT64_C(50) - i5);
          const f32v v117 = f32_load_part(p0 + i5 + INT64_C(50)*i0, i5_rest);
          const f32v v118 = (v117 - v112);
          const f32v v119 = (v118 * v118);
          a113 = (a113 + f32_select(lanes_below(i5_rest), v119, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v120 = SPLAT(f32v, f32_sum(a113));
      const f32v v121 = (v120 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v122 = (v121 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v123 = f32_rsqrt(v122);
      f32_store_part(p5 + i0, v123, 1);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v124 = f32_load(p0 + INT64_C(50)*i0 + i1);
          const f32v v125 = (v124 - v112);
          const f32v v126 = (v125 * v123);
          const f32v v127 = f32_load(p1 + i1);
          const f32v v128 = (v126 * v127);
          const f32v v129 = f32_load(p2 + i1);
          const f32v v130 = (v128 + v129);
          f32_store(p3 + INT64_C(50)*i0 + i1, v130);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v131 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v132 = (v131 - v112);
          const f32v v133 = (v132 * v123);
          const f32v v134 = f32_load_part(p1 + i1, i1_rest);
          const f32v v135 = (v133 * v134);
          const f32v v136 = f32_load_part(p2 + i1, i1_rest);
          const f32v v137 = (v135 + v136);
          f32_store_part(p3 + INT64_C(50)*i0 + i1, v137, i1_rest);
        }
      }
    }
  }
}
static void k_layer_norm_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own; k_layer_norm_nest0(nest->b, nest->s, begin, end, 0);
}
int k_layer_norm(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && (INT64_C(300)) + (INT64_C(50)) + (INT64_C(50)) + (INT64_C(300)) + (INT64_C(6)) + (INT64_C(6)) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_layer_norm_nest0_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0}, threads);
  else k_layer_norm_nest0(b, s, INT64_C(0), INT64_C(6), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
