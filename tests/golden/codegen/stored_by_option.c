#include "vector_math.h"
#include "runtime.h"
static void k_stored_by_option_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = f32_exp(v0);
      f32_store(p3 + i0, v1);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = f32_exp(v0);
      f32_store_part(p3 + i0, v1, i0_rest);
    }
  }
}
static void k_stored_by_option_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  float *p3 = (float *)b[3];
  float *c0 = (float *)rows;
  for (int64_t i = 0; i < INT64_C(45); i++) {
    c0[i] = SPLAT(f32v, 0x0.0p+0f)[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(45); i1 += LANES) {
          fetch(p3 + INT64_C(45)*i0 + i1 + INT64_C(990));
          const f32v v0 = f32_load(p3 + INT64_C(45)*i0 + i1);
          fetch(p3 + INT64_C(45)*i0 + i1 + INT64_C(1035));
          const f32v v0_r1 = f32_load(p3 + INT64_C(45)*i0 + i1 + INT64_C(45));
          fetch(p3 + INT64_C(45)*i0 + i1 + INT64_C(1080));
          const f32v v0_r2 = f32_load(p3 + INT64_C(45)*i0 + i1 + INT64_C(90));
          fetch(p3 + INT64_C(45)*i0 + i1 + INT64_C(1125));
          const f32v v0_r3 = f32_load(p3 + INT64_C(45)*i0 + i1 + INT64_C(135));
          f32_store(c0 + i1, ((((f32_load(c0 + i1) + v0) + v0_r1) + v0_r2) + v0_r3));
        }
        if (i1 < INT64_C(45)) {
          const int i1_rest = (int)(INT64_C(45) - i1);
          const f32v v0 = f32_load_part(p3 + INT64_C(45)*i0 + i1, i1_rest);
          const f32v v0_r1 = f32_load_part(p3 + INT64_C(45)*i0 + i1 + INT64_C(45), i1_rest);
          const f32v v0_r2 = f32_load_part(p3 + INT64_C(45)*i0 + i1 + INT64_C(90), i1_rest);
          const f32v v0_r3 = f32_load_part(p3 + INT64_C(45)*i0 + i1 + INT64_C(135), i1_rest);
          f32_store_part(c0 + i1, ((((f32_load_part(c0 + i1, i1_rest) + v0) + v0_r1) + v0_r2) + v0_r3), i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(45); i1 += LANES) {
          fetch(p3 + INT64_C(45)*i0 + i1 + INT64_C(990));
          const f32v v0 = f32_load(p3 + INT64_C(45)*i0 + i1);
          f32_store(c0 + i1, (f32_load(c0 + i1) + v0));
        }
        if (i1 < INT64_C(45)) {
          const int i1_rest = (int)(INT64_C(45) - i1);
          const f32v v0 = f32_load_part(p3 + INT64_C(45)*i0 + i1, i1_rest);
          f32_store_part(c0 + i1, (f32_load_part(c0 + i1, i1_rest) + v0), i1_rest);
        }
      }
    }
  }
}
static void k_stored_by_option_nest1_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_stored_by_option_nest1(nest->b, nest->s, begin, end, 0, own);
}
static void k_stored_by_option_nest1_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  float *p1 = (float *)b[1];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(45); i += LANES) {
    const int64_t left = INT64_C(45) - i;
    const int n = left < LANES ? (int)left : LANES;
    f32v v = f32_load((float *)rows + i);
    for (int t = 1; t < used; t++) {
      v = (v + f32_load((float *)(rows + t*row_bytes) + i));
    }
    f32_store_part(p1 + i, v, n);
  }
}
static void k_stored_by_option_nest2(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
      f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(45); i1 += LANES) {
          const f32v v1 = f32_load(p3 + i1 + INT64_C(45)*i0);
          a0 = (a0 + v1);
          const f32v v1_r1 = f32_load(p3 + i1 + INT64_C(45)*i0 + INT64_C(45));
          a0_r1 = (a0_r1 + v1_r1);
          const f32v v1_r2 = f32_load(p3 + i1 + INT64_C(45)*i0 + INT64_C(90));
          a0_r2 = (a0_r2 + v1_r2);
          const f32v v1_r3 = f32_load(p3 + i1 + INT64_C(45)*i0 + INT64_C(135));
          a0_r3 = (a0_r3 + v1_r3);
        }
        if (i1 < INT64_C(45)) {
          const int i1_rest = (int)(INT64_C(45) - i1);
          const f32v v1 = f32_load_part(p3 + i1 + INT64_C(45)*i0, i1_rest);
          a0 = (a0 + f32_select(lanes_below(i1_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r1 = f32_load_part(p3 + i1 + INT64_C(45)*i0 + INT64_C(45), i1_rest);
          a0_r1 = (a0_r1 + f32_select(lanes_below(i1_rest), v1_r1, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r2 = f32_load_part(p3 + i1 + INT64_C(45)*i0 + INT64_C(90), i1_rest);
          a0_r2 = (a0_r2 + f32_select(lanes_below(i1_rest), v1_r2, SPLAT(f32v, 0x0.0p+0f)));
          const f32v v1_r3 = f32_load_part(p3 + i1 + INT64_C(45)*i0 + INT64_C(135), i1_rest);
          a0_r3 = (a0_r3 + f32_select(lanes_below(i1_rest), v1_r3, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_sum(a0));
      const f32v v2_r1 = SPLAT(f32v, f32_sum(a0_r1));
      const f32v v2_r2 = SPLAT(f32v, f32_sum(a0_r2));
      const f32v v2_r3 = SPLAT(f32v, f32_sum(a0_r3));
      f32_store_part(p2 + i0, v2, 1);
      f32_store_part(p2 + i0 + INT64_C(1), v2_r1, 1);
      f32_store_part(p2 + i0 + INT64_C(2), v2_r2, 1);
      f32_store_part(p2 + i0 + INT64_C(3), v2_r3, 1);
    }
    for (; i0 < end; i0++) {
      f32v a0 = SPLAT(f32v, 0x0.0p+0f);
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(45); i1 += LANES) {
          const f32v v1 = f32_load(p3 + i1 + INT64_C(45)*i0);
          a0 = (a0 + v1);
        }
        if (i1 < INT64_C(45)) {
          const int i1_rest = (int)(INT64_C(45) - i1);
          const f32v v1 = f32_load_part(p3 + i1 + INT64_C(45)*i0, i1_rest);
          a0 = (a0 + f32_select(lanes_below(i1_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
      const f32v v2 = SPLAT(f32v, f32_sum(a0));
      f32_store_part(p2 + i0, v2, 1);
    }
  }
}
static void k_stored_by_option_nest2_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_stored_by_option_nest2(nest->b, nest->s, begin, end, 0);
}
int k_stored_by_option(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[4];
  memcpy(all, b, 3*sizeof(void *));
  b = all;
  memset(all + 3, 0, sizeof(all) - 3*sizeof(void *));
  all[3] = aligned_alloc(64, (INT64_C(270)*4 + 127) & ~INT64_C(63));
  if (!all[3]) {
    missing = 1;
    goto done;
  }
  k_stored_by_option_nest0(b, s, 0, INT64_C(270), 0);
  {
    const int64_t row_bytes = ((INT64_C(45)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(45) + INT64_C(270) >= 524288) used = share_nest(&(struct shared_nest){.run = k_stored_by_option_nest1_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_stored_by_option_nest1(b, s, 0, INT64_C(6), 0, rows);
    k_stored_by_option_nest1_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  if (threads > 1 && INT64_C(6) + INT64_C(270) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_stored_by_option_nest2_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0}, threads); else k_stored_by_option_nest2(b, s, 0, INT64_C(6), 0);
  free(all[3]);
  all[3] = 0;
  goto done;
  done:
  free(all[3]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
