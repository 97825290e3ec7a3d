#include "vector_math.h"
#include "runtime.h"
static void k_unknown_sum_of_columns_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p0 = (float *)b[0];
  const int64_t n1 = s[1];
  double *c0 = (double *)rows;
  for (int64_t i = 0; i < n1; i++) {
    c0[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0 += 4) {
    const int64_t i0_rows = least(4, end - i0);
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= n1; i1 += LANES) {
        f32v i0_sum0 = {0};
        #pragma GCC unroll 1
        for (int64_t i0_at = 0; i0_at < i0_rows; i0_at++) {
          const int64_t i0_done = i0 + i0_at;
          fetch(p0 + n1*i0_done + INT64_C(4)*n1 + i1);
          const f32v v0 = f32_load(p0 + n1*i0_done + i1);
          i0_sum0 = (i0_sum0 + v0);
        }
        wide_add_at(c0 + i1, i0_sum0);
      }
      if (i1 < n1) {
        const int i1_rest = (int)(n1 - i1);
        f32v i0_sum0 = {0};
        #pragma GCC unroll 1
        for (int64_t i0_at = 0; i0_at < i0_rows; i0_at++) {
          const int64_t i0_done = i0 + i0_at;
          const f32v v0 = f32_load_part(p0 + n1*i0_done + i1, i1_rest);
          i0_sum0 = (i0_sum0 + v0);
        }
        wide_add_part(c0 + i1, i0_sum0, i1_rest);
      }
    }
  }
}
static void k_unknown_sum_of_columns_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_unknown_sum_of_columns_nest0(nest->b, nest->s, begin, end, 0, own);
}
static void k_unknown_sum_of_columns_nest0_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  float *p1 = (float *)b[1];
  const int64_t n1 = s[1];
  (void)b; (void)s;
  for (int64_t i = 0; i < n1; i += LANES) {
    const int64_t left = n1 - i;
    const int n = left < LANES ? (int)left : LANES;
    f64v v = f64_load((double *)rows + i);
    for (int t = 1; t < used; t++) {
      v = (v + f64_load((double *)(rows + t*row_bytes) + i));
    }
    f32_store_part(p1 + i, f32_from_f64(v), n);
  }
}
int k_unknown_sum_of_columns(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  const int64_t n0 = s[0];
  const int64_t n1 = s[1];
  (void)n0; (void)n1;
  {
    const int64_t row_bytes = ((n1*8 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && n0*n1 + n1 >= 524288) used = share_nest(&(struct shared_nest){.run = k_unknown_sum_of_columns_nest0_part, .b = b, .s = s, .steps = n0, .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_unknown_sum_of_columns_nest0(b, s, 0, n0, 0, rows);
    k_unknown_sum_of_columns_nest0_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
