#include "vector_math.h"
#include "runtime.h"
static void k_padded_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  if (begin < least(end, INT64_C(1))) {
    const int64_t i0 = begin;
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= (least(end, INT64_C(1)) - i0)*INT64_C(24); i1 += LANES) {
        f32_store(p1 + INT64_C(24)*i0 + i1, SPLAT(f32v, 0x1.0000000000000p-1f));
      }
      if (i1 < (least(end, INT64_C(1)) - i0)*INT64_C(24)) {
        const int i1_rest = (int)((least(end, INT64_C(1)) - i0)*INT64_C(24) - i1);
        f32_store_part(p1 + INT64_C(24)*i0 + i1, SPLAT(f32v, 0x1.0000000000000p-1f), i1_rest);
      }
    }
  }
  for (int64_t i0 = most(begin, INT64_C(1)); i0 < least(end, INT64_C(5)); i0++) {
    {
      int64_t i1 = 0;
      if (i1 < INT64_C(3)) {
        const int i1_rest = (int)(INT64_C(3) - i1);
        f32_store_part(p1 + INT64_C(24)*i0 + i1, SPLAT(f32v, 0x1.0000000000000p-1f), i1_rest);
      }
    }
    {
      int64_t i1 = INT64_C(3);
      for (; i1 + LANES <= INT64_C(24); i1 += LANES) {
        fetch(p0 + INT64_C(21)*i0 + i1 + INT64_C(984));
        const f32v v0 = f32_load(p0 + INT64_C(21)*i0 + i1 + INT64_C(-24));
        f32_store(p1 + INT64_C(24)*i0 + i1, v0);
      }
      if (i1 < INT64_C(24)) {
        const int i1_rest = (int)(INT64_C(24) - i1);
        const f32v v0 = f32_load_part(p0 + INT64_C(21)*i0 + i1 + INT64_C(-24), i1_rest);
        f32_store_part(p1 + INT64_C(24)*i0 + i1, v0, i1_rest);
      }
    }
  }
  if (most(begin, INT64_C(5)) < end) {
    const int64_t i0 = most(begin, INT64_C(5));
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= (end - i0)*INT64_C(24); i1 += LANES) {
        f32_store(p1 + INT64_C(24)*i0 + i1, SPLAT(f32v, 0x1.0000000000000p-1f));
      }
      if (i1 < (end - i0)*INT64_C(24)) {
        const int i1_rest = (int)((end - i0)*INT64_C(24) - i1);
        f32_store_part(p1 + INT64_C(24)*i0 + i1, SPLAT(f32v, 0x1.0000000000000p-1f), i1_rest);
      }
    }
  }
}
static void k_padded_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_padded_nest0(nest->b, nest->s, begin, end, 0);
}
int k_padded(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(84) + INT64_C(168) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_padded_nest0_part, .b = b, .s = s, .steps = INT64_C(7), .grain = 1, .portions = 0}, threads); else k_padded_nest0(b, s, 0, INT64_C(7), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
