#include "vector_math.h"
#include "runtime.h"
static void k_convolution_norm_silu_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    {
      int64_t i1 = 0;
      for (; i1 + 4 <= INT64_C(6); i1 += 4) {
        const f32v v1 = f32_one(p1 + i1);
        const f32v v3 = f32_one(p2 + i1);
        const f32v v1_r1 = f32_one(p1 + i1 + INT64_C(1));
        const f32v v3_r1 = f32_one(p2 + i1 + INT64_C(1));
        const f32v v1_r2 = f32_one(p1 + i1 + INT64_C(2));
        const f32v v3_r2 = f32_one(p2 + i1 + INT64_C(2));
        const f32v v1_r3 = f32_one(p1 + i1 + INT64_C(3));
        const f32v v3_r3 = f32_one(p2 + i1 + INT64_C(3));
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v0 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v2 = (v0 * v1);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_sigmoid(v4);
            const f32v v6 = (v4 * v5);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v6);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1050));
            const f32v v0_r1 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35));
            const f32v v2_r1 = (v0_r1 * v1_r1);
            const f32v v4_r1 = (v2_r1 + v3_r1);
            const f32v v5_r1 = f32_sigmoid(v4_r1);
            const f32v v6_r1 = (v4_r1 * v5_r1);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v6_r1);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1085));
            const f32v v0_r2 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70));
            const f32v v2_r2 = (v0_r2 * v1_r2);
            const f32v v4_r2 = (v2_r2 + v3_r2);
            const f32v v5_r2 = f32_sigmoid(v4_r2);
            const f32v v6_r2 = (v4_r2 * v5_r2);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v6_r2);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1120));
            const f32v v0_r3 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105));
            const f32v v2_r3 = (v0_r3 * v1_r3);
            const f32v v4_r3 = (v2_r3 + v3_r3);
            const f32v v5_r3 = f32_sigmoid(v4_r3);
            const f32v v6_r3 = (v4_r3 * v5_r3);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v6_r3);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v2 = (v0 * v1);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_sigmoid(v4);
            const f32v v6 = (v4 * v5);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v6, i2_rest);
            const f32v v0_r1 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), i2_rest);
            const f32v v2_r1 = (v0_r1 * v1_r1);
            const f32v v4_r1 = (v2_r1 + v3_r1);
            const f32v v5_r1 = f32_sigmoid(v4_r1);
            const f32v v6_r1 = (v4_r1 * v5_r1);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v6_r1, i2_rest);
            const f32v v0_r2 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), i2_rest);
            const f32v v2_r2 = (v0_r2 * v1_r2);
            const f32v v4_r2 = (v2_r2 + v3_r2);
            const f32v v5_r2 = f32_sigmoid(v4_r2);
            const f32v v6_r2 = (v4_r2 * v5_r2);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v6_r2, i2_rest);
            const f32v v0_r3 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), i2_rest);
            const f32v v2_r3 = (v0_r3 * v1_r3);
            const f32v v4_r3 = (v2_r3 + v3_r3);
            const f32v v5_r3 = f32_sigmoid(v4_r3);
            const f32v v6_r3 = (v4_r3 * v5_r3);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v6_r3, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(6); i1++) {
        const f32v v1 = f32_one(p1 + i1);
        const f32v v3 = f32_one(p2 + i1);
        {
          int64_t i2 = 0;
          #if LOOP_FISSION
          for (; i2 + SIGMOID_STRIP*LANES <= INT64_C(35); i2 += SIGMOID_STRIP*LANES) {
            const int64_t i2_strip = i2;
            f32v v4_kept[SIGMOID_STRIP];
            f32p_sigmoid_begun v5_begun[SIGMOID_STRIP];
            f32p v5_far = {0};
            for (int at = 0; at < SIGMOID_STRIP; at++) {
              const int64_t i2 = i2_strip + at*LANES;
              fetch_of(at, p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
              const f32v v0 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
              const f32v v2 = (v0 * v1);
              const f32v v4 = (v2 + v3);
              v4_kept[at] = v4;
              v5_begun[at] = f32p_sigmoid_begin(v4);
              v5_far = f32p_sigmoid_farther(v4, v5_far);
            }
            if (f32p_sigmoid_any_far(v5_far)) {
              #pragma GCC unroll 1
              for (int at = 0; at < SIGMOID_STRIP; at++) {
                const int64_t i2 = i2_strip + at*LANES;
                fetch_of(at, p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
                const f32v v0 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
                const f32v v2 = (v0 * v1);
                const f32v v4 = (v2 + v3);
                const f32v v5 = f32_sigmoid(v4);
                const f32v v6 = (v4 * v5);
                f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v6);
              }
              continue;
            }
            for (int at = 0; at < SIGMOID_STRIP; at++) {
              const int64_t i2 = i2_strip + at*LANES;
              const f32v v4 = v4_kept[at];
              const f32v v5 = f32p_sigmoid_end(v5_begun[at]);
              const f32v v6 = (v4 * v5);
              f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v6);
            }
          }
          #endif
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v0 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v2 = (v0 * v1);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_sigmoid(v4);
            const f32v v6 = (v4 * v5);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v6);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v2 = (v0 * v1);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_sigmoid(v4);
            const f32v v6 = (v4 * v5);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v6, i2_rest);
          }
        }
      }
    }
  }
}
int k_convolution_norm_silu(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_convolution_norm_silu_nest0(b, s, 0, INT64_C(2), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
