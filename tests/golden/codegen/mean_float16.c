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
      f32v a1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(53); i1 += LANES) {
          const f32v v4 = f16_load(p0 + i1 + INT64_C(53)*i0);
          a0 = (a0 + v4);
          const f32v v5 = f16_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(53));
          a1 = (a1 + v5);
          const f32v v6 = f16_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(106));
          a2 = (a2 + v6);
          const f32v v7 = f16_load(p0 + i1 + INT64_C(53)*i0 + INT64_C(159));
          a3 = (a3 + v7);
        }
        if (i1 < INT64_C(53)) {
          const int i1_rest = (int)(INT64_C(53) - i1);
          const f32v v4 = f16_load_part(p0 + i1 + INT64_C(53)*i0, i1_rest);
          a0 = (a0 + f32_select(lanes_below(i1_rest), v4, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v5 = f16_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(53), i1_rest);
          a1 = (a1 + f32_select(lanes_below(i1_rest), v5, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v6 = f16_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(106), i1_rest);
          a2 = (a2 + f32_select(lanes_below(i1_rest), v6, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v7 = f16_load_part(p0 + i1 + INT64_C(53)*i0 + INT64_C(159), i1_rest);
          a3 = (a3 + f32_select(lanes_below(i1_rest), v7, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v8 = SPLAT(f32v, f32_sum(a0));
      const f32v v9 = SPLAT(f32v, f32_sum(a1));
      const f32v v10 = SPLAT(f32v, f32_sum(a2));
      const f32v v11 = SPLAT(f32v, f32_sum(a3));
      const f32v v12 = (v8 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0, v12, 1);
      const f32v v13 = (v9 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0 + INT64_C(1), v13, 1);
      const f32v v14 = (v10 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0 + INT64_C(2), v14, 1);
      const f32v v15 = (v11 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0 + INT64_C(3), v15, 1);
    }
    for (; i0 < end; i0++) {
      f32v a16 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(53); i2 += LANES) {
          const f32v v17 = f16_load(p0 + i2 + INT64_C(53)*i0);
          a16 = (a16 + v17);
        }
        if (i2 < INT64_C(53)) {
          const int i2_rest = (int)(INT64_C(53) - i2);
          const f32v v17 = f16_load_part(p0 + i2 + INT64_C(53)*i0, i2_rest);
          a16 = (a16 + f32_select(lanes_below(i2_rest), v17, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v18 = SPLAT(f32v, f32_sum(a16));
      const f32v v19 = (v18 * SPLAT(f32v, 0x1.3521cfb2b78c1p-6f));
      f16_store_part(p1 + i0, v19, 1);
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
