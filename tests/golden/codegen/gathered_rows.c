#include "vector_math.h"
#include "runtime.h"
static void k_gathered_rows_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  int32_t *p1 = (int32_t *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    const i32v v0 = i32_one(p1 + i0);
    const i32v v1 = (v0 >= SPLAT(i32v, INT64_C(0)));
    const i32v v2 = (v0 < SPLAT(i32v, INT64_C(11)));
    const i32v v3 = (v1 & v2);
    const i64v v4 = i64_from_i32(v0);
    const i64v v5 = v4;
    const i64v v6 = clip_index(v5, INT64_C(11));
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(24); i1 += LANES) {
        const f32v v7 = f32_load(p0 + v6[0]*INT64_C(24) + i1);
        const f32v v8 = f32_select(v3, v7, SPLAT(f32v, 0x0.0p+0f));
        const f32v v9 = (v8 * SPLAT(f32v, 0x1.0000000000000p+1f));
        f32_store(p2 + INT64_C(24)*i0 + i1, v9);
      }
      if (i1 < INT64_C(24)) {
        const int i1_rest = (int)(INT64_C(24) - i1);
        const f32v v7 = f32_load_part(p0 + v6[0]*INT64_C(24) + i1, i1_rest);
        const f32v v8 = f32_select(v3, v7, SPLAT(f32v, 0x0.0p+0f));
        const f32v v9 = (v8 * SPLAT(f32v, 0x1.0000000000000p+1f));
        f32_store_part(p2 + INT64_C(24)*i0 + i1, v9, i1_rest);
      }
    }
  }
}
static void k_gathered_rows_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_gathered_rows_nest0(nest->b, nest->s, begin, end, 0);
}
int k_gathered_rows(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(168) + INT64_C(7) + INT64_C(168) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_gathered_rows_nest0_part, .b = b, .s = s, .steps = INT64_C(7), .grain = 1, .portions = 0}, threads); else k_gathered_rows_nest0(b, s, 0, INT64_C(7), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
