#include "vector_math.h"
#include "runtime.h"
static void k_cross_entropy_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, f32v *part_result) {
  float *p0 = (float *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row24[12];
  _Alignas(64) float row14[12];
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
          const f32v v5 = f32_load(p0 + i2_1 + INT64_C(12)*i0);
          a2 = f32_above(v5, a2);
        }
        {
          const int64_t i2_2 = i2 + 2*LANES;
          const f32v v5 = f32_load(p0 + i2_2 + INT64_C(12)*i0);
          a3 = f32_above(v5, a3);
        }
        {
          const int64_t i2_3 = i2 + 3*LANES;
          const f32v v5 = f32_load(p0 + i2_3 + INT64_C(12)*i0);
          a4 = f32_above(v5, a4);
        }
      }
      for (; i2 + LANES <= INT64_C(12); i2 += LANES) {
        const f32v v5 = f32_load(p0 + i2 + INT64_C(12)*i0);
        a1 = f32_above(v5, a1);
      }
      if (i2 < INT64_C(12)) {
        const int i2_rest = (int)(INT64_C(12) - i2);
        const f32v v5 = f32_load_part(p0 + i2 + INT64_C(12)*i0, i2_rest);
        a1 = f32_above(f32_select(lanes_below(i2_rest), v5, SPLAT(f32v, -__builtin_inff())), a1);
      }
    }
    const f32v v6 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a1, a2), a3), a4)));
    f32v a7 = SPLAT(f32v, 0x0.0p+0f);
    f32v a8 = SPLAT(f32v, 0x0.0p+0f);
    f32v a9 = SPLAT(f32v, 0x0.0p+0f);
    f32v a10 = SPLAT(f32v, 0x0.0p+0f);
    {
      int64_t i3 = 0;
      for (; i3 + 4*LANES <= INT64_C(12); i3 += 4*LANES) {
        {
          fetch_of(0, p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v11 = f32_load(p0 + i3 + INT64_C(12)*i0);
          const f32v v12 = (v11 - v6);
          const f32v v13 = f32_exp_of_deficit(v12);
          f32_store(row14 + i3, v13);
          a7 = (a7 + v13);
        }
        {
          const int64_t i3_1 = i3 + 1*LANES;
          fetch_of(1, p0 + i3_1 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v11 = f32_load(p0 + i3_1 + INT64_C(12)*i0);
          const f32v v12 = (v11 - v6);
          const f32v v13 = f32_exp_of_deficit(v12);
          f32_store(row14 + i3_1, v13);
          a8 = (a8 + v13);
        }
        {
          const int64_t i3_2 = i3 + 2*LANES;
          fetch_of(2, p0 + i3_2 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v11 = f32_load(p0 + i3_2 + INT64_C(12)*i0);
          const f32v v12 = (v11 - v6);
          const f32v v13 = f32_exp_of_deficit(v12);
          f32_store(row14 + i3_2, v13);
          a9 = (a9 + v13);
        }
        {
          const int64_t i3_3 = i3 + 3*LANES;
          fetch_of(3, p0 + i3_3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v11 = f32_load(p0 + i3_3 + INT64_C(12)*i0);
          const f32v v12 = (v11 - v6);
          const f32v v13 = f32_exp_of_deficit(v12);
          f32_store(row14 + i3_3, v13);
          a10 = (a10 + v13);
        }
      }
      for (; i3 + LANES <= INT64_C(12); i3 += LANES) {
        fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
        const f32v v11 = f32_load(p0 + i3 + INT64_C(12)*i0);
        const f32v v12 = (v11 - v6);
        const f32v v13 = f32_exp_of_deficit(v12);
        f32_store(row14 + i3, v13);
        a7 = (a7 + v13);
      }
      if (i3 < INT64_C(12)) {
        const int i3_rest = (int)(INT64_C(12) - i3);
        const f32v v11 = f32_load_part(p0 + i3 + INT64_C(12)*i0, i3_rest);
        const f32v v12 = (v11 - v6);
        const f32v v13 = f32_exp_of_deficit(v12);
        f32_store_part(row14 + i3, v13, i3_rest);
        a7 = (a7 + f32_select(lanes_below(i3_rest), v13, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
    const f32v v15 = SPLAT(f32v, f32_sum((((a7 + a8) + a9) + a10)));
    const i32v v16 = i32_one(p1 + i0);
    const f32v v21 = f32_rec(v15);
    const int v22 = f32_is_far(v21);
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
        const i32v v17 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v18 = (v16 == v17);
        const f32v v19 = f32_select(v18, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
        const f32v v20 = f32_load(row14 + i1);
        const f32v v23 = f32_nearly_over(v20, v15, v21, v22);
        f32_store(row24 + i1, v23);
        const f32v v25 = (v23 + SPLAT(f32v, 0x1.19799812dea11p-40f));
        const f32v v26 = f32_log(v25);
        const f32v v27 = (v19 * v26);
        a0 = (a0 + v27);
      }
      if (i1 < INT64_C(12)) {
        const int i1_rest = (int)(INT64_C(12) - i1);
        const i32v v17 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v18 = (v16 == v17);
        const f32v v19 = f32_select(v18, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
        const f32v v20 = f32_load_part(row14 + i1, i1_rest);
        const f32v v23 = f32_nearly_over(v20, v15, v21, v22);
        f32_store_part(row24 + i1, v23, i1_rest);
        const f32v v25 = (v23 + SPLAT(f32v, 0x1.19799812dea11p-40f));
        const f32v v26 = f32_log(v25);
        const f32v v27 = (v19 * v26);
        a0 = (a0 + f32_select(lanes_below(i1_rest), v27, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
  }
  const f32v v28 = SPLAT(f32v, f32_sum(a0));
  *part_result = v28;
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
  _Alignas(64) float row80[12];
  _Alignas(64) float row31[12];
  _Alignas(64) float row27[12];
  _Alignas(64) float row23[12];
  _Alignas(64) float row19[12];
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
          const f32v v4 = f32_load_part(p0 + i2 + INT64_C(12)*i0, i2_rest);
          a0 = f32_above(f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, -__builtin_inff())), a0);
          const f32v v5 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(12), i2_rest);
          a1 = f32_above(f32_select(lanes_below(i2_rest), v5, SPLAT(f32v, -__builtin_inff())), a1);
          const f32v v6 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(24), i2_rest);
          a2 = f32_above(f32_select(lanes_below(i2_rest), v6, SPLAT(f32v, -__builtin_inff())), a2);
          const f32v v7 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(36), i2_rest);
          a3 = f32_above(f32_select(lanes_below(i2_rest), v7, SPLAT(f32v, -__builtin_inff())), a3);
        }
      }
      const f32v v8 = SPLAT(f32v, f32_max(a0));
      const f32v v9 = SPLAT(f32v, f32_max(a1));
      const f32v v10 = SPLAT(f32v, f32_max(a2));
      const f32v v11 = SPLAT(f32v, f32_max(a3));
      f32v a12 = SPLAT(f32v, 0x0.0p+0f);
      f32v a13 = SPLAT(f32v, 0x0.0p+0f);
      f32v a14 = SPLAT(f32v, 0x0.0p+0f);
      f32v a15 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(12); i3 += LANES) {
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v16 = f32_load(p0 + i3 + INT64_C(12)*i0);
          const f32v v17 = (v16 - v8);
          const f32v v18 = f32_exp_of_deficit(v17);
          f32_store(row19 + i3, v18);
          a12 = (a12 + v18);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1032));
          const f32v v20 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(12));
          const f32v v21 = (v20 - v9);
          const f32v v22 = f32_exp_of_deficit(v21);
          f32_store(row23 + i3, v22);
          a13 = (a13 + v22);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1044));
          const f32v v24 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(24));
          const f32v v25 = (v24 - v10);
          const f32v v26 = f32_exp_of_deficit(v25);
          f32_store(row27 + i3, v26);
          a14 = (a14 + v26);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1056));
          const f32v v28 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(36));
          const f32v v29 = (v28 - v11);
          const f32v v30 = f32_exp_of_deficit(v29);
          f32_store(row31 + i3, v30);
          a15 = (a15 + v30);
        }
        if (i3 < INT64_C(12)) {
          const int i3_rest = (int)(INT64_C(12) - i3);
          const f32v v16 = f32_load_part(p0 + i3 + INT64_C(12)*i0, i3_rest);
          const f32v v17 = (v16 - v8);
          const f32v v18 = f32_exp_of_deficit(v17);
          f32_store_part(row19 + i3, v18, i3_rest);
          a12 = (a12 + f32_select(lanes_below(i3_rest), v18, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v20 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(12), i3_rest);
          const f32v v21 = (v20 - v9);
          const f32v v22 = f32_exp_of_deficit(v21);
          f32_store_part(row23 + i3, v22, i3_rest);
          a13 = (a13 + f32_select(lanes_below(i3_rest), v22, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v24 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(24), i3_rest);
          const f32v v25 = (v24 - v10);
          const f32v v26 = f32_exp_of_deficit(v25);
          f32_store_part(row27 + i3, v26, i3_rest);
          a14 = (a14 + f32_select(lanes_below(i3_rest), v26, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v28 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(36), i3_rest);
          const f32v v29 = (v28 - v11);
          const f32v v30 = f32_exp_of_deficit(v29);
          f32_store_part(row31 + i3, v30, i3_rest);
          a15 = (a15 + f32_select(lanes_below(i3_rest), v30, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v32 = SPLAT(f32v, f32_sum(a12));
      const f32v v33 = SPLAT(f32v, f32_sum(a13));
      const f32v v34 = SPLAT(f32v, f32_sum(a14));
      const f32v v35 = SPLAT(f32v, f32_sum(a15));
      const f32v v37 = f32_rec(v32);
      const int v38 = f32_is_far(v37);
      const i32v v40 = i32_one(p1 + i0);
      const f32v v47 = f32_rec(v33);
      const int v48 = f32_is_far(v47);
      const i32v v50 = i32_one(p1 + i0 + INT64_C(1));
      const f32v v56 = f32_rec(v34);
      const int v57 = f32_is_far(v56);
      const i32v v59 = i32_one(p1 + i0 + INT64_C(2));
      const f32v v65 = f32_rec(v35);
      const int v66 = f32_is_far(v65);
      const i32v v68 = i32_one(p1 + i0 + INT64_C(3));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
          const f32v v36 = f32_load(row19 + i1);
          const f32v v39 = f32_nearly_over(v36, v32, v37, v38);
          const i32v v41 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v42 = (v40 == v41);
          const f32v v43 = f32_select(v42, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v44 = (v39 - v43);
          const f32v v45 = (v44 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1, v45);
          const f32v v46 = f32_load(row23 + i1);
          const f32v v49 = f32_nearly_over(v46, v33, v47, v48);
          const i32v v51 = (v50 == v41);
          const f32v v52 = f32_select(v51, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v53 = (v49 - v52);
          const f32v v54 = (v53 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(12), v54);
          const f32v v55 = f32_load(row27 + i1);
          const f32v v58 = f32_nearly_over(v55, v34, v56, v57);
          const i32v v60 = (v59 == v41);
          const f32v v61 = f32_select(v60, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v62 = (v58 - v61);
          const f32v v63 = (v62 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(24), v63);
          const f32v v64 = f32_load(row31 + i1);
          const f32v v67 = f32_nearly_over(v64, v35, v65, v66);
          const i32v v69 = (v68 == v41);
          const f32v v70 = f32_select(v69, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v71 = (v67 - v70);
          const f32v v72 = (v71 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(36), v72);
        }
        if (i1 < INT64_C(12)) {
          const int i1_rest = (int)(INT64_C(12) - i1);
          const f32v v36 = f32_load_part(row19 + i1, i1_rest);
          const f32v v39 = f32_nearly_over(v36, v32, v37, v38);
          const i32v v41 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v42 = (v40 == v41);
          const f32v v43 = f32_select(v42, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v44 = (v39 - v43);
          const f32v v45 = (v44 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1, v45, i1_rest);
          const f32v v46 = f32_load_part(row23 + i1, i1_rest);
          const f32v v49 = f32_nearly_over(v46, v33, v47, v48);
          const i32v v51 = (v50 == v41);
          const f32v v52 = f32_select(v51, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v53 = (v49 - v52);
          const f32v v54 = (v53 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(12), v54, i1_rest);
          const f32v v55 = f32_load_part(row27 + i1, i1_rest);
          const f32v v58 = f32_nearly_over(v55, v34, v56, v57);
          const i32v v60 = (v59 == v41);
          const f32v v61 = f32_select(v60, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v62 = (v58 - v61);
          const f32v v63 = (v62 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(24), v63, i1_rest);
          const f32v v64 = f32_load_part(row31 + i1, i1_rest);
          const f32v v67 = f32_nearly_over(v64, v35, v65, v66);
          const i32v v69 = (v68 == v41);
          const f32v v70 = f32_select(v69, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v71 = (v67 - v70);
          const f32v v72 = (v71 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(36), v72, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a73 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(12); i4 += LANES) {
          const f32v v74 = f32_load(p0 + i4 + INT64_C(12)*i0);
          a73 = f32_above(v74, a73);
        }
        if (i4 < INT64_C(12)) {
          const int i4_rest = (int)(INT64_C(12) - i4);
          const f32v v74 = f32_load_part(p0 + i4 + INT64_C(12)*i0, i4_rest);
          a73 = f32_above(f32_select(lanes_below(i4_rest), v74, SPLAT(f32v, -__builtin_inff())), a73);
        }
      }
      const f32v v75 = SPLAT(f32v, f32_max(a73));
      f32v a76 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i5 = 0;
        for (; i5 + LANES <= INT64_C(12); i5 += LANES) {
          fetch(p0 + i5 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v77 = f32_load(p0 + i5 + INT64_C(12)*i0);
          const f32v v78 = (v77 - v75);
          const f32v v79 = f32_exp_of_deficit(v78);
          f32_store(row80 + i5, v79);
          a76 = (a76 + v79);
        }
        if (i5 < INT64_C(12)) {
          const int i5_rest = (int)(INT64_C(12) - i5);
          const f32v v77 = f32_load_part(p0 + i5 + INT64_C(12)*i0, i5_rest);
          const f32v v78 = (v77 - v75);
          const f32v v79 = f32_exp_of_deficit(v78);
          f32_store_part(row80 + i5, v79, i5_rest);
          a76 = (a76 + f32_select(lanes_below(i5_rest), v79, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v81 = SPLAT(f32v, f32_sum(a76));
      const f32v v83 = f32_rec(v81);
      const int v84 = f32_is_far(v83);
      const i32v v86 = i32_one(p1 + i0);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
          const f32v v82 = f32_load(row80 + i1);
          const f32v v85 = f32_nearly_over(v82, v81, v83, v84);
          const i32v v87 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v88 = (v86 == v87);
          const f32v v89 = f32_select(v88, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v90 = (v85 - v89);
          const f32v v91 = (v90 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1, v91);
        }
        if (i1 < INT64_C(12)) {
          const int i1_rest = (int)(INT64_C(12) - i1);
          const f32v v82 = f32_load_part(row80 + i1, i1_rest);
          const f32v v85 = f32_nearly_over(v82, v81, v83, v84);
          const i32v v87 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v88 = (v86 == v87);
          const f32v v89 = f32_select(v88, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v90 = (v85 - v89);
          const f32v v91 = (v90 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1, v91, i1_rest);
        }
      }
    }
  }
}
static void k_cross_entropy_nest2_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_cross_entropy_nest2(nest->b, nest->s, begin, end, 0);
}
int k_cross_entropy(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[5];
  memcpy(all, b, 4*sizeof(void *));
  b = all;
  memset(all + 4, 0, sizeof(all) - 4*sizeof(void *));
  all[4] = aligned_alloc(64, (INT64_C(1)*4 + 127) & ~INT64_C(63));
  if (!all[4]) {
    missing = 1;
    goto done;
  }
  {
    f32v parts0[256];
    int count0 = 1;
    k_cross_entropy_nest0(b, s, 0, INT64_C(5), &parts0[0]);
    for (int t = 1; t < count0; t++) {
      parts0[0] = (parts0[0] + parts0[t]);
    }
    f32_store_part((float *)b[4], parts0[0], 1);
  }
  k_cross_entropy_nest1(b, s, 0, INT64_C(1), 0);
  free(all[4]);
  all[4] = 0;
  if (threads > 1 && INT64_C(60) + INT64_C(5) + INT64_C(60) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_cross_entropy_nest2_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads); else k_cross_entropy_nest2(b, s, 0, INT64_C(5), 0);
  goto done;
  done:
  free(all[4]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
