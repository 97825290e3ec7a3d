#include "vector_math.h"
#include "runtime.h"
static void k_dequantised_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  int8_t *p0 = (int8_t *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(4070));
          const i8v v0 = i8_load(p0 + INT64_C(37)*i0 + i1);
          const f32v v1 = f32_from_i8(v0);
          const f32v v2 = f32_load(p1 + i1);
          const f32v v3 = (v1 * v2);
          const f32v v4 = f32_load(p2 + i1);
          const f32v v5 = (v3 + v4);
          f32_store(p3 + INT64_C(37)*i0 + i1, v5);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(4107));
          const i8v v0_r1 = i8_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(37));
          const f32v v1_r1 = f32_from_i8(v0_r1);
          const f32v v3_r1 = (v1_r1 * v2);
          const f32v v5_r1 = (v3_r1 + v4);
          f32_store(p3 + INT64_C(37)*i0 + i1 + INT64_C(37), v5_r1);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(4144));
          const i8v v0_r2 = i8_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(74));
          const f32v v1_r2 = f32_from_i8(v0_r2);
          const f32v v3_r2 = (v1_r2 * v2);
          const f32v v5_r2 = (v3_r2 + v4);
          f32_store(p3 + INT64_C(37)*i0 + i1 + INT64_C(74), v5_r2);
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(4181));
          const i8v v0_r3 = i8_load(p0 + INT64_C(37)*i0 + i1 + INT64_C(111));
          const f32v v1_r3 = f32_from_i8(v0_r3);
          const f32v v3_r3 = (v1_r3 * v2);
          const f32v v5_r3 = (v3_r3 + v4);
          f32_store(p3 + INT64_C(37)*i0 + i1 + INT64_C(111), v5_r3);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const i8v v0 = i8_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v1 = f32_from_i8(v0);
          const f32v v2 = f32_load_part(p1 + i1, i1_rest);
          const f32v v3 = (v1 * v2);
          const f32v v4 = f32_load_part(p2 + i1, i1_rest);
          const f32v v5 = (v3 + v4);
          f32_store_part(p3 + INT64_C(37)*i0 + i1, v5, i1_rest);
          const i8v v0_r1 = i8_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(37), i1_rest);
          const f32v v1_r1 = f32_from_i8(v0_r1);
          const f32v v3_r1 = (v1_r1 * v2);
          const f32v v5_r1 = (v3_r1 + v4);
          f32_store_part(p3 + INT64_C(37)*i0 + i1 + INT64_C(37), v5_r1, i1_rest);
          const i8v v0_r2 = i8_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(74), i1_rest);
          const f32v v1_r2 = f32_from_i8(v0_r2);
          const f32v v3_r2 = (v1_r2 * v2);
          const f32v v5_r2 = (v3_r2 + v4);
          f32_store_part(p3 + INT64_C(37)*i0 + i1 + INT64_C(74), v5_r2, i1_rest);
          const i8v v0_r3 = i8_load_part(p0 + INT64_C(37)*i0 + i1 + INT64_C(111), i1_rest);
          const f32v v1_r3 = f32_from_i8(v0_r3);
          const f32v v3_r3 = (v1_r3 * v2);
          const f32v v5_r3 = (v3_r3 + v4);
          f32_store_part(p3 + INT64_C(37)*i0 + i1 + INT64_C(111), v5_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          fetch(p0 + INT64_C(37)*i0 + i1 + INT64_C(4070));
          const i8v v0 = i8_load(p0 + INT64_C(37)*i0 + i1);
          const f32v v1 = f32_from_i8(v0);
          const f32v v2 = f32_load(p1 + i1);
          const f32v v3 = (v1 * v2);
          const f32v v4 = f32_load(p2 + i1);
          const f32v v5 = (v3 + v4);
          f32_store(p3 + INT64_C(37)*i0 + i1, v5);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          const i8v v0 = i8_load_part(p0 + INT64_C(37)*i0 + i1, i1_rest);
          const f32v v1 = f32_from_i8(v0);
          const f32v v2 = f32_load_part(p1 + i1, i1_rest);
          const f32v v3 = (v1 * v2);
          const f32v v4 = f32_load_part(p2 + i1, i1_rest);
          const f32v v5 = (v3 + v4);
          f32_store_part(p3 + INT64_C(37)*i0 + i1, v5, i1_rest);
        }
      }
    }
  }
}
static void k_dequantised_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_dequantised_nest0(nest->b, nest->s, begin, end, 0);
}
int k_dequantised(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(185) + INT64_C(37) + INT64_C(37) + INT64_C(185) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_dequantised_nest0_part, .b = b, .s = s, .steps = INT64_C(5), .grain = 4, .portions = 0}, threads); else k_dequantised_nest0(b, s, 0, INT64_C(5), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
