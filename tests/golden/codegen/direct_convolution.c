#include "vector_math.h"
#include "runtime.h"
static void k_direct_convolution_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  const i64v v9 = SPLAT(i64v, (0));
  for (int64_t i0 = begin; i0 < end; i0++) {
    const i64v v15 = SPLAT(i64v, (i0));
    for (int64_t i1 = 0; i1 < INT64_C(9); i1++) {
      {
        int64_t i2 = 0;
        for (; i2 + LANES <= INT64_C(17); i2 += LANES) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i3 = 0; i3 < INT64_C(3); i3++) {
            for (int64_t i4 = 0; i4 < INT64_C(-1)*i1 + INT64_C(1); i4++) {
              for (int64_t i5 = 0; i5 < INT64_C(3); i5++) {
                const f32v v1 = f32_one(p1 + INT64_C(9)*i3 + INT64_C(3)*i4 + i5 + INT64_C(27)*i0);
                const f32v v2 = (SPLAT(f32v, 0x0.0p+0f) * v1);
                a0 = (a0 + v2);
              }
            }
            const i64v v10 = SPLAT(i64v, (i3));
            for (int64_t i4 = most(0, INT64_C(-1)*i1 + INT64_C(1)); i4 < least(INT64_C(3), INT64_C(-1)*i1 + INT64_C(10)); i4++) {
              const i64v v11 = SPLAT(i64v, (i4 + i1 + INT64_C(-1)));
              const i64v v16 = SPLAT(i64v, (i4));
              for (int64_t i5 = 0; i5 < INT64_C(3); i5++) {
                const i32v v3 = i32_from_i64((SPLAT(i64v, (i5 + i2)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
                const i32v v4 = (v3 - SPLAT(i32v, INT64_C(1)));
                const i32v v5 = (v4 >= SPLAT(i32v, INT64_C(0)));
                const i32v v6 = (SPLAT(i32v, -1) & v5);
                const i32v v7 = (v4 < SPLAT(i32v, INT64_C(17)));
                const i32v v8 = (v6 & v7);
                const i64v v12 = (SPLAT(i64v, (i5 + i2 + INT64_C(-1))) + (i64_iota() * SPLAT(i64v, (INT64_C(1)))));
                const f32v v13 = f32_gather_at(p0, clip_index(((((v9 * SPLAT(i64v, (INT64_C(459)))) + (v10 * SPLAT(i64v, (INT64_C(153))))) + (v11 * SPLAT(i64v, (INT64_C(17))))) + (v12 * SPLAT(i64v, (INT64_C(1))))), INT64_C(459)));
                const f32v v14 = f32_select(v8, v13, SPLAT(f32v, 0x0.0p+0f));
                const i64v v17 = SPLAT(i64v, (i5));
                const f32v v18 = f32_gather_at(p1, clip_index(((((v15 * SPLAT(i64v, (INT64_C(27)))) + (v10 * SPLAT(i64v, (INT64_C(9))))) + (v16 * SPLAT(i64v, (INT64_C(3))))) + (v17 * SPLAT(i64v, (INT64_C(1))))), INT64_C(108)));
                const f32v v19 = (v14 * v18);
                a0 = (a0 + v19);
              }
            }
            for (int64_t i4 = most(0, INT64_C(-1)*i1 + INT64_C(10)); i4 < INT64_C(3); i4++) {
              for (int64_t i5 = 0; i5 < INT64_C(3); i5++) {
                const f32v v20 = f32_one(p1 + INT64_C(9)*i3 + INT64_C(3)*i4 + i5 + INT64_C(27)*i0);
                const f32v v21 = (SPLAT(f32v, 0x0.0p+0f) * v20);
                a0 = (a0 + v21);
              }
            }
          }
          f32_store(p2 + INT64_C(153)*i0 + INT64_C(17)*i1 + i2, a0);
        }
        if (i2 < INT64_C(17)) {
          const int i2_rest = (int)(INT64_C(17) - i2);
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i3 = 0; i3 < INT64_C(3); i3++) {
            for (int64_t i4 = 0; i4 < INT64_C(-1)*i1 + INT64_C(1); i4++) {
              for (int64_t i5 = 0; i5 < INT64_C(3); i5++) {
                const f32v v1 = f32_one(p1 + INT64_C(9)*i3 + INT64_C(3)*i4 + i5 + INT64_C(27)*i0);
                const f32v v2 = (SPLAT(f32v, 0x0.0p+0f) * v1);
                a0 = (a0 + v2);
              }
            }
            const i64v v10 = SPLAT(i64v, (i3));
            for (int64_t i4 = most(0, INT64_C(-1)*i1 + INT64_C(1)); i4 < least(INT64_C(3), INT64_C(-1)*i1 + INT64_C(10)); i4++) {
              const i64v v11 = SPLAT(i64v, (i4 + i1 + INT64_C(-1)));
              const i64v v16 = SPLAT(i64v, (i4));
              for (int64_t i5 = 0; i5 < INT64_C(3); i5++) {
                const i32v v3 = i32_from_i64((SPLAT(i64v, (i5 + i2)) + (i64_iota() * SPLAT(i64v, (INT64_C(1))))));
                const i32v v4 = (v3 - SPLAT(i32v, INT64_C(1)));
                const i32v v5 = (v4 >= SPLAT(i32v, INT64_C(0)));
                const i32v v6 = (SPLAT(i32v, -1) & v5);
                const i32v v7 = (v4 < SPLAT(i32v, INT64_C(17)));
                const i32v v8 = (v6 & v7);
                const i64v v12 = (SPLAT(i64v, (i5 + i2 + INT64_C(-1))) + (i64_iota() * SPLAT(i64v, (INT64_C(1)))));
                const f32v v13 = f32_gather_at(p0, clip_index(((((v9 * SPLAT(i64v, (INT64_C(459)))) + (v10 * SPLAT(i64v, (INT64_C(153))))) + (v11 * SPLAT(i64v, (INT64_C(17))))) + (v12 * SPLAT(i64v, (INT64_C(1))))), INT64_C(459)));
                const f32v v14 = f32_select(v8, v13, SPLAT(f32v, 0x0.0p+0f));
                const i64v v17 = SPLAT(i64v, (i5));
                const f32v v18 = f32_gather_at(p1, clip_index(((((v15 * SPLAT(i64v, (INT64_C(27)))) + (v10 * SPLAT(i64v, (INT64_C(9))))) + (v16 * SPLAT(i64v, (INT64_C(3))))) + (v17 * SPLAT(i64v, (INT64_C(1))))), INT64_C(108)));
                const f32v v19 = (v14 * v18);
                a0 = (a0 + v19);
              }
            }
            for (int64_t i4 = most(0, INT64_C(-1)*i1 + INT64_C(10)); i4 < INT64_C(3); i4++) {
              for (int64_t i5 = 0; i5 < INT64_C(3); i5++) {
                const f32v v20 = f32_one(p1 + INT64_C(9)*i3 + INT64_C(3)*i4 + i5 + INT64_C(27)*i0);
                const f32v v21 = (SPLAT(f32v, 0x0.0p+0f) * v20);
                a0 = (a0 + v21);
              }
            }
          }
          f32_store_part(p2 + INT64_C(153)*i0 + INT64_C(17)*i1 + i2, a0, i2_rest);
        }
      }
    }
  }
}
static void k_direct_convolution_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_direct_convolution_nest0(nest->b, nest->s, begin, end, 0);
}
int k_direct_convolution(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(459) + INT64_C(108) + INT64_C(612) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_direct_convolution_nest0_part, .b = b, .s = s, .steps = INT64_C(4), .grain = 1, .portions = 0}, threads); else k_direct_convolution_nest0(b, s, 0, INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
