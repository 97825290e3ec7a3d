#include "vector_math.h"
#include "runtime.h"
static void k_joined_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(13); i1 += LANES) {
        fetch(p0 + INT64_C(13)*i0 + i1 + INT64_C(1014));
        const f32v v0 = f32_load(p0 + INT64_C(13)*i0 + i1);
        const f32v v1 = f32_relu(v0);
        f32_store(p2 + INT64_C(19)*i0 + i1, v1);
      }
      if (i1 < INT64_C(13)) {
        const int i1_rest = (int)(INT64_C(13) - i1);
        const f32v v0 = f32_load_part(p0 + INT64_C(13)*i0 + i1, i1_rest);
        const f32v v1 = f32_relu(v0);
        f32_store_part(p2 + INT64_C(19)*i0 + i1, v1, i1_rest);
      }
    }
    {
      int64_t i1 = INT64_C(13);
      for (; i1 + LANES <= INT64_C(19); i1 += LANES) {
        fetch(p1 + INT64_C(6)*i0 + i1 + INT64_C(1007));
        const f32v v2 = f32_load(p1 + INT64_C(6)*i0 + i1 + INT64_C(-13));
        f32_store(p2 + INT64_C(19)*i0 + i1, v2);
      }
      if (i1 < INT64_C(19)) {
        const int i1_rest = (int)(INT64_C(19) - i1);
        const f32v v2 = f32_load_part(p1 + INT64_C(6)*i0 + i1 + INT64_C(-13), i1_rest);
        f32_store_part(p2 + INT64_C(19)*i0 + i1, v2, i1_rest);
      }
    }
  }
}
static void k_joined_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_joined_nest0(nest->b, nest->s, begin, end, 0);
}
int k_joined(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(39) + INT64_C(18) + INT64_C(57) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_joined_nest0_part, .b = b, .s = s, .steps = INT64_C(3), .grain = 1, .portions = 0}, threads); else k_joined_nest0(b, s, 0, INT64_C(3), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
