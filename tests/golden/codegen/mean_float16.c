#include "vector_math.h"
#include "runtime.h"
static void k_mean_float16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(53); i1 += LANES) {
          const f32v v1 = f16_load(p0 + i1 + INT64_C(53)*i0);
          a0 = (a0 + v1);
          const f32v v1_r1 = f16_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(53));
          a0_r1 = (a0_r1 + v1_r1);
          const f32v v1_r2 = f16_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(106));
          a0_r2 = (a0_r2 + v1_r2);
          const f32v v1_r3 = f16_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(159));
          a0_r3 = (a0_r3 + v1_r3);
        }
        if (i1 < INT64_C(53)) {
          const int i1_rest = (int)(INT64_C(53) - i1);
          const f32v v1 = f16_load_part(p0 + i1 + INT64_C(53)*i0, i1_rest);
          a0 = (a0 + f32_select(lanes_below(i1_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f16_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(53), i1_rest);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i1_rest), v1_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = f16_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(106), i1_rest);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i1_rest), v1_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = f16_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(159), i1_rest);
          a0_r3 = (a0_r3 + f32_select(lanes_below(i1_rest), v1_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_sum(a0));
      const f32v v2_r1 = SPLAT(f32v, f32_sum(a0_r1));
      const f32v v2_r2 = SPLAT(f32v, f32_sum(a0_r2));
      const f32v v2_r3 = SPLAT(f32v, f32_sum(a0_r3));
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0, v3, 1);
      const f32v v3_r1 = (v2_r1 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0 + INT64_C(1), v3_r1, 1);
      const f32v v3_r2 = (v2_r2 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0 + INT64_C(2), v3_r2, 1);
      const f32v v3_r3 = (v2_r3 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0 + INT64_C(3), v3_r3, 1);
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(53); i1 += LANES) {
          const f32v v1 = f16_load(p0 + i1 + INT64_C(53)*i0);
          a0 = (a0 + v1);
        }
        if (i1 < INT64_C(53)) {
          const int i1_rest = (int)(INT64_C(53) - i1);
          const f32v v1 = f16_load_part(p0 + i1 + INT64_C(53)*i0, i1_rest);
          a0 = (a0 + f32_select(lanes_below(i1_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_sum(a0));
      const f32v v3 = (v2 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0, v3, 1);
    }
  }
}
int k_mean_float16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_mean_float16_nest0(b, s, 0, INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
