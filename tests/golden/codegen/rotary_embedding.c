#include "vector_math.h"
#include "runtime.h"
static void k_rotary_embedding_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(5); i1++) {
      for (int64_t i2 = 0; i2 < INT64_C(4); i2++) {
        {
          int64_t i3 = 0;
          for (; i3 + LANES <= INT64_C(8); i3 += LANES) {
            fetch(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(1024));
            const f32v v0 = f32_load(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3);
            const f32v v1 = f32_load(p1 + INT64_C(16)*i1 + i3);
            const f32v v2 = (v0 * v1);
            fetch(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(1032));
            const f32v v3 = f32_load(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(8));
            const f32v v4 = (v3 * SPLAT(f32v, -0x1.0000000000000p+0f));
            const f32v v5 = f32_load(p2 + INT64_C(16)*i1 + i3);
            const f32v v6 = (v4 * v5);
            const f32v v7 = (v2 + v6);
            f32_store(p3 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3, v7);
          }
          if (i3 < INT64_C(8)) {
            const int i3_rest = (int)(INT64_C(8) - i3);
            const f32v v0 = f32_load_part(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3, i3_rest);
            const f32v v1 = f32_load_part(p1 + INT64_C(16)*i1 + i3, i3_rest);
            const f32v v2 = (v0 * v1);
            const f32v v3 = f32_load_part(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(8), i3_rest);
            const f32v v4 = (v3 * SPLAT(f32v, -0x1.0000000000000p+0f));
            const f32v v5 = f32_load_part(p2 + INT64_C(16)*i1 + i3, i3_rest);
            const f32v v6 = (v4 * v5);
            const f32v v7 = (v2 + v6);
            f32_store_part(p3 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3, v7, i3_rest);
          }
        }
        {
          int64_t i3 = INT64_C(8);
          for (; i3 + LANES <= INT64_C(16); i3 += LANES) {
            fetch(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(1024));
            const f32v v8 = f32_load(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3);
            const f32v v9 = f32_load(p1 + INT64_C(16)*i1 + i3);
            const f32v v10 = (v8 * v9);
            fetch(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(1016));
            const f32v v11 = f32_load(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(-8));
            const f32v v12 = (v11 * SPLAT(f32v, 0x1.0000000000000p+0f));
            const f32v v13 = f32_load(p2 + INT64_C(16)*i1 + i3);
            const f32v v14 = (v12 * v13);
            const f32v v15 = (v10 + v14);
            f32_store(p3 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3, v15);
          }
          if (i3 < INT64_C(16)) {
            const int i3_rest = (int)(INT64_C(16) - i3);
            const f32v v8 = f32_load_part(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3, i3_rest);
            const f32v v9 = f32_load_part(p1 + INT64_C(16)*i1 + i3, i3_rest);
            const f32v v10 = (v8 * v9);
            const f32v v11 = f32_load_part(p0 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3 + INT64_C(-8), i3_rest);
            const f32v v12 = (v11 * SPLAT(f32v, 0x1.0000000000000p+0f));
            const f32v v13 = f32_load_part(p2 + INT64_C(16)*i1 + i3, i3_rest);
            const f32v v14 = (v12 * v13);
            const f32v v15 = (v10 + v14);
            f32_store_part(p3 + INT64_C(320)*i0 + INT64_C(64)*i1 + INT64_C(16)*i2 + i3, v15, i3_rest);
          }
        }
      }
    }
  }
}
static void k_rotary_embedding_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_rotary_embedding_nest0(nest->b, nest->s, begin, end, 0);
}
int k_rotary_embedding(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(640) + INT64_C(80) + INT64_C(80) + INT64_C(640) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_rotary_embedding_nest0_part, .b = b, .s = s, .steps = INT64_C(2), .grain = 1, .portions = 0}, threads); else k_rotary_embedding_nest0(b, s, 0, INT64_C(2), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
