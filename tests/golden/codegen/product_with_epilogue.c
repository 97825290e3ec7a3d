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
          f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p0 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load(p1 + INT64_C(33)*i2 + i1);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
            const f32v v1_r1 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(20));
            const f32v v3_r1 = (v1_r1 * v2);
            a0_r1 = (a0_r1 + v3_r1);
            const f32v v1_r2 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(40));
            const f32v v3_r2 = (v1_r2 * v2);
            a0_r2 = (a0_r2 + v3_r2);
            const f32v v1_r3 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(60));
            const f32v v3_r3 = (v1_r3 * v2);
            a0_r3 = (a0_r3 + v3_r3);
          }
          const f32v v4 = f32_load(p2 + i1);
          const f32v v5 = (a0 + v4);
          const f32v v6 = f32_relu(v5);
          f32_store(p3 + INT64_C(33)*i0 + i1, v6);
          const f32v v5_r1 = (a0_r1 + v4);
          const f32v v6_r1 = f32_relu(v5_r1);
          f32_store(p3 + INT64_C(33)*i0 + i1 + INT64_C(33), v6_r1);
          const f32v v5_r2 = (a0_r2 + v4);
          const f32v v6_r2 = f32_relu(v5_r2);
          f32_store(p3 + INT64_C(33)*i0 + i1 + INT64_C(66), v6_r2);
          const f32v v5_r3 = (a0_r3 + v4);
          const f32v v6_r3 = f32_relu(v5_r3);
          f32_store(p3 + INT64_C(33)*i0 + i1 + INT64_C(99), v6_r3);
        }
        if (i1 < INT64_C(33)) {
          const int i1_rest = (int)(INT64_C(33) - i1);
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p0 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load_part(p1 + INT64_C(33)*i2 + i1, i1_rest);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
            const f32v v1_r1 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(20));
            const f32v v3_r1 = (v1_r1 * v2);
            a0_r1 = (a0_r1 + v3_r1);
            const f32v v1_r2 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(40));
            const f32v v3_r2 = (v1_r2 * v2);
            a0_r2 = (a0_r2 + v3_r2);
            const f32v v1_r3 = f32_one(p0 + i2 + INT64_C(20)*i0 + INT64_C(60));
            const f32v v3_r3 = (v1_r3 * v2);
            a0_r3 = (a0_r3 + v3_r3);
          }
          const f32v v4 = f32_load_part(p2 + i1, i1_rest);
          const f32v v5 = (a0 + v4);
          const f32v v6 = f32_relu(v5);
          f32_store_part(p3 + INT64_C(33)*i0 + i1, v6, i1_rest);
          const f32v v5_r1 = (a0_r1 + v4);
          const f32v v6_r1 = f32_relu(v5_r1);
          f32_store_part(p3 + INT64_C(33)*i0 + i1 + INT64_C(33), v6_r1, i1_rest);
          const f32v v5_r2 = (a0_r2 + v4);
          const f32v v6_r2 = f32_relu(v5_r2);
          f32_store_part(p3 + INT64_C(33)*i0 + i1 + INT64_C(66), v6_r2, i1_rest);
          const f32v v5_r3 = (a0_r3 + v4);
          const f32v v6_r3 = f32_relu(v5_r3);
          f32_store_part(p3 + INT64_C(33)*i0 + i1 + INT64_C(99), v6_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(33); i1 += LANES) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p0 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load(p1 + INT64_C(33)*i2 + i1);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
          }
          const f32v v4 = f32_load(p2 + i1);
          const f32v v5 = (a0 + v4);
          const f32v v6 = f32_relu(v5);
          f32_store(p3 + INT64_C(33)*i0 + i1, v6);
        }
        if (i1 < INT64_C(33)) {
          const int i1_rest = (int)(INT64_C(33) - i1);
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p0 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load_part(p1 + INT64_C(33)*i2 + i1, i1_rest);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
          }
          const f32v v4 = f32_load_part(p2 + i1, i1_rest);
          const f32v v5 = (a0 + v4);
          const f32v v6 = f32_relu(v5);
          f32_store_part(p3 + INT64_C(33)*i0 + i1, v6, i1_rest);
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
