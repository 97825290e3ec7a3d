#include "vector_math.h"
#include "runtime.h"
static void k_schedule_tiles_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, char *rows) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  float *m0 = (float *)rows;
  float *m1 = (float *)(rows + ((INT64_C(128)*4 + 63) & ~INT64_C(63)));
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0_block8 = begin; i0_block8 < end; i0_block8 += 8) {
    const int64_t i0_block8_end = least(i0_block8 + 8, end);
    for (int64_t i2_block16 = 0; i2_block16 < INT64_C(37); i2_block16 += 16) {
      const int64_t i2_block16_end = least(i2_block16 + 16, INT64_C(37));
      for (int64_t i0 = i0_block8; i0 < i0_block8_end; i0++) {
        {
          int64_t i2 = i2_block16;
          for (; i2 + LANES <= i2_block16_end; i2 += LANES) {
            f32_store(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2, SPLAT(f32v, 0x0.0p+0f));
          }
          if (i2 < i2_block16_end) {
            const int i2_rest = (int)(i2_block16_end - i2);
            f32_store_part(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2, SPLAT(f32v, 0x0.0p+0f), i2_rest);
          }
        }
      }
      for (int64_t i1_block4 = 0; i1_block4 < INT64_C(20); i1_block4 += 4) {
        const int64_t i1_block4_end = least(i1_block4 + 4, INT64_C(20));
        for (int64_t i3 = i0_block8; i3 < least(i0_block8 + INT64_C(8), INT64_C(24)); i3++) {
          {
            int64_t i4 = i1_block4;
            for (; i4 + LANES <= least(i1_block4 + INT64_C(4), INT64_C(20)); i4 += LANES) {
              const f32v v0 = f32_load(p0 + INT64_C(20)*i3 + i4);
              const f32v v1 = (v0 + v0);
              f32_store(m1 + INT64_C(-4)*i0_block8 + INT64_C(-1)*i1_block4 + INT64_C(4)*i3 + i4, v1);
            }
            if (i4 < least(i1_block4 + INT64_C(4), INT64_C(20))) {
              const int i4_rest = (int)(least(i1_block4 + INT64_C(4), INT64_C(20)) - i4);
              const f32v v0 = f32_load_part(p0 + INT64_C(20)*i3 + i4, i4_rest);
              const f32v v1 = (v0 + v0);
              f32_store_part(m1 + INT64_C(-4)*i0_block8 + INT64_C(-1)*i1_block4 + INT64_C(4)*i3 + i4, v1, i4_rest);
            }
          }
        }
        for (int64_t i0 = i0_block8; i0 < i0_block8_end; i0++) {
          for (int64_t i1 = i1_block4; i1 < i1_block4_end; i1++) {
            const f32v v2 = f32_one(m1 + INT64_C(-4)*i0_block8 + INT64_C(-1)*i1_block4 + i1 + INT64_C(4)*i0);
            {
              int64_t i2 = i2_block16;
              for (; i2 + LANES <= i2_block16_end; i2 += LANES) {
                const f32v v3 = f32_load(p1 + INT64_C(37)*i1 + i2);
                const f32v v4 = (v2 * v3);
                f32_store(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2, (f32_load(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2) + v4));
              }
              if (i2 < i2_block16_end) {
                const int i2_rest = (int)(i2_block16_end - i2);
                const f32v v3 = f32_load_part(p1 + INT64_C(37)*i1 + i2, i2_rest);
                const f32v v4 = (v2 * v3);
                f32_store_part(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2, (f32_load_part(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2, i2_rest) + v4), i2_rest);
              }
            }
          }
        }
      }
      for (int64_t i0 = i0_block8; i0 < i0_block8_end; i0++) {
        {
          int64_t i2 = i2_block16;
          for (; i2 + LANES <= i2_block16_end; i2 += LANES) {
            const f32v v5 = f32_load(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2);
            f32_store(p2 + INT64_C(37)*i0 + i2, v5);
          }
          if (i2 < i2_block16_end) {
            const int i2_rest = (int)(i2_block16_end - i2);
            const f32v v5 = f32_load_part(m0 + INT64_C(-1)*i2_block16 + INT64_C(-16)*i0_block8 + INT64_C(16)*i0 + i2, i2_rest);
            f32_store_part(p2 + INT64_C(37)*i0 + i2, v5, i2_rest);
          }
        }
      }
    }
  }
}
static void k_schedule_tiles_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  k_schedule_tiles_nest0(nest->b, nest->s, begin, end, own);
}
int k_schedule_tiles(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  {
    const int64_t row_bytes = ((INT64_C(128)*4 + 63) & ~INT64_C(63)) + ((INT64_C(32)*4 + 63) & ~INT64_C(63)) + 64;
    char *rows = aligned_alloc(64, (threads > 1 ? threads : 1)*row_bytes);
    if (!rows) {
      missing = 1;
      goto done;
    }
    if (threads > 1 && INT64_C(480) + INT64_C(740) + INT64_C(888) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_schedule_tiles_nest0_part, .b = b, .s = s, .steps = INT64_C(24), .grain = 8, .portions = 0, .own = rows, .own_bytes = row_bytes}, threads); else k_schedule_tiles_nest0(b, s, 0, INT64_C(24), rows);
    free(rows);
  }
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
