#include "vector_math.h"
#include "runtime.h"
static void k_gated_silu_bfloat16_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  uint16_t *p2 = (uint16_t *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    #if LOOP_FISSION
    for (; i0 + STRIP*LANES <= end; i0 += STRIP*LANES) {
      const int64_t i0_strip = i0;
      f32p_sigmoid_to_half_begun v2_begun[STRIP];
      f32p v2_far = {0};
      for (int at = 0; at < STRIP; at++) {
        const int64_t i0 = i0_strip + at*LANES;
        const f32v v1 = bf16_load(p1 + i0);
        v2_begun[at] = f32p_sigmoid_to_half_begin(v1);
        v2_far = f32p_sigmoid_to_half_farther(v1, v2_far);
      }
      if (f32p_sigmoid_to_half_any_far(v2_far)) {
        #pragma GCC unroll 1
        for (int at = 0; at < STRIP; at++) {
          const int64_t i0 = i0_strip + at*LANES;
          const f32v v0 = bf16_load(p0 + i0);
          const f32v v1 = bf16_load(p1 + i0);
          const f32v v2 = f32_sigmoid_to_half(v1);
          const f32v v3 = (v1 * v2);
          const f32v v4 = (v0 * v3);
          bf16_store(p2 + i0, v4);
        }
        continue;
      }
      for (int at = 0; at < STRIP; at++) {
        const int64_t i0 = i0_strip + at*LANES;
        const f32v v1 = bf16_load(p1 + i0);
        const f32v v0 = bf16_load(p0 + i0);
        const f32v v2 = f32p_sigmoid_to_half_end(v2_begun[at]);
        const f32v v3 = (v1 * v2);
        const f32v v4 = (v0 * v3);
        bf16_store(p2 + i0, v4);
      }
    }
    #endif
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = bf16_load(p0 + i0);
      const f32v v1 = bf16_load(p1 + i0);
      const f32v v2 = f32_sigmoid_to_half(v1);
      const f32v v3 = (v1 * v2);
      const f32v v4 = (v0 * v3);
      bf16_store(p2 + i0, v4);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = bf16_load_part(p0 + i0, i0_rest);
      const f32v v1 = bf16_load_part(p1 + i0, i0_rest);
      const f32v v2 = f32_sigmoid_to_half(v1);
      const f32v v3 = (v1 * v2);
      const f32v v4 = (v0 * v3);
      bf16_store_part(p2 + i0, v4, i0_rest);
    }
  }
}
int k_gated_silu_bfloat16(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_gated_silu_bfloat16_nest0(b, s, 0, INT64_C(185), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
