#include "vector_math.h"
#include "runtime.h"
static void k_index_as_a_number_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    const i64v v3 = SPLAT(i64v, (i0));
    const i32v v7 = i32_from_i64(SPLAT(i64v, (i0)));
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(21); i1 += LANES) {
        const i32v v0 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v1 = i32_floordiv(v0, SPLAT(i32v, INT64_C(2)));
        const i64v v2 = i64_from_i32(v1);
        const i64v v4 = v2;
        const f32v v5 = f32_gather_at(p0, clip_index(((v3 * SPLAT(i64v, (INT64_C(21)))) + (v4 * SPLAT(i64v, (INT64_C(1))))), INT64_C(105)));
        const i32v v6 = (v0 * SPLAT(i32v, INT64_C(2)));
        const i32v v8 = (v6 + v7);
        const f32v v9 = f32_from_i32(v8);
        const f32v v10 = (v5 + v9);
        const i32v v11 = i32_load(p1 + i1);
        const f32v v12 = f32_from_i32(v11);
        const f32v v13 = (v10 + v12);
        f32_store(p2 + INT64_C(21)*i0 + i1, v13);
      }
      if (i1 < INT64_C(21)) {
        const int i1_rest = (int)(INT64_C(21) - i1);
        const i32v v0 = i32_from_i64((SPLAT(i64v, (i1)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
        const i32v v1 = i32_floordiv(v0, SPLAT(i32v, INT64_C(2)));
        const i64v v2 = i64_from_i32(v1);
        const i64v v4 = v2;
        const f32v v5 = f32_gather_at(p0, clip_index(((v3 * SPLAT(i64v, (INT64_C(21)))) + (v4 * SPLAT(i64v, (INT64_C(1))))), INT64_C(105)));
        const i32v v6 = (v0 * SPLAT(i32v, INT64_C(2)));
        const i32v v8 = (v6 + v7);
        const f32v v9 = f32_from_i32(v8);
        const f32v v10 = (v5 + v9);
        const i32v v11 = i32_load_part(p1 + i1, i1_rest);
        const f32v v12 = f32_from_i32(v11);
        const f32v v13 = (v10 + v12);
        f32_store_part(p2 + INT64_C(21)*i0 + i1, v13, i1_rest);
      }
    }
  }
}
static void k_index_as_a_number_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_index_as_a_number_nest0(nest->b, nest->s, begin, end, 0);
}
int k_index_as_a_number(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(105) + INT64_C(21) + INT64_C(105) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_index_as_a_number_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 1, .portions = 0}, threads); else k_index_as_a_number_nest0(b, s, 0, INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
