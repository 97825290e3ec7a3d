#include "vector_math.h"
#include "runtime.h"
static void k_scale_mask_softmax_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint8_t *p1 = (uint8_t *)b[1];
  uint16_t *p2 = (uint16_t *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row12[9];
  _Alignas(64) float row6[9];
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(3); i1++) {
      for (int64_t i2 = 0; i2 < INT64_C(9); i2++) {
        f32v a0 = SPLAT(f32v, -__builtin_inff());
        f32v a0_1 = SPLAT(f32v, -__builtin_inff());
        f32v a0_2 = SPLAT(f32v, -__builtin_inff());
        f32v a0_3 = SPLAT(f32v, -__builtin_inff());
        {
          int64_t i4 = 0;
          for (; i4 + 4*LANES <= INT64_C(9); i4 += 4*LANES) {
            {
              const u8v v1 = u8_load(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v3 = f16_load(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row6 + i4, v5);
              a0 = f32_above(v5, a0);
            }
            {
              const int64_t i4_1 = i4 + 1*LANES;
              const u8v v1 = u8_load(p1 + i4_1 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v3 = f16_load(p0 + i4_1 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row6 + i4_1, v5);
              a0_1 = f32_above(v5, a0_1);
            }
            {
              const int64_t i4_2 = i4 + 2*LANES;
              const u8v v1 = u8_load(p1 + i4_2 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v3 = f16_load(p0 + i4_2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row6 + i4_2, v5);
              a0_2 = f32_above(v5, a0_2);
            }
            {
              const int64_t i4_3 = i4 + 3*LANES;
              const u8v v1 = u8_load(p1 + i4_3 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v3 = f16_load(p0 + i4_3 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row6 + i4_3, v5);
              a0_3 = f32_above(v5, a0_3);
            }
          }
          for (; i4 + LANES <= INT64_C(9); i4 += LANES) {
            const u8v v1 = u8_load(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2);
            const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
            const f32v v3 = f16_load(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
            const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
            const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
            f32_store(row6 + i4, v5);
            a0 = f32_above(v5, a0);
          }
          if (i4 < INT64_C(9)) {
            const int i4_rest = (int)(INT64_C(9) - i4);
            const u8v v1 = u8_load_part(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2, i4_rest);
            const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
            const f32v v3 = f16_load_part(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2, i4_rest);
            const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
            const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
            f32_store_part(row6 + i4, v5, i4_rest);
            a0 = f32_above(f32_select(lanes_below(i4_rest), v5, SPLAT(f32v, -__builtin_inff())), a0);
          }
        }
        const f32v v7 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a0, a0_1), a0_2), a0_3)));
        f32v a8 = SPLAT(f32v, 0x0.0p+0f);
        f32v a8_1 = SPLAT(f32v, 0x0.0p+0f);
        f32v a8_2 = SPLAT(f32v, 0x0.0p+0f);
        f32v a8_3 = SPLAT(f32v, 0x0.0p+0f);
        {
          int64_t i5 = 0;
          for (; i5 + 4*LANES <= INT64_C(9); i5 += 4*LANES) {
            {
              const f32v v9 = f32_load(row6 + i5);
              const f32v v10 = (v9 - v7);
              const f32v v11 = f32_exp_to_half(v10);
              f32_store(row12 + i5, v11);
              a8 = (a8 + v11);
            }
            {
              const int64_t i5_1 = i5 + 1*LANES;
              const f32v v9 = f32_load(row6 + i5_1);
              const f32v v10 = (v9 - v7);
              const f32v v11 = f32_exp_to_half(v10);
              f32_store(row12 + i5_1, v11);
              a8_1 = (a8_1 + v11);
            }
            {
              const int64_t i5_2 = i5 + 2*LANES;
              const f32v v9 = f32_load(row6 + i5_2);
              const f32v v10 = (v9 - v7);
              const f32v v11 = f32_exp_to_half(v10);
              f32_store(row12 + i5_2, v11);
              a8_2 = (a8_2 + v11);
            }
            {
              const int64_t i5_3 = i5 + 3*LANES;
              const f32v v9 = f32_load(row6 + i5_3);
              const f32v v10 = (v9 - v7);
              const f32v v11 = f32_exp_to_half(v10);
              f32_store(row12 + i5_3, v11);
              a8_3 = (a8_3 + v11);
            }
          }
          for (; i5 + LANES <= INT64_C(9); i5 += LANES) {
            const f32v v9 = f32_load(row6 + i5);
            const f32v v10 = (v9 - v7);
            const f32v v11 = f32_exp_to_half(v10);
            f32_store(row12 + i5, v11);
            a8 = (a8 + v11);
          }
          if (i5 < INT64_C(9)) {
            const int i5_rest = (int)(INT64_C(9) - i5);
            const f32v v9 = f32_load_part(row6 + i5, i5_rest);
            const f32v v10 = (v9 - v7);
            const f32v v11 = f32_exp_to_half(v10);
            f32_store_part(row12 + i5, v11, i5_rest);
            a8 = (a8 + f32_select(lanes_below(i5_rest), v11, SPLAT(f32v, 0x0.0p+0f)));
          }
        }
        const f32v v13 = SPLAT(f32v, f32_sum((((a8 + a8_1) + a8_2) + a8_3)));
        const f32v v15 = f32_rec(v13);
        const int v16 = f32_is_far(v15);
        {
          int64_t i3 = 0;
          for (; i3 + LANES <= INT64_C(9); i3 += LANES) {
            const f32v v14 = f32_load(row12 + i3);
            const f32v v17 = f32_nearly_over(v14, v13, v15, v16);
            const f32v v18 = f32_round_f16(v17);
            f16_store(p2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2 + i3, v18);
          }
          if (i3 < INT64_C(9)) {
            const int i3_rest = (int)(INT64_C(9) - i3);
            const f32v v14 = f32_load_part(row12 + i3, i3_rest);
            const f32v v17 = f32_nearly_over(v14, v13, v15, v16);
            const f32v v18 = f32_round_f16(v17);
            f16_store_part(p2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2 + i3, v18, i3_rest);
          }
        }
      }
    }
  }
}
static void k_scale_mask_softmax_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_scale_mask_softmax_nest0(nest->b, nest->s, begin, end, 0);
}
int k_scale_mask_softmax(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(486) + INT64_C(162) + INT64_C(486) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_scale_mask_softmax_nest0_part, .b = b, .s = s, .steps = INT64_C(2), .grain = 1, .portions = 0}, threads); else k_scale_mask_softmax_nest0(b, s, 0, INT64_C(2), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
