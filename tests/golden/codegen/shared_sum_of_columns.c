#include "vector_math.h"
#include "runtime.h"
static void k_shared_sum_of_columns_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p0 = (float *)b[0];
  float *c0 = (float *)rows;
  for (int64_t i = 0; i < INT64_C(48); i++) {
    c0[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(48); i1 += LANES) {
          fetch(p0 + INT64_C(48)*i0 + i1 + INT64_C(1008));
          const f32v v0 = f32_load(p0 + INT64_C(48)*i0 + i1);
          const f32v v1 = f32_exp(v0);
          fetch(p0 + INT64_C(48)*i0 + i1 + INT64_C(1056));
          const f32v v0_r1 = f32_load(p0 + INT64_C(48)*i0 + i1 + INT64_C(48));
          const f32v v1_r1 = f32_exp(v0_r1);
          fetch(p0 + INT64_C(48)*i0 + i1 + INT64_C(1104));
          const f32v v0_r2 = f32_load(p0 + INT64_C(48)*i0 + i1 + INT64_C(96));
          const f32v v1_r2 = f32_exp(v0_r2);
          fetch(p0 + INT64_C(48)*i0 + i1 + INT64_C(1152));
          const f32v v0_r3 = f32_load(p0 + INT64_C(48)*i0 + i1 + INT64_C(144));
          const f32v v1_r3 = f32_exp(v0_r3);
          f32_store(c0 + i1, ((((f32_load(c0 + i1) + v1) + v1_r1) + v1_r2) + v1_r3));
        }
        if (i1 < INT64_C(48)) {
          const int i1_rest = (int)(INT64_C(48) - i1);
          const f32v v0 = f32_load_part(p0 + INT64_C(48)*i0 + i1, i1_rest);
          const f32v v1 = f32_exp(v0);
          const f32v v0_r1 = f32_load_part(p0 + INT64_C(48)*i0 + i1 + INT64_C(48), i1_rest);
          const f32v v1_r1 = f32_exp(v0_r1);
          const f32v v0_r2 = f32_load_part(p0 + INT64_C(48)*i0 + i1 + INT64_C(96), i1_rest);
          const f32v v1_r2 = f32_exp(v0_r2);
          const f32v v0_r3 = f32_load_part(p0 + INT64_C(48)*i0 + i1 + INT64_C(144), i1_rest);
          const f32v v1_r3 = f32_exp(v0_r3);
          f32_store_part(c0 + i1, ((((f32_load_part(c0 + i1, i1_rest) + v1) + v1_r1) + v1_r2) + v1_r3), i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(48); i1 += LANES) {
          fetch(p0 + INT64_C(48)*i0 + i1 + INT64_C(1008));
          const f32v v0 = f32_load(p0 + INT64_C(48)*i0 + i1);
          const f32v v1 = f32_exp(v0);
          f32_store(c0 + i1, (f32_load(c0 + i1) + v1));
        }
        if (i1 < INT64_C(48)) {
          const int i1_rest = (int)(INT64_C(48) - i1);
          const f32v v0 = f32_load_part(p0 + INT64_C(48)*i0 + i1, i1_rest);
          const f32v v1 = f32_exp(v0);
          f32_store_part(c0 + i1, (f32_load_part(c0 + i1, i1_rest) + v1), i1_rest);
        }
      }
    }
  }
}
static void k_shared_sum_of_columns_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_shared_sum_of_columns_nest0(nest->b, nest->s, begin, end, 0, own);
}
static void k_shared_sum_of_columns_nest0_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  float *p1 = (float *)b[1];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(48); i += LANES) {
    const int64_t left = INT64_C(48) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load((float *)rows + i);
    for (int t = 1; t < used; t++) {
      v = (v + f32_load((float *)(rows + t*row_bytes) + i));
    }
    f32_store_part(p1 + i, v, n);
  }
}
int k_shared_sum_of_columns(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  {
    const int64_t row_bytes = ((INT64_C(48)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? 3 : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(3072) + INT64_C(48) >= 0) used = share_nest(&(struct shared_nest){.run = k_shared_sum_of_columns_nest0_part, .b = b, .s = s, .steps = INT64_C(64), .grain = 4, .portions = 3, .own = rows, .own_bytes = row_bytes}, threads); else k_shared_sum_of_columns_nest0(b, s, 0, INT64_C(64), 0, rows);
    k_shared_sum_of_columns_nest0_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
