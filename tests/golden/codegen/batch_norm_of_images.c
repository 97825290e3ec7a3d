#include "vector_math.h"
#include "runtime.h"
static void k_batch_norm_of_images_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p4 = (float *)b[4];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a0 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_1 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_2 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_3 = SPLAT(f32v, 0x0.0p+0f);
    for (int64_t i1 = 0; i1 < INT64_C(3); i1++) {
      {
        int64_t i2 = 0;
        for (; i2 + 4*LANES <= INT64_C(35); i2 += 4*LANES) {
          {
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2 + INT64_C(35)*i0);
            a0 = (a0 + v1);
          }
          {
            const int64_t i2_1 = i2 + 1*LANES;
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2_1 + INT64_C(35)*i0);
            a0_1 = (a0_1 + v1);
          }
          {
            const int64_t i2_2 = i2 + 2*LANES;
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2_2 + INT64_C(35)*i0);
            a0_2 = (a0_2 + v1);
          }
          {
            const int64_t i2_3 = i2 + 3*LANES;
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2_3 + INT64_C(35)*i0);
            a0_3 = (a0_3 + v1);
          }
        }
        for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
          const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2 + INT64_C(35)*i0);
          a0 = (a0 + v1);
        }
        if (i2 < INT64_C(35)) {
          const int i2_rest = (int)(INT64_C(35) - i2);
          const f32v v1 = f32_load_part(p0 + INT64_C(280)*i1 + i2 + INT64_C(35)*i0, i2_rest);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v1, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
    }
    const f32v v2 = SPLAT(f32v, f32_sum((((a0 + a0_1) + a0_2) + a0_3)));
    f32_store_part(p4 + i0, v2, 1);
  }
}
static void k_batch_norm_of_images_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_batch_norm_of_images_nest0(nest->b, nest->s, begin, end, 0);
}
static void k_batch_norm_of_images_nest1(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p4 = (float *)b[4];
  float *p5 = (float *)b[5];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    f32v a0 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_1 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_2 = SPLAT(f32v, 0x0.0p+0f);
    f32v a0_3 = SPLAT(f32v, 0x0.0p+0f);
    const f32v v2 = f32_one(p4 + i0);
    const f32v v3 = (v2 * SPLAT(f32v, 0x1.3813813813814p-7f));
    for (int64_t i1 = 0; i1 < INT64_C(3); i1++) {
      {
        int64_t i2 = 0;
        for (; i2 + 4*LANES <= INT64_C(35); i2 += 4*LANES) {
          {
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2 + INT64_C(35)*i0);
            const f32v v4 = (v1 - v3);
            const f32v v5 = (v4 * v4);
            a0 = (a0 + v5);
          }
          {
            const int64_t i2_1 = i2 + 1*LANES;
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2_1 + INT64_C(35)*i0);
            const f32v v4 = (v1 - v3);
            const f32v v5 = (v4 * v4);
            a0_1 = (a0_1 + v5);
          }
          {
            const int64_t i2_2 = i2 + 2*LANES;
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2_2 + INT64_C(35)*i0);
            const f32v v4 = (v1 - v3);
            const f32v v5 = (v4 * v4);
            a0_2 = (a0_2 + v5);
          }
          {
            const int64_t i2_3 = i2 + 3*LANES;
            const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2_3 + INT64_C(35)*i0);
            const f32v v4 = (v1 - v3);
            const f32v v5 = (v4 * v4);
            a0_3 = (a0_3 + v5);
          }
        }
        for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
          const f32v v1 = f32_load(p0 + INT64_C(280)*i1 + i2 + INT64_C(35)*i0);
          const f32v v4 = (v1 - v3);
          const f32v v5 = (v4 * v4);
          a0 = (a0 + v5);
        }
        if (i2 < INT64_C(35)) {
          const int i2_rest = (int)(INT64_C(35) - i2);
          const f32v v1 = f32_load_part(p0 + INT64_C(280)*i1 + i2 + INT64_C(35)*i0, i2_rest);
          const f32v v4 = (v1 - v3);
          const f32v v5 = (v4 * v4);
          a0 = (a0 + f32_select(lanes_below(i2_rest), v5, SPLAT(f32v, 0x0.0p+0f)));
        }
      }
    }
    const f32v v6 = SPLAT(f32v, f32_sum((((a0 + a0_1) + a0_2) + a0_3)));
    f32_store_part(p5 + i0, v6, 1);
  }
}
static void k_batch_norm_of_images_nest1_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_batch_norm_of_images_nest1(nest->b, nest->s, begin, end, 0);
}
static void k_batch_norm_of_images_nest2(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p5 = (float *)b[5];
  float *p6 = (float *)b[6];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p5 + i0);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.3813813813814p-7f));
      const f32v v2 = (v1 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v3 = f32_rsqrt(v2);
      f32_store(p6 + i0, v3);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p5 + i0, i0_rest);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.3813813813814p-7f));
      const f32v v2 = (v1 + SPLAT(f32v, 0x1.4f8b588e368f1p-17f));
      const f32v v3 = f32_rsqrt(v2);
      f32_store_part(p6 + i0, v3, i0_rest);
    }
  }
}
static void k_batch_norm_of_images_nest3(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *p3 = (float *)b[3];
  float *p4 = (float *)b[4];
  float *p6 = (float *)b[6];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    {
      int64_t i1 = 0;
      for (; i1 + 4 <= INT64_C(8); i1 += 4) {
        const f32v v1 = f32_one(p4 + i1);
        const f32v v2 = (v1 * SPLAT(f32v, 0x1.3813813813814p-7f));
        const f32v v4 = f32_one(p6 + i1);
        const f32v v5 = f32_one(p1 + i1);
        const f32v v6 = (v4 * v5);
        const f32v v8 = f32_one(p2 + i1);
        const f32v v1_r1 = f32_one(p4 + i1 + INT64_C(1));
        const f32v v2_r1 = (v1_r1 * SPLAT(f32v, 0x1.3813813813814p-7f));
        const f32v v4_r1 = f32_one(p6 + i1 + INT64_C(1));
        const f32v v5_r1 = f32_one(p1 + i1 + INT64_C(1));
        const f32v v6_r1 = (v4_r1 * v5_r1);
        const f32v v8_r1 = f32_one(p2 + i1 + INT64_C(1));
        const f32v v1_r2 = f32_one(p4 + i1 + INT64_C(2));
        const f32v v2_r2 = (v1_r2 * SPLAT(f32v, 0x1.3813813813814p-7f));
        const f32v v4_r2 = f32_one(p6 + i1 + INT64_C(2));
        const f32v v5_r2 = f32_one(p1 + i1 + INT64_C(2));
        const f32v v6_r2 = (v4_r2 * v5_r2);
        const f32v v8_r2 = f32_one(p2 + i1 + INT64_C(2));
        const f32v v1_r3 = f32_one(p4 + i1 + INT64_C(3));
        const f32v v2_r3 = (v1_r3 * SPLAT(f32v, 0x1.3813813813814p-7f));
        const f32v v4_r3 = f32_one(p6 + i1 + INT64_C(3));
        const f32v v5_r3 = f32_one(p1 + i1 + INT64_C(3));
        const f32v v6_r3 = (v4_r3 * v5_r3);
        const f32v v8_r3 = f32_one(p2 + i1 + INT64_C(3));
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v0 = f32_load(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2);
            const f32v v3 = (v0 - v2);
            const f32v v7 = (v3 * v6);
            const f32v v9 = (v7 + v8);
            f32_store(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2, v9);
            fetch(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1050));
            const f32v v0_r1 = f32_load(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35));
            const f32v v3_r1 = (v0_r1 - v2_r1);
            const f32v v7_r1 = (v3_r1 * v6_r1);
            const f32v v9_r1 = (v7_r1 + v8_r1);
            f32_store(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v9_r1);
            fetch(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1085));
            const f32v v0_r2 = f32_load(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70));
            const f32v v3_r2 = (v0_r2 - v2_r2);
            const f32v v7_r2 = (v3_r2 * v6_r2);
            const f32v v9_r2 = (v7_r2 + v8_r2);
            f32_store(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v9_r2);
            fetch(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1120));
            const f32v v0_r3 = f32_load(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105));
            const f32v v3_r3 = (v0_r3 - v2_r3);
            const f32v v7_r3 = (v3_r3 * v6_r3);
            const f32v v9_r3 = (v7_r3 + v8_r3);
            f32_store(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v9_r3);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v3 = (v0 - v2);
            const f32v v7 = (v3 * v6);
            const f32v v9 = (v7 + v8);
            f32_store_part(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2, v9, i2_rest);
            const f32v v0_r1 = f32_load_part(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), i2_rest);
            const f32v v3_r1 = (v0_r1 - v2_r1);
            const f32v v7_r1 = (v3_r1 * v6_r1);
            const f32v v9_r1 = (v7_r1 + v8_r1);
            f32_store_part(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(35), v9_r1, i2_rest);
            const f32v v0_r2 = f32_load_part(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), i2_rest);
            const f32v v3_r2 = (v0_r2 - v2_r2);
            const f32v v7_r2 = (v3_r2 * v6_r2);
            const f32v v9_r2 = (v7_r2 + v8_r2);
            f32_store_part(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(70), v9_r2, i2_rest);
            const f32v v0_r3 = f32_load_part(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), i2_rest);
            const f32v v3_r3 = (v0_r3 - v2_r3);
            const f32v v7_r3 = (v3_r3 * v6_r3);
            const f32v v9_r3 = (v7_r3 + v8_r3);
            f32_store_part(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(105), v9_r3, i2_rest);
          }
        }
      }
      for (; i1 < INT64_C(8); i1++) {
        const f32v v1 = f32_one(p4 + i1);
        const f32v v2 = (v1 * SPLAT(f32v, 0x1.3813813813814p-7f));
        const f32v v4 = f32_one(p6 + i1);
        const f32v v5 = f32_one(p1 + i1);
        const f32v v6 = (v4 * v5);
        const f32v v8 = f32_one(p2 + i1);
        {
          int64_t i2 = 0;
          for (; i2 + LANES <= INT64_C(35); i2 += LANES) {
            fetch(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2 + INT64_C(1015));
            const f32v v0 = f32_load(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2);
            const f32v v3 = (v0 - v2);
            const f32v v7 = (v3 * v6);
            const f32v v9 = (v7 + v8);
            f32_store(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2, v9);
          }
          if (i2 < INT64_C(35)) {
            const int i2_rest = (int)(INT64_C(35) - i2);
            const f32v v0 = f32_load_part(p0 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2, i2_rest);
            const f32v v3 = (v0 - v2);
            const f32v v7 = (v3 * v6);
            const f32v v9 = (v7 + v8);
            f32_store_part(p3 + INT64_C(280)*i0 + INT64_C(35)*i1 + i2, v9, i2_rest);
          }
        }
      }
    }
  }
}
int k_batch_norm_of_images(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  void *all[7];
  memcpy(all, b, 4*sizeof(void *));
  b = all;
  memset(all + 4, 0, sizeof(all) - 4*sizeof(void *));
  all[4] = aligned_alloc(64, (INT64_C(8)*4 + 127) & ~INT64_C(63));
  if (!all[4]) {
    missing = 1;
    goto done;
  }
  if (threads > 1 && INT64_C(840) + INT64_C(8) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_batch_norm_of_images_nest0_part, .b = b, .s = s, .steps = INT64_C(8), .grain = 1, .portions = 0}, threads); else k_batch_norm_of_images_nest0(b, s, 0, INT64_C(8), 0);
  all[5] = aligned_alloc(64, (INT64_C(8)*4 + 127) & ~INT64_C(63));
  if (!all[5]) {
    missing = 1;
    goto done;
  }
  if (threads > 1 && INT64_C(840) + INT64_C(8) + INT64_C(8) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_batch_norm_of_images_nest1_part, .b = b, .s = s, .steps = INT64_C(8), .grain = 1, .portions = 0}, threads); else k_batch_norm_of_images_nest1(b, s, 0, INT64_C(8), 0);
  all[6] = aligned_alloc(64, (INT64_C(8)*4 + 127) & ~INT64_C(63));
  if (!all[6]) {
    missing = 1;
    goto done;
  }
  k_batch_norm_of_images_nest2(b, s, 0, INT64_C(8), 0);
  free(all[5]);
  all[5] = 0;
  k_batch_norm_of_images_nest3(b, s, 0, INT64_C(3), 0);
  free(all[4]);
  all[4] = 0;
  free(all[6]);
  all[6] = 0;
  goto done;
  done:
  free(all[4]);
  free(all[5]);
  free(all[6]);
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
