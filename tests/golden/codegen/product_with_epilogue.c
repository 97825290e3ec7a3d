#include "vector_math.h"
#include "runtime.h"
static void k_product_with_epilogue_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(33); i1 += LANES) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          f32v a1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a3 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v4 = f32_one(p0 + i2 + INT64_C(20)*i0);
            const f32v v5 = f32_load(p1 + INT64_C(33)*i2 + i1);
            const f32v v6 = (v4 * v5);
            a0 = (a0 + v6);
            const f32v v7 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(20));
            const f32v v8 = (v7 * v5);
            a1 = (a1 + v8);
            const f32v v9 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(40));
            const f32v v10 = (v9 * v5);
            a2 = (a2 + v10);
            const f32v v11 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(60));
            const f32v v12 = (v11 * v5);
            a3 = (a3 + v12);
          }
          const f32v v13 = f32_load(p2 + i1);
          const f32v v14 = (a0 + v13);
          const f32v v15 = f32_relu(v14);
          f32_store(p3 + INT64_C(33)*i0 + i1, v15);
          const f32v v16 = (a1 + v13);
          const f32v v17 = f32_relu(v16);
          f32_store(p3 + INT64_C(33)*i0 + i1 + INT64_C(33), v17);
          const f32v v18 = (a2 + v13);
          const f32v v19 = f32_relu(v18);
          f32_store(p3 + INT64_C(33)*i0 + i1 + INT64_C(66), v19);
          const f32v v20 = (a3 + v13);
          const f32v v21 = f32_relu(v20);
          f32_store(p3 + INT64_C(33)*i0 + i1 + INT64_C(99), v21);
        }
        if (i1 < INT64_C(33)) {
          const int i1_rest = (int)(INT64_C(33) - i1);
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          f32v a1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a3 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v4 = f32_one(p0 + i2 + INT64_C(20)*i0);
            const f32v v5 = f32_load_part(p1 + INT64_C(33)*i2 + i1, i1_rest);
            const f32v v6 = (v4 * v5);
            a0 = (a0 + v6);
            const f32v v7 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(20));
            const f32v v8 = (v7 * v5);
            a1 = (a1 + v8);
            const f32v v9 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(40));
            const f32v v10 = (v9 * v5);
            a2 = (a2 + v10);
            const f32v v11 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(60));
            const f32v v12 = (v11 * v5);
            a3 = (a3 + v12);
          }
          const f32v v13 = f32_load_part(p2 + i1, i1_rest);
          const f32v v14 = (a0 + v13);
          const f32v v15 = f32_relu(v14);
          f32_store_part(p3 + INT64_C(33)*i0 + i1, v15, i1_rest);
          const f32v v16 = (a1 + v13);
          const f32v v17 = f32_relu(v16);
          f32_store_part(p3 + INT64_C(33)*i0 + i1 + INT64_C(33), v17, i1_rest);
          const f32v v18 = (a2 + v13);
          const f32v v19 = f32_relu(v18);
          f32_store_part(p3 + INT64_C(33)*i0 + i1 + INT64_C(66), v19, i1_rest);
          const f32v v20 = (a3 + v13);
          const f32v v21 = f32_relu(v20);
          f32_store_part(p3 + INT64_C(33)*i0 + i1 + INT64_C(99), v21, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(33); i1 += LANES) {
          f32v a22 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i3 = 0; i3 < INT64_C(20); i3++) {
            const f32v v23 = f32_one(p0 + i3 + INT64_C(20)*i0);
            const f32v v24 = f32_load(p1 + INT64_C(33)*i3 + i1);
            const f32v v25 = (v23 * v24);
            a22 = (a22 + v25);
          }
          const f32v v26 = f32_load(p2 + i1);
          const f32v v27 = (a22 + v26);
          const f32v v28 = f32_relu(v27);
          f32_store(p3 + INT64_C(33)*i0 + i1, v28);
        }
        if (i1 < INT64_C(33)) {
          const int i1_rest = (int)(INT64_C(33) - i1);
          f32v a22 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i3 = 0; i3 < INT64_C(20); i3++) {
            const f32v v23 = f32_one(p0 + i3 + INT64_C(20)*i0);
            const f32v v24 = f32_load_part(p1 + INT64_C(33)*i3 + i1, i1_rest);
            const f32v v25 = (v23 * v24);
            a22 = (a22 + v25);
          }
          const f32v v26 = f32_load_part(p2 + i1, i1_rest);
          const f32v v27 = (a22 + v26);
          const f32v v28 = f32_relu(v27);
          f32_store_part(p3 + INT64_C(33)*i0 + i1, v28, i1_rest);
        }
      }
    }
  }
}
static void k_product_with_epilogue_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_product_with_epilogue_nest0(nest->b, nest->s, begin, end, 0);
}
int k_product_with_epilogue(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(180) + INT64_C(660) + INT64_C(33) + INT64_C(297) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_product_with_epilogue_nest0_part, .b = b, .s = s, .steps = INT64_C(9), .grain = 4, .portions = 0}, threads); else k_product_with_epilogue_nest0(b, s, 0, INT64_C(9), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
