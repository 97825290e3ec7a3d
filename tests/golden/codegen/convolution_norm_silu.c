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
        const f32v v8 = f32_one(p1 + i1 + INT64_C(1));
        const f32v v10 = f32_one(p2 + i1 + INT64_C(1));
        const f32v v15 = f32_one(p1 + i1 + INT64_C(2));
        const f32v v17 = f32_one(p2 + i1 + INT64_C(2));
        const f32v v22 = f32_one(p1 + i1 + INT64_C(3));
        const f32v v24 = f32_one(p2 + i1 + INT64_C(3));
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
            const f32v v7 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35));
            const f32v v9 = (v7 * v8);
            const f32v v11 = (v9 + v10);
            const f32v v12 = f32_sigmoid(v11);
            const f32v v13 = (v11 * v12);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v13);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1085));
            const f32v v14 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70));
            const f32v v16 = (v14 * v15);
            const f32v v18 = (v16 + v17);
            const f32v v19 = f32_sigmoid(v18);
            const f32v v20 = (v18 * v19);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v20);
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1120));
            const f32v v21 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105));
            const f32v v23 = (v21 * v22);
            const f32v v25 = (v23 + v24);
            const f32v v26 = f32_sigmoid(v25);
            const f32v v27 = (v25 * v26);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v27);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v2 = (v0 * v1);
            const f32v v4 = (v2 + v3);
            const f32v v5 = f32_sigmoid(v4);
            const f32v v6 = (v4 * v5);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v6, i2_rest);
            const f32v v7 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), i2_rest);
            const f32v v9 = (v7 * v8);
            const f32v v11 = (v9 + v10);
            const f32v v12 = f32_sigmoid(v11);
            const f32v v13 = (v11 * v12);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v13, i2_rest);
            const f32v v14 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), i2_rest);
            const f32v v16 = (v14 * v15);
            const f32v v18 = (v16 + v17);
            const f32v v19 = f32_sigmoid(v18);
            const f32v v20 = (v18 * v19);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v20, i2_rest);
            const f32v v21 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), i2_rest);
            const f32v v23 = (v21 * v22);
            const f32v v25 = (v23 + v24);
            const f32v v26 = f32_sigmoid(v25);
            const f32v v27 = (v25 * v26);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v27, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(6); i1++) {
        const f32v v29 = f32_one(p1 + i1);
        const f32v v31 = f32_one(p2 + i1);
        {
          int64_t i2 = 0;
          #if STRIPS
          for (; i2 + SIGMOID_STRIP*LANES <= INT64_C(35); i2 += SIGMOID_STRIP*LANES) {
            const int64_t i2_strip = i2;
            f32v v32_kept[SIGMOID_STRIP];
            f32p_sigmoid_begun v33_begun[SIGMOID_STRIP];
            f32p v33_far = {0};
            for (int at = 0; at < SIGMOID_STRIP; at++) {
              const int64_t i2 = i2_strip + at*LANES;
              fetch_of(at, p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
              const f32v v28 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
              const f32v v30 = (v28 * v29);
              const f32v v32 = (v30 + v31);
              v32_kept[at] = v32;
              v33_begun[at] = f32p_sigmoid_begin(v32);
              v33_far = f32p_sigmoid_farther(v32, v33_far);
            }
            if (f32p_sigmoid_any_far(v33_far)) {
              #pragma GCC unroll 1
              for (int at = 0; at < SIGMOID_STRIP; at++) {
                const int64_t i2 = i2_strip + at*LANES;
                fetch_of(at, p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
                const f32v v28 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
                const f32v v30 = (v28 * v29);
                const f32v v32 = (v30 + v31);
                const f32v v33 = f32_sigmoid(v32);
                const f32v v34 = (v32 * v33);
                f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v34);
              }
              continue;
            }
            for (int at = 0; at < SIGMOID_STRIP; at++) {
              const int64_t i2 = i2_strip + at*LANES;
              const f32v v32 = v32_kept[at];
              const f32v v33 = f32p_sigmoid_end(v33_begun[at]);
              const f32v v34 = (v32 * v33);
              f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v34);
            }
          }
          #endif
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v28 = f32_load(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2);
            const f32v v30 = (v28 * v29);
            const f32v v32 = (v30 + v31);
            const f32v v33 = f32_sigmoid(v32);
            const f32v v34 = (v32 * v33);
            f32_store(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v34);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v28 = f32_load_part(p0 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v30 = (v28 * v29);
            const f32v v32 = (v30 + v31);
            const f32v v33 = f32_sigmoid(v32);
            const f32v v34 = (v32 * v33);
            f32_store_part(p3 + INT64_C(210)*i0 + INT64_C(35)*i1 + i2, v34, i2_rest);
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
