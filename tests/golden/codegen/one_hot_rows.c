#include "vector_math.h"
#include "runtime.h"
static void k_one_hot_rows_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  int32_t *p0 = (int32_t *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      const i32v v0 = i32_one(p0 + i0);
      const i32v v0_r1 = i32_one(p0 + i0 + INT64_C(1));
      const i32v v0_r2 = i32_one(p0 + i0 + INT64_C(2));
      const i32v v0_r3 = i32_one(p0 + i0 + INT64_C(3));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(6); i1 += LANES) {
          const i32v v1 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v2 = (v0 == v1);
          const f32v v3 = f32_select(v2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store(p1 + INT64_C(6)*i0 + i1, v3);
          const i32v v2_r1 = (v0_r1 == v1);
          const f32v v3_r1 = f32_select(v2_r1, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store(p1 + INT64_C(6)*i0 + i1 + INT64_C(6), v3_r1);
          const i32v v2_r2 = (v0_r2 == v1);
          const f32v v3_r2 = f32_select(v2_r2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store(p1 + INT64_C(6)*i0 + i1 + INT64_C(12), v3_r2);
          const i32v v2_r3 = (v0_r3 == v1);
          const f32v v3_r3 = f32_select(v2_r3, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store(p1 + INT64_C(6)*i0 + i1 + INT64_C(18), v3_r3);
        }
        if (i1 < INT64_C(6)) {
          const int i1_rest = (int)(INT64_C(6) - i1);
          const i32v v1 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v2 = (v0 == v1);
          const f32v v3 = f32_select(v2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store_part(p1 + INT64_C(6)*i0 + i1, v3, i1_rest);
          const i32v v2_r1 = (v0_r1 == v1);
          const f32v v3_r1 = f32_select(v2_r1, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store_part(p1 + INT64_C(6)*i0 + i1 + INT64_C(6), v3_r1, i1_rest);
          const i32v v2_r2 = (v0_r2 == v1);
          const f32v v3_r2 = f32_select(v2_r2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store_part(p1 + INT64_C(6)*i0 + i1 + INT64_C(12), v3_r2, i1_rest);
          const i32v v2_r3 = (v0_r3 == v1);
          const f32v v3_r3 = f32_select(v2_r3, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store_part(p1 + INT64_C(6)*i0 + i1 + INT64_C(18), v3_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      const i32v v0 = i32_one(p0 + i0);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(6); i1 += LANES) {
          const i32v v1 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v2 = (v0 == v1);
          const f32v v3 = f32_select(v2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store(p1 + INT64_C(6)*i0 + i1, v3);
        }
        if (i1 < INT64_C(6)) {
          const int i1_rest = (int)(INT64_C(6) - i1);
          const i32v v1 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
          const i32v v2 = (v0 == v1);
          const f32v v3 = f32_select(v2, SPLAT(f32v, 0x1.0000000000000p+0f), SPLAT(f32v, 0x0.0p+0f));
          f32_store_part(p1 + INT64_C(6)*i0 + i1, v3, i1_rest);
        }
      }
    }
  }
}
static void k_one_hot_rows_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_one_hot_rows_nest0(nest->b, nest->s, begin, end, 0);
}
int k_one_hot_rows(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(13) + INT64_C(78) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_one_hot_rows_nest0_part, .b = b, .s = s, .steps = INT64_C(13), .grain = 4, .portions = 0}, threads); else k_one_hot_rows_nest0(b, s, 0, INT64_C(13), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
