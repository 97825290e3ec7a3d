#include "vector_math.h"
#include "runtime.h"
static void k_heads_in_front_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(3); i1++) {
      {
        int64_t i2 = 0;
        for (; i2 + 4 <= INT64_C(5); i2 += 4) {
          {
            int64_t i3 = 0;
            for (; i3 + LANES <= INT64_C(8); i3 += LANES) {
              fetch(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(2040));
              const f32v v0 = f16_load(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3);
              f16_store(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3, v0);
              fetch(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(2064));
              const f32v v0_r1 = f16_load(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(24));
              f16_store(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3 + INT64_C(8), v0_r1);
              fetch(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(2088));
              const f32v v0_r2 = f16_load(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(48));
              f16_store(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3 + INT64_C(16), v0_r2);
              fetch(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(2112));
              const f32v v0_r3 = f16_load(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(72));
              f16_store(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3 + INT64_C(24), v0_r3);
            }
            if (i3 < INT64_C(8)) {
              const int i3_rest = (int)(INT64_C(8) - i3);
              const f32v v0 = f16_load_part(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3, i3_rest);
              f16_store_part(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3, v0, i3_rest);
              const f32v v0_r1 = f16_load_part(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(24), i3_rest);
              f16_store_part(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3 + INT64_C(8), v0_r1, i3_rest);
              const f32v v0_r2 = f16_load_part(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(48), i3_rest);
              f16_store_part(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3 + INT64_C(16), v0_r2, i3_rest);
              const f32v v0_r3 = f16_load_part(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(72), i3_rest);
              f16_store_part(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3 + INT64_C(24), v0_r3, i3_rest);
            }
          }
        }
        for (; i2 < INT64_C(5); i2++) {
          {
            int64_t i3 = 0;
            for (; i3 + LANES <= INT64_C(8); i3 += LANES) {
              fetch(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3 + INT64_C(2040));
              const f32v v0 = f16_load(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3);
              f16_store(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3, v0);
            }
            if (i3 < INT64_C(8)) {
              const int i3_rest = (int)(INT64_C(8) - i3);
              const f32v v0 = f16_load_part(p0 + INT64_C(120)*i0 + INT64_C(8)*i1 + INT64_C(24)*i2 + i3, i3_rest);
              f16_store_part(p1 + INT64_C(120)*i0 + INT64_C(40)*i1 + INT64_C(8)*i2 + i3, v0, i3_rest);
            }
          }
        }
      }
    }
  }
}
int k_heads_in_front(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_heads_in_front_nest0(b, s, 0, INT64_C(2), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
