#include "vector_math.h"
#include "runtime.h"
static void k_cross_entropy_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, f32v *part_result) {
  float *p0 = (float *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row0[12];
  f32v a0 = SPLAT(f32v, 0x0.0p+0f);
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a1 = SPLAT(f32v, -__builtin_inff());
    f32v a1_1 = SPLAT(f32v, -__builtin_inff());
    f32v a1_2 = SPLAT(f32v, -__builtin_inff());
    f32v a1_3 = SPLAT(f32v, -__builtin_inff());
    {
      int64_t i2 = 0;
      for (; i2 + 4*LANES <= INT64_C(12); i2 += 4*LANES) {
        {
          const f32v v2 = f32_load(p0 + i2 + INT64_C(12)*i0);
          a1 = f32_above(v2, a1);
        }
        {
          const int64_t i2_1 = i2 + 1*LANES;
          const f32v v2 = f32_load(p0 + i2_1 + INT64_C(12)*i0);
          a1_1 = f32_above(v2, a1_1);
        }
        {
          const int64_t i2_2 = i2 + 2*LANES;
          const f32v v2 = f32_load(p0 + i2_2 + INT64_C(12)*i0);
          a1_2 = f32_above(v2, a1_2);
        }
        {
          const int64_t i2_3 = i2 + 3*LANES;
          const f32v v2 = f32_load(p0 + i2_3 + INT64_C(12)*i0);
          a1_3 = f32_above(v2, a1_3);
        }
      }
      for (; i2 + LANES <= INT64_C(12); i2 += LANES) {
        const f32v v2 = f32_load(p0 + i2 + INT64_C(12)*i0);
        a1 = f32_above(v2, a1);
      }
      if (i2 < INT64_C(12)) {
        const int i2_rest = (int)(INT64_C(12) - i2);
        const f32v v2 = f32_load_part(p0 + i2 + INT64_C(12)*i0, i2_rest);
        a1 = f32_above(f32_select(lanes_below(i2_rest), v2, SPLAT(f32v, -__builtin_inff())), a1);
      }
    }
    const f32v v3 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a1, a1_1), a1_2), a1_3)));
    f32v a4 = SPLAT(f32v, 0x0.0p+0f);
    f32v a4_1 = SPLAT(f32v, 0x0.0p+0f);
    f32v a4_2 = SPLAT(f32v, 0x0.0p+0f);
    f32v a4_3 = SPLAT(f32v, 0x0.0p+0f);
    {
      int64_t i3 = 0;
      for (; i3 + 4*LANES <= INT64_C(12); i3 += 4*LANES) {
        {
          fetch_of(0, p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v5 = f32_load(p0 + i3 + INT64_C(12)*i0);
          const f32v v6 = (v5 - v3);
          const f32v v7 = f32_exp_of_deficit(v6);
          f32_store(row0 + i3, v7);
          a4 = (a4 + v7);
        }
        {
          const int64_t i3_1 = i3 + 1*LANES;
          fetch_of(1, p0 + i3_1 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v5 = f32_load(p0 + i3_1 + INT64_C(12)*i0);
          const f32v v6 = (v5 - v3);
          const f32v v7 = f32_exp_of_deficit(v6);
          f32_store(row0 + i3_1, v7);
          a4_1 = (a4_1 + v7);
        }
        {
          const int64_t i3_2 = i3 + 2*LANES;
          fetch_of(2, p0 + i3_2 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v5 = f32_load(p0 + i3_2 + INT64_C(12)*i0);
          const f32v v6 = (v5 - v3);
          const f32v v7 = f32_exp_of_deficit(v6);
          f32_store(row0 + i3_2, v7);
          a4_2 = (a4_2 + v7);
        }
        {
          const int64_t i3_3 = i3 + 3*LANES;
          fetch_of(3, p0 + i3_3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v5 = f32_load(p0 + i3_3 + INT64_C(12)*i0);
          const f32v v6 = (v5 - v3);
          const f32v v7 = f32_exp_of_deficit(v6);
          f32_store(row0 + i3_3, v7);
          a4_3 = (a4_3 + v7);
        }
      }
      for (; i3 + LANES <= INT64_C(12); i3 += LANES) {
        fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
        const f32v v5 = f32_load(p0 + i3 + INT64_C(12)*i0);
        const f32v v6 = (v5 - v3);
        const f32v v7 = f32_exp_of_deficit(v6);
        f32_store(row0 + i3, v7);
        a4 = (a4 + v7);
      }
      if (i3 < INT64_C(12)) {
        const int i3_rest = (int)(INT64_C(12) - i3);
        const f32v v5 = f32_load_part(p0 + i3 + INT64_C(12)*i0, i3_rest);
        const f32v v6 = (v5 - v3);
        const f32v v7 = f32_exp_of_deficit(v6);
        f32_store_part(row0 + i3, v7, i3_rest);
        a4 = (a4 + f32_select(lanes_below(i3_rest), v7, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
    const f32v v8 = SPLAT(f32v, f32_sum((((a4 + a4_1) + a4_2) + a4_3)));
    const i32v v9 = i32_one(p1 + i0);
    const f32v v16 = f32_rec(v8);
    const int v17 = f32_is_far(v16);
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
        const i32v v10 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v11 = (v9 == v10);
        const f32v v12 = f32_select(v11, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
        const f32v v15 = f32_load(row0 + i1);
        const f32v v18 = f32_nearly_over(v15, v8, v16, v17);
        const f32v v19 = (v18 + SPLAT(f32v, 0x1.19799812dea11p-40f));
        const f32v v20 = f32_log(v19);
        const f32v v21 = (v12 * v20);
        a0 = (a0 + v21);
      }
      if (i1 < INT64_C(12)) {
        const int i1_rest = (int)(INT64_C(12) - i1);
        const i32v v10 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v11 = (v9 == v10);
        const f32v v12 = f32_select(v11, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
        const f32v v15 = f32_load_part(row0 + i1, i1_rest);
        const f32v v18 = f32_nearly_over(v15, v8, v16, v17);
        const f32v v19 = (v18 + SPLAT(f32v, 0x1.19799812dea11p-40f));
        const f32v v20 = f32_log(v19);
        const f32v v21 = (v12 * v20);
        a0 = (a0 + f32_select(lanes_below(i1_rest), v21, SPLAT(f32v, 0x0.0p+0f)));
      }
    }
  }
  const f32v v22 = SPLAT(f32v, f32_sum(a0));
  *part_result = v22;
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
  _Alignas(64) float row0_r1[12];
  _Alignas(64) float row0_r2[12];
  _Alignas(64) float row0_r3[12];
  _Alignas(64) float row0[12];
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r1 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r2 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r3 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(12); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(12)*i0);
          a0 = f32_above(v1, a0);
          const f32v v1_r1 = f32_load(p0 + i2 + INT64_C(12)*i0 + INT64_C(12));
          a0_r1 = f32_above(v1_r1, a0_r1);
          const f32v v1_r2 = f32_load(p0 + i2 + INT64_C(12)*i0 + INT64_C(24));
          a0_r2 = f32_above(v1_r2, a0_r2);
          const f32v v1_r3 = f32_load(p0 + i2 + INT64_C(12)*i0 + INT64_C(36));
          a0_r3 = f32_above(v1_r3, a0_r3);
        }
        if (i2 < INT64_C(12)) {
          const int i2_rest = (int)(INT64_C(12) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(12)*i0, i2_rest);
          a0 = f32_above(f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())), a0);
          const f32v v1_r1 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(12), i2_rest);
          a0_r1 = f32_above(f32_select(lanes_below(i2_rest), v1_r1, SPLAT(f32v, -__builtin_inff())), a0_r1);
          const f32v v1_r2 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(24), i2_rest);
          a0_r2 = f32_above(f32_select(lanes_below(i2_rest), v1_r2, SPLAT(f32v, -__builtin_inff())), a0_r2);
          const f32v v1_r3 = f32_load_part(p0 + i2 + INT64_C(12)*i0 + INT64_C(36), i2_rest);
          a0_r3 = f32_above(f32_select(lanes_below(i2_rest), v1_r3, SPLAT(f32v, -__builtin_inff())), a0_r3);
        }
      }
      const f32v v2 = SPLAT(f32v, f32_max(a0));
      const f32v v2_r1 = SPLAT(f32v, f32_max(a0_r1));
      const f32v v2_r2 = SPLAT(f32v, f32_max(a0_r2));
      const f32v v2_r3 = SPLAT(f32v, f32_max(a0_r3));
      f32v a3 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3_r1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3_r2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3_r3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(12); i3 += LANES) {
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v4 = f32_load(p0 + i3 + INT64_C(12)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3, v6);
          a3 = (a3 + v6);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1032));
          const f32v v4_r1 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(12));
          const f32v v5_r1 = (v4_r1 - v2_r1);
          const f32v v6_r1 = f32_exp_of_deficit(v5_r1);
          f32_store(row0_r1 + i3, v6_r1);
          a3_r1 = (a3_r1 + v6_r1);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1044));
          const f32v v4_r2 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(24));
          const f32v v5_r2 = (v4_r2 - v2_r2);
          const f32v v6_r2 = f32_exp_of_deficit(v5_r2);
          f32_store(row0_r2 + i3, v6_r2);
          a3_r2 = (a3_r2 + v6_r2);
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1056));
          const f32v v4_r3 = f32_load(p0 + i3 + INT64_C(12)*i0 + INT64_C(36));
          const f32v v5_r3 = (v4_r3 - v2_r3);
          const f32v v6_r3 = f32_exp_of_deficit(v5_r3);
          f32_store(row0_r3 + i3, v6_r3);
          a3_r3 = (a3_r3 + v6_r3);
        }
        if (i3 < INT64_C(12)) {
          const int i3_rest = (int)(INT64_C(12) - i3);
          const f32v v4 = f32_load_part(p0 + i3 + INT64_C(12)*i0, i3_rest);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store_part(row0 + i3, v6, i3_rest);
          a3 = (a3 + f32_select(lanes_below(i3_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v4_r1 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(12), i3_rest);
          const f32v v5_r1 = (v4_r1 - v2_r1);
          const f32v v6_r1 = f32_exp_of_deficit(v5_r1);
          f32_store_part(row0_r1 + i3, v6_r1, i3_rest);
          a3_r1 = (a3_r1 + f32_select(lanes_below(i3_rest), v6_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v4_r2 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(24), i3_rest);
          const f32v v5_r2 = (v4_r2 - v2_r2);
          const f32v v6_r2 = f32_exp_of_deficit(v5_r2);
          f32_store_part(row0_r2 + i3, v6_r2, i3_rest);
          a3_r2 = (a3_r2 + f32_select(lanes_below(i3_rest), v6_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v4_r3 = f32_load_part(p0 + i3 + INT64_C(12)*i0 + INT64_C(36), i3_rest);
          const f32v v5_r3 = (v4_r3 - v2_r3);
          const f32v v6_r3 = f32_exp_of_deficit(v5_r3);
          f32_store_part(row0_r3 + i3, v6_r3, i3_rest);
          a3_r3 = (a3_r3 + f32_select(lanes_below(i3_rest), v6_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v7 = SPLAT(f32v, f32_sum(a3));
      const f32v v7_r1 = SPLAT(f32v, f32_sum(a3_r1));
      const f32v v7_r2 = SPLAT(f32v, f32_sum(a3_r2));
      const f32v v7_r3 = SPLAT(f32v, f32_sum(a3_r3));
      const f32v v11 = f32_rec(v7);
      const int v12 = f32_is_far(v11);
      const i32v v14 = i32_one(p1 + i0);
      const f32v v11_r1 = f32_rec(v7_r1);
      const int v12_r1 = f32_is_far(v11_r1);
      const i32v v14_r1 = i32_one(p1 + i0 + INT64_C(1));
      const f32v v11_r2 = f32_rec(v7_r2);
      const int v12_r2 = f32_is_far(v11_r2);
      const i32v v14_r2 = i32_one(p1 + i0 + INT64_C(2));
      const f32v v11_r3 = f32_rec(v7_r3);
      const int v12_r3 = f32_is_far(v11_r3);
      const i32v v14_r3 = i32_one(p1 + i0 + INT64_C(3));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
          const f32v v10 = f32_load(row0 + i1);
          const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
          const i32v v15 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v16 = (v14 == v15);
          const f32v v17 = f32_select(v16, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18 = (v13 - v17);
          const f32v v19 = (v18 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1, v19);
          const f32v v10_r1 = f32_load(row0_r1 + i1);
          const f32v v13_r1 = f32_nearly_over(v10_r1, v7_r1, v11_r1, v12_r1);
          const i32v v16_r1 = (v14_r1 == v15);
          const f32v v17_r1 = f32_select(v16_r1, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18_r1 = (v13_r1 - v17_r1);
          const f32v v19_r1 = (v18_r1 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(12), v19_r1);
          const f32v v10_r2 = f32_load(row0_r2 + i1);
          const f32v v13_r2 = f32_nearly_over(v10_r2, v7_r2, v11_r2, v12_r2);
          const i32v v16_r2 = (v14_r2 == v15);
          const f32v v17_r2 = f32_select(v16_r2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18_r2 = (v13_r2 - v17_r2);
          const f32v v19_r2 = (v18_r2 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(24), v19_r2);
          const f32v v10_r3 = f32_load(row0_r3 + i1);
          const f32v v13_r3 = f32_nearly_over(v10_r3, v7_r3, v11_r3, v12_r3);
          const i32v v16_r3 = (v14_r3 == v15);
          const f32v v17_r3 = f32_select(v16_r3, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18_r3 = (v13_r3 - v17_r3);
          const f32v v19_r3 = (v18_r3 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1 + INT64_C(36), v19_r3);
        }
        if (i1 < INT64_C(12)) {
          const int i1_rest = (int)(INT64_C(12) - i1);
          const f32v v10 = f32_load_part(row0 + i1, i1_rest);
          const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
          const i32v v15 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v16 = (v14 == v15);
          const f32v v17 = f32_select(v16, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18 = (v13 - v17);
          const f32v v19 = (v18 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1, v19, i1_rest);
          const f32v v10_r1 = f32_load_part(row0_r1 + i1, i1_rest);
          const f32v v13_r1 = f32_nearly_over(v10_r1, v7_r1, v11_r1, v12_r1);
          const i32v v16_r1 = (v14_r1 == v15);
          const f32v v17_r1 = f32_select(v16_r1, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18_r1 = (v13_r1 - v17_r1);
          const f32v v19_r1 = (v18_r1 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(12), v19_r1, i1_rest);
          const f32v v10_r2 = f32_load_part(row0_r2 + i1, i1_rest);
          const f32v v13_r2 = f32_nearly_over(v10_r2, v7_r2, v11_r2, v12_r2);
          const i32v v16_r2 = (v14_r2 == v15);
          const f32v v17_r2 = f32_select(v16_r2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18_r2 = (v13_r2 - v17_r2);
          const f32v v19_r2 = (v18_r2 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(24), v19_r2, i1_rest);
          const f32v v10_r3 = f32_load_part(row0_r3 + i1, i1_rest);
          const f32v v13_r3 = f32_nearly_over(v10_r3, v7_r3, v11_r3, v12_r3);
          const i32v v16_r3 = (v14_r3 == v15);
          const f32v v17_r3 = f32_select(v16_r3, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18_r3 = (v13_r3 - v17_r3);
          const f32v v19_r3 = (v18_r3 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1 + INT64_C(36), v19_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(12); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(12)*i0);
          a0 = f32_above(v1, a0);
        }
        if (i2 < INT64_C(12)) {
          const int i2_rest = (int)(INT64_C(12) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(12)*i0, i2_rest);
          a0 = f32_above(f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())), a0);
        }
      }
      const f32v v2 = SPLAT(f32v, f32_max(a0));
      f32v a3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(12); i3 += LANES) {
          fetch(p0 + i3 + INT64_C(12)*i0 + INT64_C(1020));
          const f32v v4 = f32_load(p0 + i3 + INT64_C(12)*i0);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store(row0 + i3, v6);
          a3 = (a3 + v6);
        }
        if (i3 < INT64_C(12)) {
          const int i3_rest = (int)(INT64_C(12) - i3);
          const f32v v4 = f32_load_part(p0 + i3 + INT64_C(12)*i0, i3_rest);
          const f32v v5 = (v4 - v2);
          const f32v v6 = f32_exp_of_deficit(v5);
          f32_store_part(row0 + i3, v6, i3_rest);
          a3 = (a3 + f32_select(lanes_below(i3_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v7 = SPLAT(f32v, f32_sum(a3));
      const f32v v11 = f32_rec(v7);
      const int v12 = f32_is_far(v11);
      const i32v v14 = i32_one(p1 + i0);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(12); i1 += LANES) {
          const f32v v10 = f32_load(row0 + i1);
          const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
          const i32v v15 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v16 = (v14 == v15);
          const f32v v17 = f32_select(v16, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18 = (v13 - v17);
          const f32v v19 = (v18 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store(p3 + INT64_C(12)*i0 + i1, v19);
        }
        if (i1 < INT64_C(12)) {
          const int i1_rest = (int)(INT64_C(12) - i1);
          const f32v v10 = f32_load_part(row0 + i1, i1_rest);
          const f32v v13 = f32_nearly_over(v10, v7, v11, v12);
          const i32v v15 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v16 = (v14 == v15);
          const f32v v17 = f32_select(v16, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          const f32v v18 = (v13 - v17);
          const f32v v19 = (v18 * SPLAT(f32v, 0x1.999999999999ap-3f));
          f32_store_part(p3 + INT64_C(12)*i0 + i1, v19, i1_rest);
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
