#include "vector_math.h"
#include "runtime.h"
static void k_broadcast_row_and_column_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    const f32v v3 = f32_one(p2 + i0);
    for (int64_t i1 = 0; i1 < INT64_C(3); i1++) {
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(19); i2 += LANES) {
          fetch(p0 + INT64_C(57)*i0 + INT64_C(19)*i1 + i2 + INT64_C(1007));
          const f32v v0 = f32_load(p0 + INT64_C(57)*i0 + INT64_C(19)*i1 + i2);
          const f32v v1 = f32_load(p1 + i2);
          const f32v v2 = (v0 * v1);
          const f32v v4 = (v2 + v3);
          f32_store(p3 + INT64_C(57)*i0 + INT64_C(19)*i1 + i2, v4);
        }
        if (i2 < INT64_C(19)) {
          const int i2_rest = (int)(INT64_C(19) - i2);
          const f32v v0 = f32_load_part(p0 + INT64_C(57)*i0 + INT64_C(19)*i1 + i2, i2_rest);
          const f32v v1 = f32_load_part(p1 + i2, i2_rest);
          const f32v v2 = (v0 * v1);
          const f32v v4 = (v2 + v3);
          f32_store_part(p3 + INT64_C(57)*i0 + INT64_C(19)*i1 + i2, v4, i2_rest);
        }
      }
    }
  }
}
static void k_broadcast_row_and_column_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_broadcast_row_and_column_nest0(nest->b, nest->s, begin, end, 0);
}
int k_broadcast_row_and_column(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(228) + INT64_C(19) + INT64_C(4) + INT64_C(228) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_broadcast_row_and_column_nest0_part, .b = b, .s = s, .steps = INT64_C(4), .grain = 1, .portions = 0}, threads); else k_broadcast_row_and_column_nest0(b, s, 0, INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
