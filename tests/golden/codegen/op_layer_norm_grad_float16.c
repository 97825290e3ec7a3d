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
      const f32v v3 = f16_load_part(p2 + i0, i0_rest);
      const f32v v4 = (v3 + SPLAT(f32v, 0x1.19799812dea11p-40f));
      const f32v v5 = f32_rsqrt(v4);
      f32_store_part(p8 + i0, v5, i0_rest);
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
  _Alignas(64) float row187[34];
  _Alignas(64) float row65[34];
  _Alignas(64) float row56[34];
  _Alignas(64) float row47[34];
  _Alignas(64) float row38[34];
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
          const f32v v13 = f16_load_part(p0 + i2 + INT64_C(34)*i0, i2_rest);
          const f32v v14 = f16_load_part(p4 + i2, i2_rest);
          const f32v v15 = (v13 * v14);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v15, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v16 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(34), i2_rest);
          const f32v v17 = (v16 * v14);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v17, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v18 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(68), i2_rest);
          const f32v v19 = (v18 * v14);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v19, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v20 = f16_load_part(p0 + i2 + INT64_C(34)*i0 + INT64_C(102), i2_rest);
          const f32v v21 = (v20 * v14);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v21, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v22 = SPLAT(f32v, f32_sum(a0));
      const f32v v23 = SPLAT(f32v, f32_sum(a1));
      const f32v v24 = SPLAT(f32v, f32_sum(a2));
      const f32v v25 = SPLAT(f32v, f32_sum(a3));
      f32v a26 = SPLAT(f32v, 0x0.0p+0f);
      f32v a27 = SPLAT(f32v, 0x0.0p+0f);
      f32v a28 = SPLAT(f32v, 0x0.0p+0f);
      f32v a29 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v34 = f16_one(p3 + i0);
      const f32v v36 = f32_one(p8 + i0);
      const f32v v43 = f16_one(p3 + i0 + INT64_C(1));
      const f32v v45 = f32_one(p8 + i0 + INT64_C(1));
      const f32v v52 = f16_one(p3 + i0 + INT64_C(2));
      const f32v v54 = f32_one(p8 + i0 + INT64_C(2));
      const f32v v61 = f16_one(p3 + i0 + INT64_C(3));
      const f32v v63 = f32_one(p8 + i0 + INT64_C(3));
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(34); i3 += LANES) {
          const f32v v30 = f16_load(p0 + i3 + INT64_C(34)*i0);
          const f32v v31 = f16_load(p4 + i3);
          const f32v v32 = (v30 * v31);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2040));
          const f32v v33 = f16_load(p1 + i3 + INT64_C(34)*i0);
          const f32v v35 = (v33 - v34);
          const f32v v37 = (v35 * v36);
          f32_store(row38 + i3, v37);
          const f32v v39 = (v32 * v37);
          a26 = (a26 + v39);
          const f32v v40 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v41 = (v40 * v31);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2074));
          const f32v v42 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(34));
          const f32v v44 = (v42 - v43);
          const f32v v46 = (v44 * v45);
          f32_store(row47 + i3, v46);
          const f32v v48 = (v41 * v46);
          a27 = (a27 + v48);
          const f32v v49 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v50 = (v49 * v31);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2108));
          const f32v v51 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(68));
          const f32v v53 = (v51 - v52);
          const f32v v55 = (v53 * v54);
          f32_store(row56 + i3, v55);
          const f32v v57 = (v50 * v55);
          a28 = (a28 + v57);
          const f32v v58 = f16_load(p0 + i3 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v59 = (v58 * v31);
          fetch(p1 + i3 + INT64_C(34)*i0 + INT64_C(2142));
          const f32v v60 = f16_load(p1 + i3 + INT64_C(34)*i0 + INT64_C(102));
          const f32v v62 = (v60 - v61);
          const f32v v64 = (v62 * v63);
          f32_store(row65 + i3, v64);
          const f32v v66 = (v59 * v64);
          a29 = (a29 + v66);
        }
        if (i3 < INT64_C(34)) {
          const int i3_rest = (int)(INT64_C(34) - i3);
          const f32v v67 = f16_load_part(p0 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v68 = f16_load_part(p4 + i3, i3_rest);
          const f32v v69 = (v67 * v68);
          const f32v v70 = f16_load_part(p1 + i3 + INT64_C(34)*i0, i3_rest);
          const f32v v71 = (v70 - v34);
          const f32v v72 = (v71 * v36);
          f32_store_part(row38 + i3, v72, i3_rest);
          const f32v v73 = (v69 * v72);
          a26 = (a26 + f32_select(lanes_below(i3_rest), v73, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v74 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(34), i3_rest);
          const f32v v75 = (v74 * v68);
          const f32v v76 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(34), i3_rest);
          const f32v v77 = (v76 - v43);
          const f32v v78 = (v77 * v45);
          f32_store_part(row47 + i3, v78, i3_rest);
          const f32v v79 = (v75 * v78);
          a27 = (a27 + f32_select(lanes_below(i3_rest), v79, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v80 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(68), i3_rest);
          const f32v v81 = (v80 * v68);
          const f32v v82 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(68), i3_rest);
          const f32v v83 = (v82 - v52);
          const f32v v84 = (v83 * v54);
          f32_store_part(row56 + i3, v84, i3_rest);
          const f32v v85 = (v81 * v84);
          a28 = (a28 + f32_select(lanes_below(i3_rest), v85, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v86 = f16_load_part(p0 + i3 + INT64_C(34)*i0 + INT64_C(102), i3_rest);
          const f32v v87 = (v86 * v68);
          const f32v v88 = f16_load_part(p1 + i3 + INT64_C(34)*i0 + INT64_C(102), i3_rest);
          const f32v v89 = (v88 - v61);
          const f32v v90 = (v89 * v63);
          f32_store_part(row65 + i3, v90, i3_rest);
          const f32v v91 = (v87 * v90);
          a29 = (a29 + f32_select(lanes_below(i3_rest), v91, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v92 = SPLAT(f32v, f32_sum(a26));
      const f32v v93 = SPLAT(f32v, f32_sum(a27));
      const f32v v94 = SPLAT(f32v, f32_sum(a28));
      const f32v v95 = SPLAT(f32v, f32_sum(a29));
      const f32v v99 = (v22 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v102 = (v92 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v109 = (v23 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v112 = (v93 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v119 = (v24 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v122 = (v94 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v129 = (v25 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v132 = (v95 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(34); i1 += LANES) {
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2040));
          const f32v v96 = f16_load(p0 + INT64_C(34)*i0 + i1);
          const f32v v97 = f16_load(p4 + i1);
          const f32v v98 = (v96 * v97);
          const f32v v100 = (v98 - v99);
          const f32v v101 = f32_load(row38 + i1);
          const f32v v103 = (v101 * v102);
          const f32v v104 = (v100 - v103);
          const f32v v105 = (v104 * v36);
          const f32v v106 = f32_round_f16(v105);
          f16_store(p5 + INT64_C(34)*i0 + i1, v106);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2074));
          const f32v v107 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(34));
          const f32v v108 = (v107 * v97);
          const f32v v110 = (v108 - v109);
          const f32v v111 = f32_load(row47 + i1);
          const f32v v113 = (v111 * v112);
          const f32v v114 = (v110 - v113);
          const f32v v115 = (v114 * v45);
          const f32v v116 = f32_round_f16(v115);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(34), v116);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2108));
          const f32v v117 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(68));
          const f32v v118 = (v117 * v97);
          const f32v v120 = (v118 - v119);
          const f32v v121 = f32_load(row56 + i1);
          const f32v v123 = (v121 * v122);
          const f32v v124 = (v120 - v123);
          const f32v v125 = (v124 * v54);
          const f32v v126 = f32_round_f16(v125);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(68), v126);
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2142));
          const f32v v127 = f16_load(p0 + INT64_C(34)*i0 + i1 + INT64_C(102));
          const f32v v128 = (v127 * v97);
          const f32v v130 = (v128 - v129);
          const f32v v131 = f32_load(row65 + i1);
          const f32v v133 = (v131 * v132);
          const f32v v134 = (v130 - v133);
          const f32v v135 = (v134 * v63);
          const f32v v136 = f32_round_f16(v135);
          f16_store(p5 + INT64_C(34)*i0 + i1 + INT64_C(102), v136);
        }
        if (i1 < INT64_C(34)) {
          const int i1_rest = (int)(INT64_C(34) - i1);
          const f32v v137 = f16_load_part(p0 + INT64_C(34)*i0 + i1, i1_rest);
          const f32v v138 = f16_load_part(p4 + i1, i1_rest);
          const f32v v139 = (v137 * v138);
          const f32v v140 = (v139 - v99);
          const f32v v141 = f32_load_part(row38 + i1, i1_rest);
          const f32v v142 = (v141 * v102);
          const f32v v143 = (v140 - v142);
          const f32v v144 = (v143 * v36);
          const f32v v145 = f32_round_f16(v144);
          f16_store_part(p5 + INT64_C(34)*i0 + i1, v145, i1_rest);
          const f32v v146 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(34), i1_rest);
          const f32v v147 = (v146 * v138);
          const f32v v148 = (v147 - v109);
          const f32v v149 = f32_load_part(row47 + i1, i1_rest);
          const f32v v150 = (v149 * v112);
          const f32v v151 = (v148 - v150);
          const f32v v152 = (v151 * v45);
          const f32v v153 = f32_round_f16(v152);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(34), v153, i1_rest);
          const f32v v154 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(68), i1_rest);
          const f32v v155 = (v154 * v138);
          const f32v v156 = (v155 - v119);
          const f32v v157 = f32_load_part(row56 + i1, i1_rest);
          const f32v v158 = (v157 * v122);
          const f32v v159 = (v156 - v158);
          const f32v v160 = (v159 * v54);
          const f32v v161 = f32_round_f16(v160);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(68), v161, i1_rest);
          const f32v v162 = f16_load_part(p0 + INT64_C(34)*i0 + i1 + INT64_C(102), i1_rest);
          const f32v v163 = (v162 * v138);
          const f32v v164 = (v163 - v129);
          const f32v v165 = f32_load_part(row65 + i1, i1_rest);
          const f32v v166 = (v165 * v132);
          const f32v v167 = (v164 - v166);
          const f32v v168 = (v167 * v63);
          const f32v v169 = f32_round_f16(v168);
          f16_store_part(p5 + INT64_C(34)*i0 + i1 + INT64_C(102), v169, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a170 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(34); i4 += LANES) {
          const f32v v171 = f16_load(p0 + i4 + INT64_C(34)*i0);
          const f32v v172 = f16_load(p4 + i4);
          const f32v v173 = (v171 * v172);
          a170 = (a170 + v173);
        }
        if (i4 < INT64_C(34)) {
          const int i4_rest = (int)(INT64_C(34) - i4);
          const f32v v174 = f16_load_part(p0 + i4 + INT64_C(34)*i0, i4_rest);
          const f32v v175 = f16_load_part(p4 + i4, i4_rest);
          const f32v v176 = (v174 * v175);
          a170 = (a170 + f32_select(lanes_below(i4_rest), v176, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v177 = SPLAT(f32v, f32_sum(a170));
      f32v a178 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v183 = f16_one(p3 + i0);
      const f32v v185 = f32_one(p8 + i0);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(34); i5 += LANES) {
          const f32v v179 = f16_load(p0 + i5 + INT64_C(34)*i0);
          const f32v v180 = f16_load(p4 + i5);
          const f32v v181 = (v179 * v180);
          fetch(p1 + i5 + INT64_C(34)*i0 + INT64_C(2040));
          const f32v v182 = f16_load(p1 + i5 + INT64_C(34)*i0);
          const f32v v184 = (v182 - v183);
          const f32v v186 = (v184 * v185);
          f32_store(row187 + i5, v186);
          const f32v v188 = (v181 * v186);
          a178 = (a178 + v188);
        }
        if (i5 < INT64_C(34)) {
          const int i5_rest = (int)(INT64_C(34) - i5);
          const f32v v189 = f16_load_part(p0 + i5 + INT64_C(34)*i0, i5_rest);
          const f32v v190 = f16_load_part(p4 + i5, i5_rest);
          const f32v v191 = (v189 * v190);
          const f32v v192 = f16_load_part(p1 + i5 + INT64_C(34)*i0, i5_rest);
          const f32v v193 = (v192 - v183);
          const f32v v194 = (v193 * v185);
          f32_store_part(row187 + i5, v194, i5_rest);
          const f32v v195 = (v191 * v194);
          a178 = (a178 + f32_select(lanes_below(i5_rest), v195, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v196 = SPLAT(f32v, f32_sum(a178));
      const f32v v200 = (v177 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      const f32v v203 = (v196 * SPLAT(f32v, 0x1.e1e1e1e1e1e1ep-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(34); i1 += LANES) {
          fetch(p0 + INT64_C(34)*i0 + i1 + INT64_C(2040));
          const f32v v197 = f16_load(p0 + INT64_C(34)*i0 + i1);
          const f32v v198 = f16_load(p4 + i1);
          const f32v v199 = (v197 * v198);
          const f32v v201 = (v199 - v200);
          const f32v v202 = f32_load(row187 + i1);
          const f32v v204 = (v202 * v203);
          const f32v v205 = (v201 - v204);
          const f32v v206 = (v205 * v185);
          const f32v v207 = f32_round_f16(v206);
          f16_store(p5 + INT64_C(34)*i0 + i1, v207);
        }
        if (i1 < INT64_C(34)) {
          const int i1_rest = (int)(INT64_C(34) - i1);
          const f32v v208 = f16_load_part(p0 + INT64_C(34)*i0 + i1, i1_rest);
          const f32v v209 = f16_load_part(p4 + i1, i1_rest);
          const f32v v210 = (v208 * v209);
          const f32v v211 = (v210 - v200);
          const f32v v212 = f32_load_part(row187 + i1, i1_rest);
          const f32v v213 = (v212 * v203);
          const f32v v214 = (v211 - v213);
          const f32v v215 = (v214 * v185);
          const f32v v216 = f32_round_f16(v215);
          f16_store_part(p5 + INT64_C(34)*i0 + i1, v216, i1_rest);
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
      f32v a12 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i3 = 0; i3 < INT64_C(4); i3++) {
        const f32v v13 = f16_load_part(p0 + INT64_C(34)*i3 + i0, i0_rest);
        const f32v v14 = f16_load_part(p1 + INT64_C(34)*i3 + i0, i0_rest);
        const f32v v15 = f16_one(p3 + i3);
        const f32v v16 = (v14 - v15);
        const f32v v17 = f32_one(p8 + i3);
        const f32v v18 = (v16 * v17);
        const f32v v19 = (v13 * v18);
        a12 = (a12 + v19);
      }
      const f32v v20 = f32_round_f16(a12);
      f16_store_part(p6 + i0, v20, i0_rest);
      f32v a21 = SPLAT(f32v, 0x0.0p+0f);
      for (int64_t i4 = 0; i4 < INT64_C(4); i4++) {
        const f32v v22 = f16_load_part(p0 + INT64_C(34)*i4 + i0, i0_rest);
        a21 = (a21 + v22);
      }
      const f32v v23 = f32_round_f16(a21);
      f16_store_part(p7 + i0, v23, i0_rest);
    }
  }
}
int k_op_layer_norm_grad_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[9];
  memcpy(all, b, 8*sizeof(void *));
  b = all;
  memset(all + 8, 0, sizeof all - 8*sizeof(void *));
  all[8] = aligned_alloc(64, ((INT64_C(4))*4 + 127) & ~INT64_C(63));
  if (!all[8]) { missing = 1; goto done; }
  k_op_layer_norm_grad_float16_nest0(b, s, INT64_C(0), INT64_C(4), 0);
  k_op_layer_norm_grad_float16_nest1(b, s, INT64_C(0), INT64_C(4), 0);
  k_op_layer_norm_grad_float16_nest2(b, s, INT64_C(0), INT64_C(34), 0);
  free(all[8]); all[8] = 0;
  goto done;
  done:
  free(all[8]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
