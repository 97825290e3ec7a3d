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
          const f32v v13 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          const f32v v14 = f32_load_part(p2 + i2, i2_rest);
          const f32v v15 = (v13 * v14);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v15, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v16 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(50), i2_rest);
          const f32v v17 = (v16 * v14);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v17, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v18 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(100), i2_rest);
          const f32v v19 = (v18 * v14);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v19, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v20 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(150), i2_rest);
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
      const f32v v34 = f32_one(p3 + i0);
      const f32v v36 = f32_one(p4 + i0);
      const f32v v42 = f32_one(p3 + i0 + INT64_C(1));
      const f32v v44 = f32_one(p4 + i0 + INT64_C(1));
      const f32v v50 = f32_one(p3 + i0 + INT64_C(2));
      const f32v v52 = f32_one(p4 + i0 + INT64_C(2));
      const f32v v58 = f32_one(p3 + i0 + INT64_C(3));
      const f32v v60 = f32_one(p4 + i0 + INT64_C(3));
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v30 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v31 = f32_load(p2 + i3);
          const f32v v32 = (v30 * v31);
          const f32v v33 = f32_load(p1 + i3 + INT64_C(50)*i0);
          const f32v v35 = (v33 - v34);
          const f32v v37 = (v35 * v36);
          const f32v v38 = (v32 * v37);
          a26 = (a26 + v38);
          const f32v v39 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v40 = (v39 * v31);
          const f32v v41 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v43 = (v41 - v42);
          const f32v v45 = (v43 * v44);
          const f32v v46 = (v40 * v45);
          a27 = (a27 + v46);
          const f32v v47 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v48 = (v47 * v31);
          const f32v v49 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v51 = (v49 - v50);
          const f32v v53 = (v51 * v52);
          const f32v v54 = (v48 * v53);
          a28 = (a28 + v54);
          const f32v v55 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v56 = (v55 * v31);
          const f32v v57 = f32_load(p1 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v59 = (v57 - v58);
          const f32v v61 = (v59 * v60);
          const f32v v62 = (v56 * v61);
          a29 = (a29 + v62);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v63 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v64 = f32_load_part(p2 + i3, i3_rest);
          const f32v v65 = (v63 * v64);
          const f32v v66 = f32_load_part(p1 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v67 = (v66 - v34);
          const f32v v68 = (v67 * v36);
          const f32v v69 = (v65 * v68);
          a26 = (a26 + f32_select(lanes_below(i3_rest), v69, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v70 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v71 = (v70 * v64);
          const f32v v72 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v73 = (v72 - v42);
          const f32v v74 = (v73 * v44);
          const f32v v75 = (v71 * v74);
          a27 = (a27 + f32_select(lanes_below(i3_rest), v75, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v76 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v77 = (v76 * v64);
          const f32v v78 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v79 = (v78 - v50);
          const f32v v80 = (v79 * v52);
          const f32v v81 = (v77 * v80);
          a28 = (a28 + f32_select(lanes_below(i3_rest), v81, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v82 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v83 = (v82 * v64);
          const f32v v84 = f32_load_part(p1 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v85 = (v84 - v58);
          const f32v v86 = (v85 * v60);
          const f32v v87 = (v83 * v86);
          a29 = (a29 + f32_select(lanes_below(i3_rest), v87, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v88 = SPLAT(f32v, f32_sum(a26));
      const f32v v89 = SPLAT(f32v, f32_sum(a27));
      const f32v v90 = SPLAT(f32v, f32_sum(a28));
      const f32v v91 = SPLAT(f32v, f32_sum(a29));
      const f32v v114 = (v22 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v116 = (v88 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v121 = (v23 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v123 = (v89 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v128 = (v24 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v130 = (v90 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v135 = (v25 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v137 = (v91 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v92 = f32_load(p0 + INT64_C(50)*i0 + i1);
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v93 = f32_load(p1 + INT64_C(50)*i0 + i1);
          const f32v v94 = (v93 - v34);
          const f32v v95 = (v94 * v36);
          const f32v v96 = (v92 * v95);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v97 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(50));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v98 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(50));
          const f32v v99 = (v98 - v42);
          const f32v v100 = (v99 * v44);
          const f32v v101 = (v97 * v100);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v102 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(100));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v103 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(100));
          const f32v v104 = (v103 - v50);
          const f32v v105 = (v104 * v52);
          const f32v v106 = (v102 * v105);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v107 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(150));
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v108 = f32_load(p1 + INT64_C(50)*i0 + i1 + INT64_C(150));
          const f32v v109 = (v108 - v58);
          const f32v v110 = (v109 * v60);
          const f32v v111 = (v107 * v110);
          f32_store(c0 + i1, ((((f32_load(c0 + i1) + v96) + v101) + v106) + v111));
          f32_store(c1 + i1, ((((f32_load(c1 + i1) + v92) + v97) + v102) + v107));
          const f32v v112 = f32_load(p2 + i1);
          const f32v v113 = (v92 * v112);
          const f32v v115 = (v113 - v114);
          const f32v v117 = (v95 * v116);
          const f32v v118 = (v115 - v117);
          const f32v v119 = (v118 * v36);
          f32_store(p5 + INT64_C(50)*i0 + i1, v119);
          const f32v v120 = (v97 * v112);
          const f32v v122 = (v120 - v121);
          const f32v v124 = (v100 * v123);
          const f32v v125 = (v122 - v124);
          const f32v v126 = (v125 * v44);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(50), v126);
          const f32v v127 = (v102 * v112);
          const f32v v129 = (v127 - v128);
          const f32v v131 = (v105 * v130);
          const f32v v132 = (v129 - v131);
          const f32v v133 = (v132 * v52);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(100), v133);
          const f32v v134 = (v107 * v112);
          const f32v v136 = (v134 - v135);
          const f32v v138 = (v110 * v137);
          const f32v v139 = (v136 - v138);
          const f32v v140 = (v139 * v60);
          f32_store(p5 + INT64_C(50)*i0 + i1 + INT64_C(150), v140);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v141 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v142 = f32_load_part(p1 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v143 = (v142 - v34);
          const f32v v144 = (v143 * v36);
          const f32v v145 = (v141 * v144);
          const f32v v146 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v147 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v148 = (v147 - v42);
          const f32v v149 = (v148 * v44);
          const f32v v150 = (v146 * v149);
          const f32v v151 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v152 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v153 = (v152 - v50);
          const f32v v154 = (v153 * v52);
          const f32v v155 = (v151 * v154);
          const f32v v156 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v157 = f32_load_part(p1 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v158 = (v157 - v58);
          const f32v v159 = (v158 * v60);
          const f32v v160 = (v156 * v159);
          f32_store_part(c0 + i1, ((((f32_load_part(c0 + i1, i1_rest) + v145) + v150) + v155) + v160), i1_rest);
          f32_store_part(c1 + i1, ((((f32_load_part(c1 + i1, i1_rest) + v141) + v146) + v151) + v156), i1_rest);
          const f32v v161 = f32_load_part(p2 + i1, i1_rest);
          const f32v v162 = (v141 * v161);
          const f32v v163 = (v162 - v114);
          const f32v v164 = (v144 * v116);
          const f32v v165 = (v163 - v164);
          const f32v v166 = (v165 * v36);
          f32_store_part(p5 + INT64_C(50)*i0 + i1, v166, i1_rest);
          const f32v v167 = (v146 * v161);
          const f32v v168 = (v167 - v121);
          const f32v v169 = (v149 * v123);
          const f32v v170 = (v168 - v169);
          const f32v v171 = (v170 * v44);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(50), v171, i1_rest);
          const f32v v172 = (v151 * v161);
          const f32v v173 = (v172 - v128);
          const f32v v174 = (v154 * v130);
          const f32v v175 = (v173 - v174);
          const f32v v176 = (v175 * v52);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(100), v176, i1_rest);
          const f32v v177 = (v156 * v161);
          const f32v v178 = (v177 - v135);
          const f32v v179 = (v159 * v137);
          const f32v v180 = (v178 - v179);
          const f32v v181 = (v180 * v60);
          f32_store_part(p5 + INT64_C(50)*i0 + i1 + INT64_C(150), v181, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a182 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(50); i4 += LANES) {
          const f32v v183 = f32_load(p0 + i4 + INT64_C(50)*i0);
          const f32v v184 = f32_load(p2 + i4);
          const f32v v185 = (v183 * v184);
          a182 = (a182 + v185);
        }
        if (i4 < INT64_C(50)) {
          const int i4_rest = (int)(INT64_C(50) - i4);
          const f32v v186 = f32_load_part(p0 + i4 + INT64_C(50)*i0, i4_rest);
          const f32v v187 = f32_load_part(p2 + i4, i4_rest);
          const f32v v188 = (v186 * v187);
          a182 = (a182 + f32_select(lanes_below(i4_rest), v188, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v189 = SPLAT(f32v, f32_sum(a182));
      f32v a190 = SPLAT(f32v, 0x0.0p+0f);
      const f32v v195 = f32_one(p3 + i0);
      const f32v v197 = f32_one(p4 + i0);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(50); i5 += LANES) {
          const f32v v191 = f32_load(p0 + i5 + INT64_C(50)*i0);
          const f32v v192 = f32_load(p2 + i5);
          const f32v v193 = (v191 * v192);
          const f32v v194 = f32_load(p1 + i5 + INT64_C(50)*i0);
          const f32v v196 = (v194 - v195);
          const f32v v198 = (v196 * v197);
          const f32v v199 = (v193 * v198);
          a190 = (a190 + v199);
        }
        if (i5 < INT64_C(50)) {
          const int i5_rest = (int)(INT64_C(50) - i5);
          const f32v v200 = f32_load_part(p0 + i5 + INT64_C(50)*i0, i5_rest);
          const f32v v201 = f32_load_part(p2 + i5, i5_rest);
          const f32v v202 = (v200 * v201);
          const f32v v203 = f32_load_part(p1 + i5 + INT64_C(50)*i0, i5_rest);
          const f32v v204 = (v203 - v195);
          const f32v v205 = (v204 * v197);
          const f32v v206 = (v202 * v205);
          a190 = (a190 + f32_select(lanes_below(i5_rest), v206, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v207 = SPLAT(f32v, f32_sum(a190));
      const f32v v215 = (v189 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v217 = (v207 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v208 = f32_load(p0 + INT64_C(50)*i0 + i1);
          fetch(p1 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v209 = f32_load(p1 + INT64_C(50)*i0 + i1);
          const f32v v210 = (v209 - v195);
          const f32v v211 = (v210 * v197);
          const f32v v212 = (v208 * v211);
          f32_store(c0 + i1, (f32_load(c0 + i1) + v212));
          f32_store(c1 + i1, (f32_load(c1 + i1) + v208));
          const f32v v213 = f32_load(p2 + i1);
          const f32v v214 = (v208 * v213);
          const f32v v216 = (v214 - v215);
          const f32v v218 = (v211 * v217);
          const f32v v219 = (v216 - v218);
          const f32v v220 = (v219 * v197);
          f32_store(p5 + INT64_C(50)*i0 + i1, v220);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v221 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v222 = f32_load_part(p1 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v223 = (v222 - v195);
          const f32v v224 = (v223 * v197);
          const f32v v225 = (v221 * v224);
          f32_store_part(c0 + i1, (f32_load_part(c0 + i1, i1_rest) + v225), i1_rest);
          f32_store_part(c1 + i1, (f32_load_part(c1 + i1, i1_rest) + v221), i1_rest);
          const f32v v226 = f32_load_part(p2 + i1, i1_rest);
          const f32v v227 = (v221 * v226);
          const f32v v228 = (v227 - v215);
          const f32v v229 = (v224 * v217);
          const f32v v230 = (v228 - v229);
          const f32v v231 = (v230 * v197);
          f32_store_part(p5 + INT64_C(50)*i0 + i1, v231, i1_rest);
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
    if (!rows) { missing = 1; goto done; }
    if (threads > 1 && (INT64_C(300)) + (INT64_C(300)) + (INT64_C(50)) + (INT64_C(6)) + (INT64_C(6)) + (INT64_C(300)) + (INT64_C(50)) + (INT64_C(50)) >= 524288) used = share_nest(&(struct shared_nest){.run = k_layer_norm_gradients_nest0_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads);
  else k_layer_norm_gradients_nest0(b, s, INT64_C(0), INT64_C(6), 0, rows);
    k_layer_norm_gradients_nest0_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
