#include "vector_math.h"
#include "runtime.h"
static void k_schedule_stored_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = (v0 + v0);
      f32_store(p3 + i0, v1);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = (v0 + v0);
      f32_store_part(p3 + i0, v1, i0_rest);
    }
  }
}
static void k_schedule_stored_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p3 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load(p1 + INT64_C(37)*i2 + i1);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
            const f32v v1_r1 = f32_one(p3 + i2 + INT64_C(20)*i0 + INT64_C(20));
            const f32v v3_r1 = (v1_r1 * v2);
            a0_r1 = (a0_r1 + v3_r1);
            const f32v v1_r2 = f32_one(p3 + i2 + INT64_C(20)*i0 + INT64_C(40));
            const f32v v3_r2 = (v1_r2 * v2);
            a0_r2 = (a0_r2 + v3_r2);
            const f32v v1_r3 = f32_one(p3 + i2 + INT64_C(20)*i0 + INT64_C(60));
            const f32v v3_r3 = (v1_r3 * v2);
            a0_r3 = (a0_r3 + v3_r3);
          }
          f32_store(p2 + INT64_C(37)*i0 + i1, a0);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), a0_r1);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), a0_r2);
          f32_store(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), a0_r3);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r1 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r2 = SPLAT(f32v, 0x0.0p+0f);
          f32v a0_r3 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p3 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load_part(p1 + INT64_C(37)*i2 + i1, i1_rest);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
            const f32v v1_r1 = f32_one(p3 + i2 + INT64_C(20)*i0 + INT64_C(20));
            const f32v v3_r1 = (v1_r1 * v2);
            a0_r1 = (a0_r1 + v3_r1);
            const f32v v1_r2 = f32_one(p3 + i2 + INT64_C(20)*i0 + INT64_C(40));
            const f32v v3_r2 = (v1_r2 * v2);
            a0_r2 = (a0_r2 + v3_r2);
            const f32v v1_r3 = f32_one(p3 + i2 + INT64_C(20)*i0 + INT64_C(60));
            const f32v v3_r3 = (v1_r3 * v2);
            a0_r3 = (a0_r3 + v3_r3);
          }
          f32_store_part(p2 + INT64_C(37)*i0 + i1, a0, i1_rest);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(37), a0_r1, i1_rest);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(74), a0_r2, i1_rest);
          f32_store_part(p2 + INT64_C(37)*i0 + i1 + INT64_C(111), a0_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        for (; i1 + LANES <= INT64_C(37); i1 += LANES) {
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p3 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load(p1 + INT64_C(37)*i2 + i1);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
          }
          f32_store(p2 + INT64_C(37)*i0 + i1, a0);
        }
        if (i1 < INT64_C(37)) {
          const int i1_rest = (int)(INT64_C(37) - i1);
          f32v a0 = SPLAT(f32v, 0x0.0p+0f);
          for (int64_t i2 = 0; i2 < INT64_C(20); i2++) {
            const f32v v1 = f32_one(p3 + i2 + INT64_C(20)*i0);
            const f32v v2 = f32_load_part(p1 + INT64_C(37)*i2 + i1, i1_rest);
            const f32v v3 = (v1 * v2);
            a0 = (a0 + v3);
          }
          f32_store_part(p2 + INT64_C(37)*i0 + i1, a0, i1_rest);
        }
      }
    }
  }
}
static void k_schedule_stored_nest1_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_schedule_stored_nest1(nest->b, nest->s, begin, end, 0);
}
int k_schedule_stored(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[4];
  memcpy(all, b, 3*sizeof(void *));
  b = all;
  memset(all + 3, 0, sizeof(all) - 3*sizeof(void *));
  all[3] = aligned_alloc(64, (INT64_C(480)*4 + 127) & ~INT64_C(63));
  if (!all[3]) {
    missing = 1;
    goto done;
  }
  k_schedule_stored_nest0(b, s, 0, INT64_C(480), 0);
  if (threads > 1 && INT64_C(740) + INT64_C(888) + INT64_C(480) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_schedule_stored_nest1_part, .b = b, .s = s, .steps = INT64_C(24), .grain = 4, .portions = 0}, threads); else k_schedule_stored_nest1(b, s, 0, INT64_C(24), 0);
  free(all[3]);
  all[3] = 0;
  goto done;
  done:
  free(all[3]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
