#include "vector_math.h"
#include "runtime.h"
static void k_bias_and_relu_gradients_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *c0 = (float *)rows;
  for (int64_t i = 0; i < INT64_C(19); i++) {
    c0[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(19); i1 += LANES) {
        fetch(p1 + INT64_C(19)*i0 + i1 + INT64_C(1007));
        const f32v v0 = f32_load(p1 + INT64_C(19)*i0 + i1);
        const i32v v1 = (v0 > SPLAT(f32v, 0x0.0p+0f));
        fetch(p0 + INT64_C(19)*i0 + i1 + INT64_C(1007));
        const f32v v2 = f32_load(p0 + INT64_C(19)*i0 + i1);
        const f32v v3 = f32_select(v1, v2, SPLAT(f32v, 0x0.0p+0f));
        f32_store(c0 + i1, (f32_load(c0 + i1) + v3));
        f32_store(p2 + INT64_C(19)*i0 + i1, v3);
      }
      if (i1 < INT64_C(19)) {
        const int i1_rest = (int)(INT64_C(19) - i1);
        const f32v v0 = f32_load_part(p1 + INT64_C(19)*i0 + i1, i1_rest);
        const i32v v1 = (v0 > SPLAT(f32v, 0x0.0p+0f));
        const f32v v2 = f32_load_part(p0 + INT64_C(19)*i0 + i1, i1_rest);
        const f32v v3 = f32_select(v1, v2, SPLAT(f32v, 0x0.0p+0f));
        f32_store_part(c0 + i1, (f32_load_part(c0 + i1, i1_rest) + v3), i1_rest);
        f32_store_part(p2 + INT64_C(19)*i0 + i1, v3, i1_rest);
      }
    }
  }
}
static void k_bias_and_relu_gradients_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_bias_and_relu_gradients_nest0(nest->b, nest->s, begin, end, 0, own);
}
static void k_bias_and_relu_gradients_nest0_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  float *p3 = (float *)b[3];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(19); i += LANES) {
    const int64_t left = INT64_C(19) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load((float *)rows + i);
    for (int t = 1; t < used; t++) {
      v = (v + f32_load((float *)(rows + t*row_bytes) + i));
    }
    f32_store_part(p3 + i, v, n);
  }
}
int k_bias_and_relu_gradients(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  {
    const int64_t row_bytes = ((INT64_C(19)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(133) + INT64_C(133) + INT64_C(133) + INT64_C(19) >= 524288) used = share_nest(&(struct shared_nest){.run = k_bias_and_relu_gradients_nest0_part, .b = b, .s = s, .steps = INT64_C(7), .grain = 1, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_bias_and_relu_gradients_nest0(b, s, 0, INT64_C(7), 0, rows);
    k_bias_and_relu_gradients_nest0_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
