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
        const f32v v7 = f32_one(p1 + i1 + INT64_C(1));
        const f32v v13 = f32_one(p1 + i1 + INT64_C(2));
        const f32v v19 = f32_one(p1 + i1 + INT64_C(3));
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
            const f32v v6 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35));
            const f32v v8 = (v6 + v7);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1050));
            const f32v v9 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35));
            const f32v v10 = (v8 + v9);
            const f32v v11 = f32_relu(v10);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v11);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1085));
            const f32v v12 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70));
            const f32v v14 = (v12 + v13);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1085));
            const f32v v15 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70));
            const f32v v16 = (v14 + v15);
            const f32v v17 = f32_relu(v16);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v17);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1120));
            const f32v v18 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105));
            const f32v v20 = (v18 + v19);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1120));
            const f32v v21 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105));
            const f32v v22 = (v20 + v21);
            const f32v v23 = f32_relu(v22);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v23);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v2 = (v0 + v1);
            const f32v v3 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_relu(v4);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v5, i2_rest);
            const f32v v6 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), i2_rest);
            const f32v v8 = (v6 + v7);
            const f32v v9 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), i2_rest);
            const f32v v10 = (v8 + v9);
            const f32v v11 = f32_relu(v10);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v11, i2_rest);
            const f32v v12 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), i2_rest);
            const f32v v14 = (v12 + v13);
            const f32v v15 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), i2_rest);
            const f32v v16 = (v14 + v15);
            const f32v v17 = f32_relu(v16);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v17, i2_rest);
            const f32v v18 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), i2_rest);
            const f32v v20 = (v18 + v19);
            const f32v v21 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), i2_rest);
            const f32v v22 = (v20 + v21);
            const f32v v23 = f32_relu(v22);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v23, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(6); i1++) {
        const f32v v25 = f32_one(p1 + i1);
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v24 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v26 = (v24 + v25);
            fetch(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v27 = f32_load(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v28 = (v26 + v27);
            const f32v v29 = f32_relu(v28);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v29);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v24 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v26 = (v24 + v25);
            const f32v v27 = f32_load_part(p2 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v28 = (v26 + v27);
            const f32v v29 = f32_relu(v28);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v29, i2_rest);
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
