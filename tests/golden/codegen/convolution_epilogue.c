#include "vector_math.h"
#include "runtime.h"
static void k_convolution_epilogue_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
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
        const f32v v1_r1 = f32_one(p1 + i1 + INT64_C(1));
        const f32v v1_r2 = f32_one(p1 + i1 + INT64_C(2));
        const f32v v1_r3 = f32_one(p1 + i1 + INT64_C(3));
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v0 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v2 = (v0 + v1);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v3 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_relu(v4);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v5);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1050));
            const f32v v0_r1 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35));
            const f32v v2_r1 = (v0_r1 + v1_r1);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1050));
            const f32v v3_r1 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35));
            const f32v v4_r1 = (v2_r1 + v3_r1);
            const f32v v5_r1 = f32_relu(v4_r1);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v5_r1);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1085));
            const f32v v0_r2 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70));
            const f32v v2_r2 = (v0_r2 + v1_r2);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1085));
            const f32v v3_r2 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70));
            const f32v v4_r2 = (v2_r2 + v3_r2);
            const f32v v5_r2 = f32_relu(v4_r2);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v5_r2);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1120));
            const f32v v0_r3 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105));
            const f32v v2_r3 = (v0_r3 + v1_r3);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1120));
            const f32v v3_r3 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105));
            const f32v v4_r3 = (v2_r3 + v3_r3);
            const f32v v5_r3 = f32_relu(v4_r3);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v5_r3);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v2 = (v0 + v1);
            const f32v v3 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_relu(v4);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v5, i2_rest);
            const f32v v0_r1 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), i2_rest);
            const f32v v2_r1 = (v0_r1 + v1_r1);
            const f32v v3_r1 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), i2_rest);
            const f32v v4_r1 = (v2_r1 + v3_r1);
            const f32v v5_r1 = f32_relu(v4_r1);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v5_r1, i2_rest);
            const f32v v0_r2 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), i2_rest);
            const f32v v2_r2 = (v0_r2 + v1_r2);
            const f32v v3_r2 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), i2_rest);
            const f32v v4_r2 = (v2_r2 + v3_r2);
            const f32v v5_r2 = f32_relu(v4_r2);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v5_r2, i2_rest);
            const f32v v0_r3 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), i2_rest);
            const f32v v2_r3 = (v0_r3 + v1_r3);
            const f32v v3_r3 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), i2_rest);
            const f32v v4_r3 = (v2_r3 + v3_r3);
            const f32v v5_r3 = f32_relu(v4_r3);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v5_r3, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(6); i1++) {
        const f32v v1 = f32_one(p1 + i1);
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v0 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v2 = (v0 + v1);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v3 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_relu(v4);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v5);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v2 = (v0 + v1);
            const f32v v3 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_relu(v4);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v5, i2_rest);
          }
        }
      }
    }
  }
}
int k_convolution_epilogue(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_convolution_epilogue_nest0(b, s, 0, INT64_C(2), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
