#include "vector_math.h"
#include "runtime.h"
static void k_cross_entropy_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, f32v *part_result) {
  float *p0 = (float *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row44[12];
  _Alignas(64) float row19[12];
  f32v a0 = SPLAT(f32v, 0x0.0p+0f);
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a1 = SPLAT(f32v, -__builtin_inff());
    f32v a2 = SPLAT(f32v, -__builtin_inff());
    f32v a3 = SPLAT(f32v, -__builtin_inff());
    f32v a4 = SPLAT(f32v, -__builtin_inff());
    {
      int64_t i2 = 0;
      for (; i2 + 4*LANES <= INT64_C(12); i2 += 4*LANES) {
        {
          const f32v v5 = f32_load(p0 + i2 + INT64_C(12)*i0);
          a1 = f32_above(v5, a1);
        }
        {
          const int64_t i2_1 = i2 + 1*LANES;
          const f32v v6 = f32_load(p0 + i2_1 + INT64_C(12)*i0);
          a2 = f32_above(v6, a2);
        }
        {
          const int64_t i2_2 = i2 + 2*LANES;
          const f32v v7 = f32_load(p0 + i2_2 + INT64_C(12)*i0);
          a3 = f32_above(v7, a3);
        }
        {
          const int64_t i2_3 = i2 + 3*LANES;
          const f32v v8 = f32_load(p0 + i2_3 + INT64_C(12)*i0);
          a4 = f32_above(v8, a4);
        }
      }
      for (; i2 + LANES <= INT64_C(12); i2 += LANES) {
        const f32v v9 = f32_load(p0 + i2 + INT64_C(12)*i0);
        a1 = f32_above(v9, a1);
      }
      if (i2 < INT64_C(12)) {
        const int i2_rest = (int)(INT64_C(12) - i2);
        const f32v v10 = f32_load_part(p0 + i2 + INT64_C(12)*i0, i2_rest);
        a1 = f32_above(f32_select(lanes_below(i2_rest), v10, SPLAT(f32v, -__builtin_inff())), a1);
      }
    }
    const f32v v11 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a1, a2), a3), a4)));
    f32v a12 = SPLAT(f32v, 0x0.0p+0f);
    f32v a13 = SPLAT(f32v, 0x0.0p+0f);
    f32v a14 = SPLAT(f32v, 0x0.0p+0f);
    f32v a15 = SPLAT(f32v, 0x0.0p+0f);
    {
      int64_t i3 = 0;
      for (; i3 + 4*LANES <= INT64_C(12); i3 += 4*LANES) {
        {
          fetch_of(0, p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v16 = f32_load(p0 + i3 + INT64_C(12)*i0);
          const f32v v17 = (v16 - v11);
          const f32v v18 = f32_exp_of_deficit(v17);
          f32_store(row19 + i3, v18);
          a12 = (a12 + v18);
        }
        {
          const int64_t i3_1 = i3 + 1*LANES;
          fetch_of(1, p0 + i3_1 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v20 = f32_load(p0 + i3_1 + INT64_C(12)*i0);
          const f32v v21 = (v20 - v11);
          const f32v v22 = f32_exp_of_deficit(v21);
          f32_store(row19 + i3_1, v22);
          a13 = (a13 + v22);
        }
        {
          const int64_t i3_2 = i3 + 2*LANES;
          fetch_of(2, p0 + i3_2 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v23 = f32_load(p0 + i3_2 + INT64_C(12)*i0);
          const f32v v24 = (v23 - v11);
          const f32v v25 = f32_exp_of_deficit(v24);
          f32_store(row19 + i3_2, v25);
          a14 = (a14 + v25);
        }
        {
          const int64_t i3_3 = i3 + 3*LANES;
          fetch_of(3, p0 + i3_3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v26 = f32_load(p0 + i3_3 + INT64_C(12)*i0);
          const f32v v27 = (v26 - v11);
          const f32v v28 = f32_exp_of_deficit(v27);
          f32_store(row19 + i3_3, v28);
          a15 = (a15 + v28);
        }
      }
      for (; i3 + LANES <= INT64_C(12); i3 += LANES) {
        fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
        const f32v v29 = f32_load(p0 + i3 + INT64_C(12)*i0);
        const f32v v30 = (v29 - v11);
        const f32v v31 = f32_exp_of_deficit(v30);
        f32_store(row19 + i3, v31);
        a12 = (a12 + v31);
      }
      if (i3 < INT64_C(12)) {
        const int i3_rest = (int)(INT64_C(12) - i3);
        const f32v v32 = f32_load_part(p0 + i3 + INT64_C(12)*i0, i3_rest);
        const f32v v33 = (v32 - v11);
        const f32v v34 = f32_exp_of_deficit(v33);
        f32_store_part(row19 + i3, v34, i3_rest);
        a12 = (a12 + f32_select(lanes_below(i3_rest), v34, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
    const f32v v35 = SPLAT(f32v, f32_sum((((a12 + a13) + a14) + a15)));
    const i32v v36 = i32_one(p1 + i0);
    const f32v v41 = f32_rec(v35);
    const int v42 = f32_is_far(v41);
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
        const i32v v37 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v38 = (v36 == v37);
        const f32v v39 = f32_select(v38, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
        const f32v v40 = f32_load(row19 + i1);
        const f32v v43 = f32_nearly_over(v40, v35, v41, v42);
        f32_store(row44 + i1, v43);
        const f32v v45 = (v43 + SPLAT(f32v, 0x1.19799812dea11p-40f));
        const f32v v46 = f32_log(v45);
        const f32v v47 = (v39 * v46);
        a0 = (a0 + v47);
      }
      if (i1 < INT64_C(12)) {
        const int i1_rest = (int)(INT64_C(12) - i1);
        const i32v v48 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v49 = (v36 == v48);
        const f32v v50 = f32_select(v49, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
        const f32v v51 = f32_load_part(row19 + i1, i1_rest);
        const f32v v52 = f32_nearly_over(v51, v35, v41, v42);
        f32_store_part(row44 + i1, v52, i1_rest);
        const f32v v53 = (v52 + SPLAT(f32v, 0x1.19799812dea11p-40f));
        const f32v v54 = f32_log(v53);
        const f32v v55 = (v50 * v54);
        a0 = (a0 + f32_select(lanes_below(i1_rest), v55, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
  }
  const f32v v56 = SPLAT(f32v, f32_sum(a0));
  *part_result = v56;
}
static void k_cross_entropy_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p2 = (float *)b[2];
  float *p4 = (float *)b[4];
  (void)b; (void)s; (void)begin; (void)end;
  const f32v v0 = f32_one(p4 + 0);
  const f32v v1 = (v0 * SPLAT(f32v, -0x1.999999999999ap-3f));
  f32_store_part(p2 + 0, v1, 1);
}
static void k_cross_entropy_nest2(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row122[12];
  _Alignas(64) float row35[12];
  _Alignas(64) float row31[12];
  _Alignas(64) float row27[12];
  _Alignas(64) float row23[12];
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, -__builtin_inff());
      f32v a1 = SPLAT(f32v, -__builtin_inff());
      f32v a2 = SPLAT(f32v, -__builtin_inff());
      f32v a3 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(12); i2 += LANES) {
          const f32v v4 = f32_load(p0 + i2 + INT64_C(12)*i0);
          a0 = f32_above(v4, a0);
          const f32v v5 = f32_load(p0 + i2 + INT64_C(12)*i0 + INT64_C(12));
          a1 = f32_above(v5, a1);
          const f32v v6 = f32_load(p0 + i2 + INT64_C(12)*i0 + INT64_C(24));
          a2 = f32_above(v6, a2);
          const f32v v7 = f32_load(p0 + i2 + INT64_C(12)*i0 + INT64_C(36));
          a3 = f32_above(v7, a3);
        }
        if (i2 < INT64_C(12)) {
          const int i2_rest = (int)(INT64_C(12) - i2);
          const f32v v8 = f32_load_part(p0 + i2 + INT64_C(12)*i0, i2_rest);
          a0 = f32_above(f32_select(lanes_below(i2_rest), v8, SPLAT(f32v, -__builtin_inff())), a0);
          const f32v v9 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(12), i2_rest);
          a1 = f32_above(f32_select(lanes_below(i2_rest), v9, SPLAT(f32v, -__builtin_inff())), a1);
          const f32v v10 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(24), i2_rest);
          a2 = f32_above(f32_select(lanes_below(i2_rest), v10, SPLAT(f32v, -__builtin_inff())), a2);
          const f32v v11 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(36), i2_rest);
          a3 = f32_above(f32_select(lanes_below(i2_rest), v11, SPLAT(f32v, -__builtin_inff())), a3);
        }
      }
      const f32v v12 = SPLAT(f32v, f32_max(a0));
      const f32v v13 = SPLAT(f32v, f32_max(a1));
      const f32v v14 = SPLAT(f32v, f32_max(a2));
      const f32v v15 = SPLAT(f32v, f32_max(a3));
      f32v a16 = SPLAT(f32v, 0x0.0p+0f);
      f32v a17 = SPLAT(f32v, 0x0.0p+0f);
      f32v a18 = SPLAT(f32v, 0x0.0p+0f);
      f32v a19 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(12); i3 += LANES) {
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v20 = f32_load(p0 + i3 + INT64_C(12)*i0);
          const f32v v21 = (v20 - v12);
          const f32v v22 = f32_exp_of_deficit(v21);
          f32_store(row23 + i3, v22);
          a16 = (a16 + v22);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1032));
          const f32v v24 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(12));
          const f32v v25 = (v24 - v13);
          const f32v v26 = f32_exp_of_deficit(v25);
          f32_store(row27 + i3, v26);
          a17 = (a17 + v26);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1044));
          const f32v v28 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(24));
          const f32v v29 = (v28 - v14);
          const f32v v30 = f32_exp_of_deficit(v29);
          f32_store(row31 + i3, v30);
          a18 = (a18 + v30);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1056));
          const f32v v32 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(36));
          const f32v v33 = (v32 - v15);
          const f32v v34 = f32_exp_of_deficit(v33);
          f32_store(row35 + i3, v34);
          a19 = (a19 + v34);
        }
        if (i3 < INT64_C(12)) {
          const int i3_rest = (int)(INT64_C(12) - i3);
          const f32v v36 = f32_load_part(p0 + i3 + INT64_C(12)*i0, i3_rest);
          const f32v v37 = (v36 - v12);
          const f32v v38 = f32_exp_of_deficit(v37);
          f32_store_part(row23 + i3, v38, i3_rest);
          a16 = (a16 + f32_select(lanes_below(i3_rest), v38, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v39 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(12), i3_rest);
          const f32v v40 = (v39 - v13);
          const f32v v41 = f32_exp_of_deficit(v40);
          f32_store_part(row27 + i3, v41, i3_rest);
          a17 = (a17 + f32_select(lanes_below(i3_rest), v41, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v42 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(24), i3_rest);
          const f32v v43 = (v42 - v14);
          const f32v v44 = f32_exp_of_deficit(v43);
          f32_store_part(row31 + i3, v44, i3_rest);
          a18 = (a18 + f32_select(lanes_below(i3_rest), v44, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v45 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(36), i3_rest);
          const f32v v46 = (v45 - v15);
          const f32v v47 = f32_exp_of_deficit(v46);
          f32_store_part(row35 + i3, v47, i3_rest);
          a19 = (a19 + f32_select(lanes_below(i3_rest), v47, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v48 = SPLAT(f32v, f32_sum(a16));
      const f32v v49 = SPLAT(f32v, f32_sum(a17));
      const f32v v50 = SPLAT(f32v, f32_sum(a18));
      const f32v v51 = SPLAT(f32v, f32_sum(a19));
      const f32v v53 = f32_rec(v48);
      const int v54 = f32_is_far(v53);
      const i32v v56 = i32_one(p1 + i0);
      const f32v v63 = f32_rec(v49);
      const int v64 = f32_is_far(v63);
      const i32v v66 = i32_one(p1 + i0 + INT64_C(1));
      const f32v v72 = f32_rec(v50);
      const int v73 = f32_is_far(v72);
      const i32v v75 = i32_one(p1 + i0 + INT64_C(2));
      const f32v v81 = f32_rec(v51);
      const int v82 = f32_is_far(v81);
      const i32v v84 = i32_one(p1 + i0 + INT64_C(3));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
          const f32v v52 = f32_load(row23 + i1);
          const f32v v55 = f32_nearly_over(v52, v48, v53, v54);
          const i32v v57 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v58 = (v56 == v57);
          const f32v v59 = f32_select(v58, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v60 = (v55 - v59);
          const f32v v61 = (v60 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1, v61);
          const f32v v62 = f32_load(row27 + i1);
          const f32v v65 = f32_nearly_over(v62, v49, v63, v64);
          const i32v v67 = (v66 == v57);
          const f32v v68 = f32_select(v67, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v69 = (v65 - v68);
          const f32v v70 = (v69 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(12), v70);
          const f32v v71 = f32_load(row31 + i1);
          const f32v v74 = f32_nearly_over(v71, v50, v72, v73);
          const i32v v76 = (v75 == v57);
          const f32v v77 = f32_select(v76, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v78 = (v74 - v77);
          const f32v v79 = (v78 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(24), v79);
          const f32v v80 = f32_load(row35 + i1);
          const f32v v83 = f32_nearly_over(v80, v51, v81, v82);
          const i32v v85 = (v84 == v57);
          const f32v v86 = f32_select(v85, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v87 = (v83 - v86);
          const f32v v88 = (v87 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(36), v88);
        }
        if (i1 < INT64_C(12)) {
          const int i1_rest = (int)(INT64_C(12) - i1);
          const f32v v89 = f32_load_part(row23 + i1, i1_rest);
          const f32v v90 = f32_nearly_over(v89, v48, v53, v54);
          const i32v v91 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v92 = (v56 == v91);
          const f32v v93 = f32_select(v92, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v94 = (v90 - v93);
          const f32v v95 = (v94 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1, v95, i1_rest);
          const f32v v96 = f32_load_part(row27 + i1, i1_rest);
          const f32v v97 = f32_nearly_over(v96, v49, v63, v64);
          const i32v v98 = (v66 == v91);
          const f32v v99 = f32_select(v98, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v100 = (v97 - v99);
          const f32v v101 = (v100 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(12), v101, i1_rest);
          const f32v v102 = f32_load_part(row31 + i1, i1_rest);
          const f32v v103 = f32_nearly_over(v102, v50, v72, v73);
          const i32v v104 = (v75 == v91);
          const f32v v105 = f32_select(v104, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v106 = (v103 - v105);
          const f32v v107 = (v106 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(24), v107, i1_rest);
          const f32v v108 = f32_load_part(row35 + i1, i1_rest);
          const f32v v109 = f32_nearly_over(v108, v51, v81, v82);
          const i32v v110 = (v84 == v91);
          const f32v v111 = f32_select(v110, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v112 = (v109 - v111);
          const f32v v113 = (v112 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(36), v113, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a114 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(12); i4 += LANES) {
          const f32v v115 = f32_load(p0 + i4 + INT64_C(12)*i0);
          a114 = f32_above(v115, a114);
        }
        if (i4 < INT64_C(12)) {
          const int i4_rest = (int)(INT64_C(12) - i4);
          const f32v v116 = f32_load_part(p0 + i4 + INT64_C(12)*i0, i4_rest);
          a114 = f32_above(f32_select(lanes_below(i4_rest), v116, SPLAT(f32v, -__builtin_inff())), a114);
        }
      }
      const f32v v117 = SPLAT(f32v, f32_max(a114));
      f32v a118 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(12); i5 += LANES) {
          fetch(p0 + i5 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v119 = f32_load(p0 + i5 + INT64_C(12)*i0);
          const f32v v120 = (v119 - v117);
          const f32v v121 = f32_exp_of_deficit(v120);
          f32_store(row122 + i5, v121);
          a118 = (a118 + v121);
        }
        if (i5 < INT64_C(12)) {
          const int i5_rest = (int)(INT64_C(12) - i5);
          const f32v v123 = f32_load_part(p0 + i5 + INT64_C(12)*i0, i5_rest);
          const f32v v124 = (v123 - v117);
          const f32v v125 = f32_exp_of_deficit(v124);
          f32_store_part(row122 + i5, v125, i5_rest);
          a118 = (a118 + f32_select(lanes_below(i5_rest), v125, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v126 = SPLAT(f32v, f32_sum(a118));
      const f32v v128 = f32_rec(v126);
      const int v129 = f32_is_far(v128);
      const i32v v131 = i32_one(p1 + i0);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
          const f32v v127 = f32_load(row122 + i1);
          const f32v v130 = f32_nearly_over(v127, v126, v128, v129);
          const i32v v132 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v133 = (v131 == v132);
          const f32v v134 = f32_select(v133, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v135 = (v130 - v134);
          const f32v v136 = (v135 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1, v136);
        }
        if (i1 < INT64_C(12)) {
          const int i1_rest = (int)(INT64_C(12) - i1);
          const f32v v137 = f32_load_part(row122 + i1, i1_rest);
          const f32v v138 = f32_nearly_over(v137, v126, v128, v129);
          const i32v v139 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v140 = (v131 == v139);
          const f32v v141 = f32_select(v140, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v142 = (v138 - v141);
          const f32v v143 = (v142 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1, v143, i1_rest);
        }
      }
    }
  }
}
static void k_cross_entropy_nest2_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own; k_cross_entropy_nest2(nest->b, nest->s, begin, end, 0);
}
int k_cross_entropy(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[5];
  memcpy(all, b, 4*sizeof(void *));
  b = all;
  memset(all + 4, 0, sizeof all - 4*sizeof(void *));
  all[4] = aligned_alloc(64, ((INT64_C(1))*4 + 127) & ~INT64_C(63));
  if (!all[4]) { missing = 1; goto done; }
  {
  f32v parts0[256]; int count0 = 1;
  k_cross_entropy_nest0(b, s, INT64_C(0), INT64_C(5), &parts0[0]);
  for (int t = 1; t < count0; t++) parts0[0] = (parts0[0] + parts0[t]);
  f32_store_part((float *)b[4], parts0[0], 1);
  }
  k_cross_entropy_nest1(b, s, INT64_C(0), INT64_C(1), 0);
  free(all[4]); all[4] = 0;
  if (threads > 1 && (INT64_C(60)) + (INT64_C(5)) + (INT64_C(60)) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_cross_entropy_nest2_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads);
  else k_cross_entropy_nest2(b, s, INT64_C(0), INT64_C(5), 0);
  goto done;
  done:
  free(all[4]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
