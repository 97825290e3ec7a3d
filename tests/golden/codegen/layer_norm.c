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
          const f32v v4 = f32_load_part(p0 + i2 + INT64_C(50)*i0, i2_rest);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v5 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(50), i2_rest);
          a1 = (a1 + f32_select(lanes_below(i2_rest), v5, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(100), i2_rest);
          a2 = (a2 + f32_select(lanes_below(i2_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v7 = f32_load_part(p0 + i2 + INT64_C(50)*i0 + INT64_C(150), i2_rest);
          a3 = (a3 + f32_select(lanes_below(i2_rest), v7, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_sum(a0));
      const f32v v9 = SPLAT(f32v, f32_sum(a1));
      const f32v v10 = SPLAT(f32v, f32_sum(a2));
      const f32v v11 = SPLAT(f32v, f32_sum(a3));
      const f32v v12 = (v8 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0, v12, 1);
      const f32v v13 = (v9 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(1), v13, 1);
      const f32v v14 = (v10 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(2), v14, 1);
      const f32v v15 = (v11 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0 + INT64_C(3), v15, 1);
      f32v a16 = SPLAT(f32v, 0x0.0p+0f);
      f32v a17 = SPLAT(f32v, 0x0.0p+0f);
      f32v a18 = SPLAT(f32v, 0x0.0p+0f);
      f32v a19 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(50); i3 += LANES) {
          const f32v v20 = f32_load(p0 + i3 + INT64_C(50)*i0);
          const f32v v21 = (v20 - v12);
          const f32v v22 = (v21 * v21);
          a16 = (a16 + v22);
          const f32v v23 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(50));
          const f32v v24 = (v23 - v13);
          const f32v v25 = (v24 * v24);
          a17 = (a17 + v25);
          const f32v v26 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(100));
          const f32v v27 = (v26 - v14);
          const f32v v28 = (v27 * v27);
          a18 = (a18 + v28);
          const f32v v29 = f32_load(p0 + i3 + INT64_C(50)*i0 + INT64_C(150));
          const f32v v30 = (v29 - v15);
          const f32v v31 = (v30 * v30);
          a19 = (a19 + v31);
        }
        if (i3 < INT64_C(50)) {
          const int i3_rest = (int)(INT64_C(50) - i3);
          const f32v v20 = f32_load_part(p0 + i3 + INT64_C(50)*i0, i3_rest);
          const f32v v21 = (v20 - v12);
          const f32v v22 = (v21 * v21);
          a16 = (a16 + f32_select(lanes_below(i3_rest), v22, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v23 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(50), i3_rest);
          const f32v v24 = (v23 - v13);
          const f32v v25 = (v24 * v24);
          a17 = (a17 + f32_select(lanes_below(i3_rest), v25, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v26 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(100), i3_rest);
          const f32v v27 = (v26 - v14);
          const f32v v28 = (v27 * v27);
          a18 = (a18 + f32_select(lanes_below(i3_rest), v28, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v29 = f32_load_part(p0 + i3 + INT64_C(50)*i0 + INT64_C(150), i3_rest);
          const f32v v30 = (v29 - v15);
          const f32v v31 = (v30 * v30);
          a19 = (a19 + f32_select(lanes_below(i3_rest), v31, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v32 = SPLAT(f32v, f32_sum(a16));
      const f32v v33 = SPLAT(f32v, f32_sum(a17));
      const f32v v34 = SPLAT(f32v, f32_sum(a18));
      const f32v v35 = SPLAT(f32v, f32_sum(a19));
      const f32v v36 = (v32 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v37 = (v36 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v38 = f32_rsqrt(v37);
      f32_store_part(p5 + i0, v38, 1);
      const f32v v39 = (v33 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v40 = (v39 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v41 = f32_rsqrt(v40);
      f32_store_part(p5 + i0 + INT64_C(1), v41, 1);
      const f32v v42 = (v34 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v43 = (v42 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v44 = f32_rsqrt(v43);
      f32_store_part(p5 + i0 + INT64_C(2), v44, 1);
      const f32v v45 = (v35 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v46 = (v45 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v47 = f32_rsqrt(v46);
      f32_store_part(p5 + i0 + INT64_C(3), v47, 1);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v48 = f32_load(p0 + INT64_C(50)*i0 + i1);
          const f32v v49 = (v48 - v12);
          const f32v v50 = (v49 * v38);
          const f32v v51 = f32_load(p1 + i1);
          const f32v v52 = (v50 * v51);
          const f32v v53 = f32_load(p2 + i1);
          const f32v v54 = (v52 + v53);
          f32_store(p3 + INT64_C(50)*i0 + i1, v54);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1050));
          const f32v v55 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(50));
          const f32v v56 = (v55 - v13);
          const f32v v57 = (v56 * v41);
          const f32v v58 = (v57 * v51);
          const f32v v59 = (v58 + v53);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(50), v59);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1100));
          const f32v v60 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(100));
          const f32v v61 = (v60 - v14);
          const f32v v62 = (v61 * v44);
          const f32v v63 = (v62 * v51);
          const f32v v64 = (v63 + v53);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(100), v64);
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1150));
          const f32v v65 = f32_load(p0 + INT64_C(50)*i0 + i1 + INT64_C(150));
          const f32v v66 = (v65 - v15);
          const f32v v67 = (v66 * v47);
          const f32v v68 = (v67 * v51);
          const f32v v69 = (v68 + v53);
          f32_store(p3 + INT64_C(50)*i0 + i1 + INT64_C(150), v69);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v48 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v49 = (v48 - v12);
          const f32v v50 = (v49 * v38);
          const f32v v51 = f32_load_part(p1 + i1, i1_rest);
          const f32v v52 = (v50 * v51);
          const f32v v53 = f32_load_part(p2 + i1, i1_rest);
          const f32v v54 = (v52 + v53);
          f32_store_part(p3 + INT64_C(50)*i0 + i1, v54, i1_rest);
          const f32v v55 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(50), i1_rest);
          const f32v v56 = (v55 - v13);
          const f32v v57 = (v56 * v41);
          const f32v v58 = (v57 * v51);
          const f32v v59 = (v58 + v53);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(50), v59, i1_rest);
          const f32v v60 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(100), i1_rest);
          const f32v v61 = (v60 - v14);
          const f32v v62 = (v61 * v44);
          const f32v v63 = (v62 * v51);
          const f32v v64 = (v63 + v53);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(100), v64, i1_rest);
          const f32v v65 = f32_load_part(p0 + INT64_C(50)*i0 + i1 + INT64_C(150), i1_rest);
          const f32v v66 = (v65 - v15);
          const f32v v67 = (v66 * v47);
          const f32v v68 = (v67 * v51);
          const f32v v69 = (v68 + v53);
          f32_store_part(p3 + INT64_C(50)*i0 + i1 + INT64_C(150), v69, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a70 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(50); i4 += LANES) {
          const f32v v71 = f32_load(p0 + i4 + INT64_C(50)*i0);
          a70 = (a70 + v71);
        }
        if (i4 < INT64_C(50)) {
          const int i4_rest = (int)(INT64_C(50) - i4);
          const f32v v71 = f32_load_part(p0 + i4 + INT64_C(50)*i0, i4_rest);
          a70 = (a70 + f32_select(lanes_below(i4_rest), v71, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v72 = SPLAT(f32v, f32_sum(a70));
      const f32v v73 = (v72 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      f32_store_part(p4 + i0, v73, 1);
      f32v a74 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(50); i5 += LANES) {
          const f32v v75 = f32_load(p0 + i5 + INT64_C(50)*i0);
          const f32v v76 = (v75 - v73);
          const f32v v77 = (v76 * v76);
          a74 = (a74 + v77);
        }
        if (i5 < INT64_C(50)) {
          const int i5_rest = (int)(INT64_C(50) - i5);
          const f32v v75 = f32_load_part(p0 + i5 + INT64_C(50)*i0, i5_rest);
          const f32v v76 = (v75 - v73);
          const f32v v77 = (v76 * v76);
          a74 = (a74 + f32_select(lanes_below(i5_rest), v77, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v78 = SPLAT(f32v, f32_sum(a74));
      const f32v v79 = (v78 * SPLAT(f32v, 0x1.47ae147ae147bp-6f));
      const f32v v80 = (v79 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v81 = f32_rsqrt(v80);
      f32_store_part(p5 + i0, v81, 1);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(50); i1 += LANES) {
          fetch(p0 + INT64_C(50)*i0 + i1 + INT64_C(1000));
          const f32v v82 = f32_load(p0 + INT64_C(50)*i0 + i1);
          const f32v v83 = (v82 - v73);
          const f32v v84 = (v83 * v81);
          const f32v v85 = f32_load(p1 + i1);
          const f32v v86 = (v84 * v85);
          const f32v v87 = f32_load(p2 + i1);
          const f32v v88 = (v86 + v87);
          f32_store(p3 + INT64_C(50)*i0 + i1, v88);
        }
        if (i1 < INT64_C(50)) {
          const int i1_rest = (int)(INT64_C(50) - i1);
          const f32v v82 = f32_load_part(p0 + INT64_C(50)*i0 + i1, i1_rest);
          const f32v v83 = (v82 - v73);
          const f32v v84 = (v83 * v81);
          const f32v v85 = f32_load_part(p1 + i1, i1_rest);
          const f32v v86 = (v84 * v85);
          const f32v v87 = f32_load_part(p2 + i1, i1_rest);
          const f32v v88 = (v86 + v87);
          f32_store_part(p3 + INT64_C(50)*i0 + i1, v88, i1_rest);
        }
      }
    }
  }
}
static void k_layer_norm_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_layer_norm_nest0(nest->b, nest->s, begin, end, 0);
}
int k_layer_norm(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(300) + INT64_C(50) + INT64_C(50) + INT64_C(300) + INT64_C(6) + INT64_C(6) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_layer_norm_nest0_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0}, threads); else k_layer_norm_nest0(b, s, 0, INT64_C(6), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
