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
      f32v a1 = SPLAT(f32v, -__builtin_inff());
      f32v a2 = SPLAT(f32v, -__builtin_inff());
      f32v a3 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(43); i2 += LANES) {
          const f32v v4 = f32_load(p0 + i2 + INT64_C(43)*i0);
          a0 = f32_max_so_far(a0, v4);
          const f32v v5 = f32_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(43));
          a1 = f32_max_so_far(a1, v5);
          const f32v v6 = f32_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(86));
          a2 = f32_max_so_far(a2, v6);
          const f32v v7 = f32_load(p0 + i2 + INT64_C(43)*i0 + INT64_C(129));
          a3 = f32_max_so_far(a3, v7);
        }
        if (i2 < INT64_C(43)) {
          const int i2_rest = (int)(INT64_C(43) - i2);
          const f32v v4 = f32_load_part(p0 + i2 + INT64_C(43)*i0, i2_rest);
          a0 = f32_max_so_far(a0, f32_select(lanes_below(i2_rest), v4, SPLAT(f32v, -__builtin_inff())));
          const f32v v5 = f32_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(43), i2_rest);
          a1 = f32_max_so_far(a1, f32_select(lanes_below(i2_rest), v5, SPLAT(f32v, -__builtin_inff())));
          const f32v v6 = f32_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(86), i2_rest);
          a2 = f32_max_so_far(a2, f32_select(lanes_below(i2_rest), v6, SPLAT(f32v, -__builtin_inff())));
          const f32v v7 = f32_load_part(p0 + i2 + INT64_C(43)*i0 + INT64_C(129), i2_rest);
          a3 = f32_max_so_far(a3, f32_select(lanes_below(i2_rest), v7, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_max(a0));
      const f32v v9 = SPLAT(f32v, f32_max(a1));
      const f32v v10 = SPLAT(f32v, f32_max(a2));
      const f32v v11 = SPLAT(f32v, f32_max(a3));
      i32v a12 = SPLAT(i32v, INT64_C(2147483647));
      i32v a13 = SPLAT(i32v, INT64_C(2147483647));
      i32v a14 = SPLAT(i32v, INT64_C(2147483647));
      i32v a15 = SPLAT(i32v, INT64_C(2147483647));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          const f32v v16 = f32_load(p0 + INT64_C(43)*i0 + i1);
          const i32v v17 = (v16 == v8);
          const i32v v18 = f32_isnan(v16);
          const i32v v19 = (v17 | v18);
          const i32v v20 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v21 = i32_select(v19, v20, SPLAT(i32v, INT64_C(43)));
          a12 = i32_minimum(a12, v21);
          const f32v v22 = f32_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(43));
          const i32v v23 = (v22 == v9);
          const i32v v24 = f32_isnan(v22);
          const i32v v25 = (v23 | v24);
          const i32v v26 = i32_select(v25, v20, SPLAT(i32v, INT64_C(43)));
          a13 = i32_minimum(a13, v26);
          const f32v v27 = f32_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(86));
          const i32v v28 = (v27 == v10);
          const i32v v29 = f32_isnan(v27);
          const i32v v30 = (v28 | v29);
          const i32v v31 = i32_select(v30, v20, SPLAT(i32v, INT64_C(43)));
          a14 = i32_minimum(a14, v31);
          const f32v v32 = f32_load(p0 + INT64_C(43)*i0 + i1 + INT64_C(129));
          const i32v v33 = (v32 == v11);
          const i32v v34 = f32_isnan(v32);
          const i32v v35 = (v33 | v34);
          const i32v v36 = i32_select(v35, v20, SPLAT(i32v, INT64_C(43)));
          a15 = i32_minimum(a15, v36);
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v16 = f32_load_part(p0 + INT64_C(43)*i0 + i1, i1_rest);
          const i32v v17 = (v16 == v8);
          const i32v v18 = f32_isnan(v16);
          const i32v v19 = (v17 | v18);
          const i32v v20 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v21 = i32_select(v19, v20, SPLAT(i32v, INT64_C(43)));
          a12 = i32_minimum(a12, i32_select(lanes_below(i1_rest), v21, SPLAT(i32v, INT64_C(2147483647))));
          const f32v v22 = f32_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(43), i1_rest);
          const i32v v23 = (v22 == v9);
          const i32v v24 = f32_isnan(v22);
          const i32v v25 = (v23 | v24);
          const i32v v26 = i32_select(v25, v20, SPLAT(i32v, INT64_C(43)));
          a13 = i32_minimum(a13, i32_select(lanes_below(i1_rest), v26, SPLAT(i32v, INT64_C(2147483647))));
          const f32v v27 = f32_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(86), i1_rest);
          const i32v v28 = (v27 == v10);
          const i32v v29 = f32_isnan(v27);
          const i32v v30 = (v28 | v29);
          const i32v v31 = i32_select(v30, v20, SPLAT(i32v, INT64_C(43)));
          a14 = i32_minimum(a14, i32_select(lanes_below(i1_rest), v31, SPLAT(i32v, INT64_C(2147483647))));
          const f32v v32 = f32_load_part(p0 + INT64_C(43)*i0 + i1 + INT64_C(129), i1_rest);
          const i32v v33 = (v32 == v11);
          const i32v v34 = f32_isnan(v32);
          const i32v v35 = (v33 | v34);
          const i32v v36 = i32_select(v35, v20, SPLAT(i32v, INT64_C(43)));
          a15 = i32_minimum(a15, i32_select(lanes_below(i1_rest), v36, SPLAT(i32v, INT64_C(2147483647))));
        }
      }
      const i32v v37 = SPLAT(i32v, i32_min(a12));
      const i32v v38 = SPLAT(i32v, i32_min(a13));
      const i32v v39 = SPLAT(i32v, i32_min(a14));
      const i32v v40 = SPLAT(i32v, i32_min(a15));
      i32_store_part(p1 + i0, v37, 1);
      i32_store_part(p1 + i0 + INT64_C(1), v38, 1);
      i32_store_part(p1 + i0 + INT64_C(2), v39, 1);
      i32_store_part(p1 + i0 + INT64_C(3), v40, 1);
    }
    for (; i0 < end; i0++) {
      f32v a41 = SPLAT(f32v, -__builtin_inff());
      {
        int64_t i4 = 0;
        for (; i4 + LANES <= INT64_C(43); i4 += LANES) {
          const f32v v42 = f32_load(p0 + i4 + INT64_C(43)*i0);
          a41 = f32_max_so_far(a41, v42);
        }
        if (i4 < INT64_C(43)) {
          const int i4_rest = (int)(INT64_C(43) - i4);
          const f32v v42 = f32_load_part(p0 + i4 + INT64_C(43)*i0, i4_rest);
          a41 = f32_max_so_far(a41, f32_select(lanes_below(i4_rest), v42, SPLAT(f32v, -__builtin_inff())));
        }
      }
      const f32v v43 = SPLAT(f32v, f32_max(a41));
      i32v a44 = SPLAT(i32v, INT64_C(2147483647));
      {
        int64_t i3 = 0;
        for (; i3 + LANES <= INT64_C(43); i3 += LANES) {
          const f32v v45 = f32_load(p0 + INT64_C(43)*i0 + i3);
          const i32v v46 = (v45 == v43);
          const i32v v47 = f32_isnan(v45);
          const i32v v48 = (v46 | v47);
          const i32v v49 = i32_from_i64((SPLAT(i64v, (i3)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v50 = i32_select(v48, v49, SPLAT(i32v, INT64_C(43)));
          a44 = i32_minimum(a44, v50);
        }
        if (i3 < INT64_C(43)) {
          const int i3_rest = (int)(INT64_C(43) - i3);
          const f32v v45 = f32_load_part(p0 + INT64_C(43)*i0 + i3, i3_rest);
          const i32v v46 = (v45 == v43);
          const i32v v47 = f32_isnan(v45);
          const i32v v48 = (v46 | v47);
          const i32v v49 = i32_from_i64((SPLAT(i64v, (i3)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v50 = i32_select(v48, v49, SPLAT(i32v, INT64_C(43)));
          a44 = i32_minimum(a44, i32_select(lanes_below(i3_rest), v50, SPLAT(i32v, INT64_C(2147483647))));
        }
      }
      const i32v v51 = SPLAT(i32v, i32_min(a44));
      i32_store_part(p1 + i0, v51, 1);
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
          const f32v v1 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(43));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1075));
          const f32v v2 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(86));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1118));
          const f32v v3 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(129));
          f32_store(c0 + i1, f32_minimum(f32_minimum(f32_minimum(f32_minimum(f32_load(c0 + i1), v0), v1), v2), v3));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v0 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          const f32v v1 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(43), i1_rest);
          const f32v v2 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(86), i1_rest);
          const f32v v3 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(129), i1_rest);
          f32_store_part(c0 + i1, f32_minimum(f32_minimum(f32_minimum(f32_minimum(f32_load_part(c0 + i1, i1_rest), v0), v1), v2), v3), i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(989));
          const f32v v4 = f32_load(p0 + i1 + INT64_C(43)*i0);
          f32_store(c0 + i1, f32_minimum(f32_load(c0 + i1), v4));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v4 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          f32_store_part(c0 + i1, f32_minimum(f32_load_part(c0 + i1, i1_rest), v4), i1_rest);
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
    f32v v = f32_load_part((float *)rows + i, n);
    for (int t = 1; t < used; t++) {
      v = f32_minimum(v, f32_load_part((float *)(rows + t*row_bytes) + i, n));
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
      const i32v v11 = i32_from_i64(SPLAT(i64v, (i0 + INT64_C(1))));
      const i32v v17 = i32_from_i64(SPLAT(i64v, (i0 + INT64_C(2))));
      const i32v v23 = i32_from_i64(SPLAT(i64v, (i0 + INT64_C(3))));
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
          const f32v v7 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(43));
          const i32v v8 = (v7 == v1);
          const i32v v9 = f32_isnan(v7);
          const i32v v10 = (v8 | v9);
          const i32v v12 = i32_select(v10, v11, SPLAT(i32v, INT64_C(5)));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1075));
          const f32v v13 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(86));
          const i32v v14 = (v13 == v1);
          const i32v v15 = f32_isnan(v13);
          const i32v v16 = (v14 | v15);
          const i32v v18 = i32_select(v16, v17, SPLAT(i32v, INT64_C(5)));
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(1118));
          const f32v v19 = f32_load(p0 + i1 + INT64_C(43)*i0 + INT64_C(129));
          const i32v v20 = (v19 == v1);
          const i32v v21 = f32_isnan(v19);
          const i32v v22 = (v20 | v21);
          const i32v v24 = i32_select(v22, v23, SPLAT(i32v, INT64_C(5)));
          i32_store(c0 + i1, i32_minimum(i32_minimum(i32_minimum(i32_minimum(i32_load(c0 + i1), v6), v12), v18), v24));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v0 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          const f32v v1 = f32_load_part(p3 + i1, i1_rest);
          const i32v v2 = (v0 == v1);
          const i32v v3 = f32_isnan(v0);
          const i32v v4 = (v2 | v3);
          const i32v v6 = i32_select(v4, v5, SPLAT(i32v, INT64_C(5)));
          const f32v v7 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(43), i1_rest);
          const i32v v8 = (v7 == v1);
          const i32v v9 = f32_isnan(v7);
          const i32v v10 = (v8 | v9);
          const i32v v12 = i32_select(v10, v11, SPLAT(i32v, INT64_C(5)));
          const f32v v13 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(86), i1_rest);
          const i32v v14 = (v13 == v1);
          const i32v v15 = f32_isnan(v13);
          const i32v v16 = (v14 | v15);
          const i32v v18 = i32_select(v16, v17, SPLAT(i32v, INT64_C(5)));
          const f32v v19 = f32_load_part(p0 + i1 + INT64_C(43)*i0 + INT64_C(129), i1_rest);
          const i32v v20 = (v19 == v1);
          const i32v v21 = f32_isnan(v19);
          const i32v v22 = (v20 | v21);
          const i32v v24 = i32_select(v22, v23, SPLAT(i32v, INT64_C(5)));
          i32_store_part(c0 + i1, i32_minimum(i32_minimum(i32_minimum(i32_minimum(i32_load_part(c0 + i1, i1_rest), v6), v12), v18), v24), i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      const i32v v30 = i32_from_i64(SPLAT(i64v, (i0)));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(43); i1 += LANES) {
          fetch(p0 + i1 + INT64_C(43)*i0 + INT64_C(989));
          const f32v v25 = f32_load(p0 + i1 + INT64_C(43)*i0);
          const f32v v26 = f32_load(p3 + i1);
          const i32v v27 = (v25 == v26);
          const i32v v28 = f32_isnan(v25);
          const i32v v29 = (v27 | v28);
          const i32v v31 = i32_select(v29, v30, SPLAT(i32v, INT64_C(5)));
          i32_store(c0 + i1, i32_minimum(i32_load(c0 + i1), v31));
        }
        if (i1 < INT64_C(43)) {
          const int i1_rest = (int)(INT64_C(43) - i1);
          const f32v v25 = f32_load_part(p0 + i1 + INT64_C(43)*i0, i1_rest);
          const f32v v26 = f32_load_part(p3 + i1, i1_rest);
          const i32v v27 = (v25 == v26);
          const i32v v28 = f32_isnan(v25);
          const i32v v29 = (v27 | v28);
          const i32v v31 = i32_select(v29, v30, SPLAT(i32v, INT64_C(5)));
          i32_store_part(c0 + i1, i32_minimum(i32_load_part(c0 + i1, i1_rest), v31), i1_rest);
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
    i32v v = i32_load_part((int32_t *)rows + i, n);
    for (int t = 1; t < used; t++) {
      v = i32_minimum(v, i32_load_part((int32_t *)(rows + t*row_bytes) + i, n));
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
