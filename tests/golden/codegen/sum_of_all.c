#include "vector_math.h"
#include "runtime.h"
static void k_sum_of_all_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, f32v *part_result) {
  float *p0 = (float *)b[0];
  (void)b; (void)s; (void)begin; (void)end;
  f32v a0 = SPLAT(f32v, 0x0.0p+0f);
  f32v a0_1 = SPLAT(f32v, 0x0.0p+0f);
  f32v a0_2 = SPLAT(f32v, 0x0.0p+0f);
  f32v a0_3 = SPLAT(f32v, 0x0.0p+0f);
  {
    int64_t i0 = begin;
    for (; i0 + 4*LANES <= end; i0 += 4*LANES) {
      {
        const f32v v1 = f32_load(p0 + i0);
        const f32v v2 = f32_abs(v1);
        a0 = (a0 + v2);
      }
      {
        const int64_t i0_1 = i0 + 1*LANES;
        const f32v v1 = f32_load(p0 + i0_1);
        const f32v v2 = f32_abs(v1);
        a0_1 = (a0_1 + v2);
      }
      {
        const int64_t i0_2 = i0 + 2*LANES;
        const f32v v1 = f32_load(p0 + i0_2);
        const f32v v2 = f32_abs(v1);
        a0_2 = (a0_2 + v2);
      }
      {
        const int64_t i0_3 = i0 + 3*LANES;
        const f32v v1 = f32_load(p0 + i0_3);
        const f32v v2 = f32_abs(v1);
        a0_3 = (a0_3 + v2);
      }
    }
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v1 = f32_load(p0 + i0);
      const f32v v2 = f32_abs(v1);
      a0 = (a0 + v2);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v1 = f32_load_part(p0 + i0, i0_rest);
      const f32v v2 = f32_abs(v1);
      a0 = (a0 + f32_select(lanes_below(i0_rest), v2, SPLAT(f32v, 0x0.0p+0f)));
    }
  }
  const f32v v3 = SPLAT(f32v, (float)f64_sum((((f64_from_f32(a0) + f64_from_f32(a0_1)) + f64_from_f32(a0_2)) + f64_from_f32(a0_3))));
  *part_result = v3;
}
static void k_sum_of_all_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_sum_of_all_nest0(nest->b, nest->s, begin, end, (f32v *)own);
}
int k_sum_of_all(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  {
    f32v parts0[256];
    int count0 = 1;
    if (threads > 1 && INT64_C(315) + INT64_C(1) >= 524288) count0 = share_nest(&(struct shared_nest){.run = k_sum_of_all_nest0_part, .b = b, .s = s, .steps = INT64_C(315), .grain = 64, .portions = 0, .own = (char *)parts0, .own_bytes = sizeof(*parts0)}, threads); else k_sum_of_all_nest0(b, s, 0, INT64_C(315), &parts0[0]);
    for (int t = 1; t < count0; t++) {
      parts0[0] = (parts0[0] + parts0[t]);
    }
    f32_store_part((float *)b[1], parts0[0], 1);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
