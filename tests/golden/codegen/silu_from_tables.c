#include "vector_math.h"
#include "runtime.h"
static void k_silu_from_tables_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint16_t *p1 = (uint16_t *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    #if FLOAT16_TABLES
    static const uint8_t i0_cells_rows[6][2*HALVES] __attribute__((aligned(64))) = {
      {64 numbers},
      {64 numbers},
      {64 numbers},
      {64 numbers},
      {64 numbers},
      {64 numbers},
    };
    const f16_cells i0_cells = {i0_cells_rows, 4, 1, 1.0f};
    for (int64_t i0_chunk = begin, i0_size; i0_chunk < end; i0_chunk += i0_size) {
      const int64_t i0 = i0_chunk;
      i0_size = f16_chunk_size(p1 + i0, end - i0, 0);
      if (!f16_chunk_write(p0 + i0, p1 + i0, i0_size, i0_cells, 0)) {
        const int stream = 0;
        for (int64_t i0 = i0_chunk; i0 < i0_chunk + i0_size; i0 += LANES) {
          const int i0_rest = (int)least(LANES, i0_chunk + i0_size - i0);
          const f16_part part = f16_part_of(p0 + i0, i0_rest, i0_cells);
          if (part.near == f16_mask(i0_rest)) {
          } else if (i0_rest == LANES) {
            const f32v v0 = f16_load(p0 + i0);
            const f32v v1 = f32_sigmoid_to_half(v0);
            const f32v v2 = (v0 * v1);
            f16_store(p1 + i0, v2);
          } else {
            const f32v v0 = f16_load_part(p0 + i0, i0_rest);
            const f32v v1 = f32_sigmoid_to_half(v0);
            const f32v v2 = (v0 * v1);
            f16_store_part(p1 + i0, v2, i0_rest);
          }
          f16_part_write(p1 + i0, part);
        }
      }
    }
    #else
    int64_t i0 = begin;
    #if LOOP_FISSION
    for (; i0 + STRIP*LANES <= end; i0 += STRIP*LANES) {
      const int64_t i0_strip = i0;
      f32p_sigmoid_to_half_begun v1_begun[STRIP];
      f32p v1_far = {0};
      for (int at = 0; at < STRIP; at++) {
        const int64_t i0 = i0_strip + at*LANES;
        const f32v v0 = f16_load(p0 + i0);
        v1_begun[at] = f32p_sigmoid_to_half_begin(v0);
        v1_far = f32p_sigmoid_to_half_farther(v0, v1_far);
      }
      if (f32p_sigmoid_to_half_any_far(v1_far)) {
        #pragma GCC unroll 1
        for (int at = 0; at < STRIP; at++) {
          const int64_t i0 = i0_strip + at*LANES;
          const f32v v0 = f16_load(p0 + i0);
          const f32v v1 = f32_sigmoid_to_half(v0);
          const f32v v2 = (v0 * v1);
          f16_store(p1 + i0, v2);
        }
        continue;
      }
      for (int at = 0; at < STRIP; at++) {
        const int64_t i0 = i0_strip + at*LANES;
        const f32v v0 = f16_load(p0 + i0);
        const f32v v1 = f32p_sigmoid_to_half_end(v1_begun[at]);
        const f32v v2 = (v0 * v1);
        f16_store(p1 + i0, v2);
      }
    }
    #endif
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f16_load(p0 + i0);
      const f32v v1 = f32_sigmoid_to_half(v0);
      const f32v v2 = (v0 * v1);
      f16_store(p1 + i0, v2);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f16_load_part(p0 + i0, i0_rest);
      const f32v v1 = f32_sigmoid_to_half(v0);
      const f32v v2 = (v0 * v1);
      f16_store_part(p1 + i0, v2, i0_rest);
    }
    #endif
  }
}
int k_silu_from_tables(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_silu_from_tables_nest0(b, s, 0, INT64_C(123), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
