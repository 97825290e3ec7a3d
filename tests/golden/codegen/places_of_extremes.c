#include "vector_math.h"
#include "runtime.h"
static void k_places_of_extremes_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r1 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r2 = SPLAT(f32v, -__builtin_inff());
      f32v a0_r3 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(43); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(43)*i0);
          a0 = f32_max_so_far(a0, v1);
          const f32v v1_r1 = f32_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(43));
          a0_r1 = f32_max_so_far(a0_r1, v1_r1);
          const f32v v1_r2 = f32_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(86));
          a0_r2 = f32_max_so_far(a0_r2, v1_r2);
          const f32v v1_r3 = f32_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(129));
          a0_r3 = f32_max_so_far(a0_r3, v1_r3);
        }
        if (i2 < INT64_C(43)) {
          const int i2_rest = (int)(INT64_C(43) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(43)*i0, i2_rest);
          a0 = f32_max_so_far(a0, f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())));
          const f32v v1_r1 = f32_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          a0_r1 = f32_max_so_far(a0_r1, f32_select(lanes_below(i2_rest), v1_r1, SPLAT(f32v, -__builtin_inff())));
          const f32v v1_r2 = f32_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          a0_r2 = f32_max_so_far(a0_r2, f32_select(lanes_below(i2_rest), v1_r2, SPLAT(f32v, -__builtin_inff())));
          const f32v v1_r3 = f32_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
          a0_r3 = f32_max_so_far(a0_r3, f32_select(lanes_below(i2_rest), v1_r3, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_max(a0));
      const f32v v2_r1 = SPLAT(f32v, f32_max(a0_r1));
      const f32v v2_r2 = SPLAT(f32v, f32_max(a0_r2));
      const f32v v2_r3 = SPLAT(f32v, f32_max(a0_r3));
      i32v a3 = SPLAT(i32v, INT64_C(2147483647));
      i32v a3_r1 = SPLAT(i32v, INT64_C(2147483647));
      i32v a3_r2 = SPLAT(i32v, INT64_C(2147483647));
      i32v a3_r3 = SPLAT(i32v, INT64_C(2147483647));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          const f32v v4 = f32_load(p0 + INT64_C(43)*i0 + i1);
          const i32v v5 = (v4 == v2);
          const i32v v6 = f32_isnan(v4);
          const i32v v7 = (v5 | v6);
          const i32v v8 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v9 = i32_select(v7, v8, SPLAT(i32v, INT64_C(43)));
          a3 = i32_minimum(a3, v9);
          const f32v v4_r1 = f32_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const i32v v5_r1 = (v4_r1 == v2_r1);
          const i32v v6_r1 = f32_isnan(v4_r1);
          const i32v v7_r1 = (v5_r1 | v6_r1);
          const i32v v9_r1 = i32_select(v7_r1, v8, SPLAT(i32v, INT64_C(43)));
          a3_r1 = i32_minimum(a3_r1, v9_r1);
          const f32v v4_r2 = f32_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const i32v v5_r2 = (v4_r2 == v2_r2);
          const i32v v6_r2 = f32_isnan(v4_r2);
          const i32v v7_r2 = (v5_r2 | v6_r2);
          const i32v v9_r2 = i32_select(v7_r2, v8, SPLAT(i32v, INT64_C(43)));
          a3_r2 = i32_minimum(a3_r2, v9_r2);
          const f32v v4_r3 = f32_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const i32v v5_r3 = (v4_r3 == v2_r3);
          const i32v v6_r3 = f32_isnan(v4_r3);
          const i32v v7_r3 = (v5_r3 | v6_r3);
          const i32v v9_r3 = i32_select(v7_r3, v8, SPLAT(i32v, INT64_C(43)));
          a3_r3 = i32_minimum(a3_r3, v9_r3);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v4 = f32_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const i32v v5 = (v4 == v2);
          const i32v v6 = f32_isnan(v4);
          const i32v v7 = (v5 | v6);
          const i32v v8 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v9 = i32_select(v7, v8, SPLAT(i32v, INT64_C(43)));
          a3 = i32_minimum(a3, i32_select(lanes_below(i1_rest), v9, SPLAT(i32v, INT64_C(2147483647))));
          const f32v v4_r1 = f32_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const i32v v5_r1 = (v4_r1 == v2_r1);
          const i32v v6_r1 = f32_isnan(v4_r1);
          const i32v v7_r1 = (v5_r1 | v6_r1);
          const i32v v9_r1 = i32_select(v7_r1, v8, SPLAT(i32v, INT64_C(43)));
          a3_r1 = i32_minimum(a3_r1, i32_select(lanes_below(i1_rest), v9_r1, SPLAT(i32v, INT64_C(2147483647))));
          const f32v v4_r2 = f32_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const i32v v5_r2 = (v4_r2 == v2_r2);
          const i32v v6_r2 = f32_isnan(v4_r2);
          const i32v v7_r2 = (v5_r2 | v6_r2);
          const i32v v9_r2 = i32_select(v7_r2, v8, SPLAT(i32v, INT64_C(43)));
          a3_r2 = i32_minimum(a3_r2, i32_select(lanes_below(i1_rest), v9_r2, SPLAT(i32v, INT64_C(2147483647))));
          const f32v v4_r3 = f32_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const i32v v5_r3 = (v4_r3 == v2_r3);
          const i32v v6_r3 = f32_isnan(v4_r3);
          const i32v v7_r3 = (v5_r3 | v6_r3);
          const i32v v9_r3 = i32_select(v7_r3, v8, SPLAT(i32v, INT64_C(43)));
          a3_r3 = i32_minimum(a3_r3, i32_select(lanes_below(i1_rest), v9_r3, SPLAT(i32v, INT64_C(2147483647))));
        }
      }
      const i32v v10 = SPLAT(i32v, i32_min(a3));
      const i32v v10_r1 = SPLAT(i32v, i32_min(a3_r1));
      const i32v v10_r2 = SPLAT(i32v, i32_min(a3_r2));
      const i32v v10_r3 = SPLAT(i32v, i32_min(a3_r3));
      i32_store_part(p1 + i0, v10, 1);
      i32_store_part(p1 + i0 + INT64_C(1), v10_r1, 1);
      i32_store_part(p1 + i0 + INT64_C(2), v10_r2, 1);
      i32_store_part(p1 + i0 + INT64_C(3), v10_r3, 1);
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(43); i2 += LANES) {
          const f32v v1 = f32_load(p0 + i2 + INT64_C(43)*i0);
          a0 = f32_max_so_far(a0, v1);
        }
        if (i2 < INT64_C(43)) {
          const int i2_rest = (int)(INT64_C(43) - i2);
          const f32v v1 = f32_load_part(p0 + i2 + INT64_C(43)*i0, i2_rest);
          a0 = f32_max_so_far(a0, f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_max(a0));
      i32v a3 = SPLAT(i32v, INT64_C(2147483647));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          const f32v v4 = f32_load(p0 + INT64_C(43)*i0 + i1);
          const i32v v5 = (v4 == v2);
          const i32v v6 = f32_isnan(v4);
          const i32v v7 = (v5 | v6);
          const i32v v8 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v9 = i32_select(v7, v8, SPLAT(i32v, INT64_C(43)));
          a3 = i32_minimum(a3, v9);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v4 = f32_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const i32v v5 = (v4 == v2);
          const i32v v6 = f32_isnan(v4);
          const i32v v7 = (v5 | v6);
          const i32v v8 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v9 = i32_select(v7, v8, SPLAT(i32v, INT64_C(43)));
          a3 = i32_minimum(a3, i32_select(lanes_below(i1_rest), v9, SPLAT(i32v, INT64_C(2147483647))));
        }
      }
      const i32v v10 = SPLAT(i32v, i32_min(a3));
      i32_store_part(p1 + i0, v10, 1);
    }
  }
}
static void k_places_of_extremes_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_places_of_extremes_nest0(nest->b, nest->s, begin, end, 0);
}
static void k_places_of_extremes_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p0 = (float *)b[0];
  float *c0 = (float *)rows;
  for (int64_t i = 0; i < INT64_C(43); i++) {
    c0[i] = SPLAT(f32v, __builtin_inff())[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(989));
          const f32v v0 = f32_load(p0 + i1 + INT64_C(43)*i0);
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1032));
          const f32v v0_r1 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(43));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1075));
          const f32v v0_r2 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(86));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1118));
          const f32v v0_r3 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(129));
          f32_store(c0 + i1, f32_minimum(f32_minimum(f32_minimum(f32_minimum(f32_load(c0 + i1), v0), v0_r1), v0_r2), v0_r3));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v0 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          const f32v v0_r1 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(43), i1_rest);
          const f32v v0_r2 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(86), i1_rest);
          const f32v v0_r3 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(129), i1_rest);
          f32_store_part(c0 + i1, f32_minimum(f32_minimum(f32_minimum(f32_minimum(f32_load_part(c0 + i1, i1_rest), v0), v0_r1), v0_r2), v0_r3), i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(989));
          const f32v v0 = f32_load(p0 + i1 + INT64_C(43)*i0);
          f32_store(c0 + i1, f32_minimum(f32_load(c0 + i1), v0));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v0 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          f32_store_part(c0 + i1, f32_minimum(f32_load_part(c0 + i1, i1_rest), v0), i1_rest);
        }
      }
    }
  }
}
static void k_places_of_extremes_nest1_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_places_of_extremes_nest1(nest->b, nest->s, begin, end, 0, own);
}
static void k_places_of_extremes_nest1_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  float *p3 = (float *)b[3];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(43); i += LANES) {
    const int64_t left = INT64_C(43) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load((float *)rows + i);
    for (int t = 1; t < used; t++) {
      v = f32_minimum(v, f32_load((float *)(rows + t*row_bytes) + i));
    }
    f32_store_part(p3 + i, v, n);
  }
}
static void k_places_of_extremes_nest2(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p0 = (float *)b[0];
  float *p3 = (float *)b[3];
  int32_t *c0 = (int32_t *)rows;
  for (int64_t i = 0; i < INT64_C(43); i++) {
    c0[i] = SPLAT(i32v, INT64_C(2147483647))[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      const i32v v5 = i32_from_i64(SPLAT(i64v, (i0)));
      const i32v v5_r1 = i32_from_i64(SPLAT(i64v, (i0 + INT64_C(1))));
      const i32v v5_r2 = i32_from_i64(SPLAT(i64v, (i0 + INT64_C(2))));
      const i32v v5_r3 = i32_from_i64(SPLAT(i64v, (i0 + INT64_C(3))));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(989));
          const f32v v0 = f32_load(p0 + i1 + INT64_C(43)*i0);
          const f32v v1 = f32_load(p3 + i1);
          const i32v v2 = (v0 == v1);
          const i32v v3 = f32_isnan(v0);
          const i32v v4 = (v2 | v3);
          const i32v v6 = i32_select(v4, v5, SPLAT(i32v, INT64_C(5)));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1032));
          const f32v v0_r1 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(43));
          const i32v v2_r1 = (v0_r1 == v1);
          const i32v v3_r1 = f32_isnan(v0_r1);
          const i32v v4_r1 = (v2_r1 | v3_r1);
          const i32v v6_r1 = i32_select(v4_r1, v5_r1, SPLAT(i32v, INT64_C(5)));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1075));
          const f32v v0_r2 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(86));
          const i32v v2_r2 = (v0_r2 == v1);
          const i32v v3_r2 = f32_isnan(v0_r2);
          const i32v v4_r2 = (v2_r2 | v3_r2);
          const i32v v6_r2 = i32_select(v4_r2, v5_r2, SPLAT(i32v, INT64_C(5)));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1118));
          const f32v v0_r3 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(129));
          const i32v v2_r3 = (v0_r3 == v1);
          const i32v v3_r3 = f32_isnan(v0_r3);
          const i32v v4_r3 = (v2_r3 | v3_r3);
          const i32v v6_r3 = i32_select(v4_r3, v5_r3, SPLAT(i32v, INT64_C(5)));
          i32_store(c0 + i1, i32_minimum(i32_minimum(i32_minimum(i32_minimum(i32_load(c0 + i1), v6), v6_r1), v6_r2), v6_r3));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v0 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          const f32v v1 = f32_load_part(p3 + i1, i1_rest);
          const i32v v2 = (v0 == v1);
          const i32v v3 = f32_isnan(v0);
          const i32v v4 = (v2 | v3);
          const i32v v6 = i32_select(v4, v5, SPLAT(i32v, INT64_C(5)));
          const f32v v0_r1 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(43), i1_rest);
          const i32v v2_r1 = (v0_r1 == v1);
          const i32v v3_r1 = f32_isnan(v0_r1);
          const i32v v4_r1 = (v2_r1 | v3_r1);
          const i32v v6_r1 = i32_select(v4_r1, v5_r1, SPLAT(i32v, INT64_C(5)));
          const f32v v0_r2 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(86), i1_rest);
          const i32v v2_r2 = (v0_r2 == v1);
          const i32v v3_r2 = f32_isnan(v0_r2);
          const i32v v4_r2 = (v2_r2 | v3_r2);
          const i32v v6_r2 = i32_select(v4_r2, v5_r2, SPLAT(i32v, INT64_C(5)));
          const f32v v0_r3 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(129), i1_rest);
          const i32v v2_r3 = (v0_r3 == v1);
          const i32v v3_r3 = f32_isnan(v0_r3);
          const i32v v4_r3 = (v2_r3 | v3_r3);
          const i32v v6_r3 = i32_select(v4_r3, v5_r3, SPLAT(i32v, INT64_C(5)));
          i32_store_part(c0 + i1, i32_minimum(i32_minimum(i32_minimum(i32_minimum(i32_load_part(c0 + i1, i1_rest), v6), v6_r1), v6_r2), v6_r3), i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      const i32v v5 = i32_from_i64(SPLAT(i64v, (i0)));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(989));
          const f32v v0 = f32_load(p0 + i1 + INT64_C(43)*i0);
          const f32v v1 = f32_load(p3 + i1);
          const i32v v2 = (v0 == v1);
          const i32v v3 = f32_isnan(v0);
          const i32v v4 = (v2 | v3);
          const i32v v6 = i32_select(v4, v5, SPLAT(i32v, INT64_C(5)));
          i32_store(c0 + i1, i32_minimum(i32_load(c0 + i1), v6));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v0 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          const f32v v1 = f32_load_part(p3 + i1, i1_rest);
          const i32v v2 = (v0 == v1);
          const i32v v3 = f32_isnan(v0);
          const i32v v4 = (v2 | v3);
          const i32v v6 = i32_select(v4, v5, SPLAT(i32v, INT64_C(5)));
          i32_store_part(c0 + i1, i32_minimum(i32_load_part(c0 + i1, i1_rest), v6), i1_rest);
        }
      }
    }
  }
}
static void k_places_of_extremes_nest2_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_places_of_extremes_nest2(nest->b, nest->s, begin, end, 0, own);
}
static void k_places_of_extremes_nest2_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  int32_t *p2 = (int32_t *)b[2];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(43); i += LANES) {
    const int64_t left = INT64_C(43) - i;
    const int n = left < LANES ? (int)left : LANES;
    i32v v = i32_load((int32_t *)rows + i);
    for (int t = 1; t < used; t++) {
      v = i32_minimum(v, i32_load((int32_t *)(rows + t*row_bytes) + i));
    }
    i32_store_part(p2 + i, v, n);
  }
}
int k_places_of_extremes(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[4];
  memcpy(all, b, 3*sizeof(void *));
  b = all;
  memset(all + 3, 0, sizeof(all) - 3*sizeof(void *));
  if (threads > 1 && INT64_C(215) + INT64_C(5) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_places_of_extremes_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads); else k_places_of_extremes_nest0(b, s, 0, INT64_C(5), 0);
  all[3] = aligned_alloc(64, (INT64_C(43)*4 + 127) & ~INT64_C(63));
  if (!all[3]) {
    missing = 1;
    goto done;
  }
  {
    const int64_t row_bytes = ((INT64_C(43)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(215) + INT64_C(43) >= 524288) used = share_nest(&(struct shared_nest){.run = k_places_of_extremes_nest1_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_places_of_extremes_nest1(b, s, 0, INT64_C(5), 0, rows);
    k_places_of_extremes_nest1_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  {
    const int64_t row_bytes = ((INT64_C(43)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(215) + INT64_C(43) + INT64_C(43) >= 524288) used = share_nest(&(struct shared_nest){.run = k_places_of_extremes_nest2_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_places_of_extremes_nest2(b, s, 0, INT64_C(5), 0, rows);
    k_places_of_extremes_nest2_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  free(all[3]);
  all[3] = 0;
  goto done;
  done:
  free(all[3]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
