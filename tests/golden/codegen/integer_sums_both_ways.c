#include "vector_math.h"
#include "runtime.h"
static void k_integer_sums_both_ways_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream, char *rows) {
  int32_t *p0 = (int32_t *)b[0];
  int32_t *c0 = (int32_t *)rows;
  for (int64_t i = 0; i < INT64_C(29); i++) {
    c0[i] = SPLAT(i32v, INT64_C(0))[0];
  }
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(29); i1 += LANES) {
          fetch(p0 + INT64_C(29)*i0 + i1 + INT64_C(1015));
          const i32v v0 = i32_load(p0 + INT64_C(29)*i0 + i1);
          fetch(p0 + INT64_C(29)*i0 + i1 + INT64_C(1044));
          const i32v v0_r1 = i32_load(p0 + INT64_C(29)*i0 + i1 + INT64_C(29));
          fetch(p0 + INT64_C(29)*i0 + i1 + INT64_C(1073));
          const i32v v0_r2 = i32_load(p0 + INT64_C(29)*i0 + i1 + INT64_C(58));
          fetch(p0 + INT64_C(29)*i0 + i1 + INT64_C(1102));
          const i32v v0_r3 = i32_load(p0 + INT64_C(29)*i0 + i1 + INT64_C(87));
          i32_store(c0 + i1, ((((i32_load(c0 + i1) + v0) + v0_r1) + v0_r2) + v0_r3));
        }
        if (i1 < INT64_C(29)) {
          const int i1_rest = (int)(INT64_C(29) - i1);
          const i32v v0 = i32_load_part(p0 + INT64_C(29)*i0 + i1, i1_rest);
          const i32v v0_r1 = i32_load_part(p0 + INT64_C(29)*i0 + i1 + INT64_C(29), i1_rest);
          const i32v v0_r2 = i32_load_part(p0 + INT64_C(29)*i0 + i1 + INT64_C(58), i1_rest);
          const i32v v0_r3 = i32_load_part(p0 + INT64_C(29)*i0 + i1 + INT64_C(87), i1_rest);
          i32_store_part(c0 + i1, ((((i32_load_part(c0 + i1, i1_rest) + v0) + v0_r1) + v0_r2) + v0_r3), i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(29); i1 += LANES) {
          fetch(p0 + INT64_C(29)*i0 + i1 + INT64_C(1015));
          const i32v v0 = i32_load(p0 + INT64_C(29)*i0 + i1);
          i32_store(c0 + i1, (i32_load(c0 + i1) + v0));
        }
        if (i1 < INT64_C(29)) {
          const int i1_rest = (int)(INT64_C(29) - i1);
          const i32v v0 = i32_load_part(p0 + INT64_C(29)*i0 + i1, i1_rest);
          i32_store_part(c0 + i1, (i32_load_part(c0 + i1, i1_rest) + v0), i1_rest);
        }
      }
    }
  }
}
static void k_integer_sums_both_ways_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_integer_sums_both_ways_nest0(nest->b, nest->s, begin, end, 0, own);
}
static void k_integer_sums_both_ways_nest0_columns(void **b, const int64_t *s, char *rows, int64_t row_bytes, int used) {
  int32_t *p1 = (int32_t *)b[1];
  (void)b; (void)s;
  for (int64_t i = 0; i < INT64_C(29); i += LANES) {
    const int64_t left = INT64_C(29) - i;
    const int n = left < LANES ? (int)left : LANES;
    i32v v = i32_load((int32_t *)rows + i);
    for (int t = 1; t < used; t++) {
      v = (v + i32_load((int32_t *)(rows + t*row_bytes) + i));
    }
    i32_store_part(p1 + i, v, n);
  }
}
static void k_integer_sums_both_ways_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  int32_t *p0 = (int32_t *)b[0];
  int32_t *p2 = (int32_t *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      i32v a0 = SPLAT(i32v, INT64_C(0));
      i32v a0_r1 = SPLAT(i32v, INT64_C(0));
      i32v a0_r2 = SPLAT(i32v, INT64_C(0));
      i32v a0_r3 = SPLAT(i32v, INT64_C(0));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(29); i1 += LANES) {
          const i32v v1 = i32_load(p0 + i1 + INT64_C(29)*i0);
          a0 = (a0 + v1);
          const i32v v1_r1 = i32_load(p0 + i1 + INT64_C(29)*i0 + INT64_C(29));
          a0_r1 = (a0_r1 + v1_r1);
          const i32v v1_r2 = i32_load(p0 + i1 + INT64_C(29)*i0 + INT64_C(58));
          a0_r2 = (a0_r2 + v1_r2);
          const i32v v1_r3 = i32_load(p0 + i1 + INT64_C(29)*i0 + INT64_C(87));
          a0_r3 = (a0_r3 + v1_r3);
        }
        if (i1 < INT64_C(29)) {
          const int i1_rest = (int)(INT64_C(29) - i1);
          const i32v v1 = i32_load_part(p0 + i1 + INT64_C(29)*i0, i1_rest);
          a0 = (a0 + i32_select(lanes_below(i1_rest), v1, SPLAT(i32v, INT64_C(0))));
          const i32v v1_r1 = i32_load_part(p0 + i1 + INT64_C(29)*i0 + INT64_C(29), i1_rest);
          a0_r1 = (a0_r1 + i32_select(lanes_below(i1_rest), v1_r1, SPLAT(i32v, INT64_C(0))));
          const i32v v1_r2 = i32_load_part(p0 + i1 + INT64_C(29)*i0 + INT64_C(58), i1_rest);
          a0_r2 = (a0_r2 + i32_select(lanes_below(i1_rest), v1_r2, SPLAT(i32v, INT64_C(0))));
          const i32v v1_r3 = i32_load_part(p0 + i1 + INT64_C(29)*i0 + INT64_C(87), i1_rest);
          a0_r3 = (a0_r3 + i32_select(lanes_below(i1_rest), v1_r3, SPLAT(i32v, INT64_C(0))));
        }
      }
      const i32v v2 = SPLAT(i32v, i32_sum(a0));
      const i32v v2_r1 = SPLAT(i32v, i32_sum(a0_r1));
      const i32v v2_r2 = SPLAT(i32v, i32_sum(a0_r2));
      const i32v v2_r3 = SPLAT(i32v, i32_sum(a0_r3));
      i32_store_part(p2 + i0, v2, 1);
      i32_store_part(p2 + i0 + INT64_C(1), v2_r1, 1);
      i32_store_part(p2 + i0 + INT64_C(2), v2_r2, 1);
      i32_store_part(p2 + i0 + INT64_C(3), v2_r3, 1);
    }
    for (; i0 < end; i0++) {
      i32v a0 = SPLAT(i32v, INT64_C(0));
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(29); i1 += LANES) {
          const i32v v1 = i32_load(p0 + i1 + INT64_C(29)*i0);
          a0 = (a0 + v1);
        }
        if (i1 < INT64_C(29)) {
          const int i1_rest = (int)(INT64_C(29) - i1);
          const i32v v1 = i32_load_part(p0 + i1 + INT64_C(29)*i0, i1_rest);
          a0 = (a0 + i32_select(lanes_below(i1_rest), v1, SPLAT(i32v, INT64_C(0))));
        }
      }
      const i32v v2 = SPLAT(i32v, i32_sum(a0));
      i32_store_part(p2 + i0, v2, 1);
    }
  }
}
static void k_integer_sums_both_ways_nest1_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_integer_sums_both_ways_nest1(nest->b, nest->s, begin, end, 0);
}
int k_integer_sums_both_ways(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  {
    const int64_t row_bytes = ((INT64_C(29)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    int used = 1;
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(174) + INT64_C(29) >= 524288) used = share_nest(&(struct shared_nest){.run = k_integer_sums_both_ways_nest0_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_integer_sums_both_ways_nest0(b, s, 0, INT64_C(6), 0, rows);
    k_integer_sums_both_ways_nest0_columns(b, s, rows, row_bytes, used);
    free(rows);
  }
  if (threads > 1 && INT64_C(174) + INT64_C(6) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_integer_sums_both_ways_nest1_part, .b = b, .s = s, .steps = INT64_C(6), .grain = 4, .portions = 0}, threads); else k_integer_sums_both_ways_nest1(b, s, 0, INT64_C(6), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
