#include "vector_math.h"
#include "runtime.h"
static void k_schedule_blocks_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = 0; i0 < INT64_C(3); i0++) {
    {
      int64_t i1 = begin;
      for (; i1 + LANES <= end; i1 += LANES) {
        fetch(p0 + INT64_C(1480)*i0 + i1 + INT64_C(1480));
        const f32v v0 = f32_load(p0 + INT64_C(1480)*i0 + i1);
        const f32v v1 = f32_load(p1 + i1);
        const f32v v2 = (v0 * v1);
        f32_store(p2 + INT64_C(1480)*i0 + i1, v2);
      }
      if (i1 < end) {
        const int i1_rest = (int)(end - i1);
        const f32v v0 = f32_load_part(p0 + INT64_C(1480)*i0 + i1, i1_rest);
        const f32v v1 = f32_load_part(p1 + i1, i1_rest);
        const f32v v2 = (v0 * v1);
        f32_store_part(p2 + INT64_C(1480)*i0 + i1, v2, i1_rest);
      }
    }
  }
}
static void k_schedule_blocks_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_schedule_blocks_nest0(nest->b, nest->s, begin, end, 0);
}
int k_schedule_blocks(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(4440) + INT64_C(1480) + INT64_C(4440) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_schedule_blocks_nest0_part, .b = b, .s = s, .steps = INT64_C(1480), .grain = 1, .portions = 0}, threads); else k_schedule_blocks_nest0(b, s, 0, INT64_C(1480), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
