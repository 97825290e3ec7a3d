#include "vector_math.h"
#include "runtime.h"
static void k_scale_mask_softmax_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint8_t *p1 = (uint8_t *)b[1];
  uint16_t *p2 = (uint16_t *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row0[9];
  _Alignas(64) float row1[9];
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
              f32_store(row0 + i4, v5);
              a0 = f32_above(v5, a0);
            }
            {
              const int64_t i4_1 = i4 + 1*LANES;
              const u8v v1 = u8_load(p1 + i4_1 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v3 = f16_load(p0 + i4_1 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row0 + i4_1, v5);
              a0_1 = f32_above(v5, a0_1);
            }
            {
              const int64_t i4_2 = i4 + 2*LANES;
              const u8v v1 = u8_load(p1 + i4_2 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v3 = f16_load(p0 + i4_2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row0 + i4_2, v5);
              a0_2 = f32_above(v5, a0_2);
            }
            {
              const int64_t i4_3 = i4 + 3*LANES;
              const u8v v1 = u8_load(p1 + i4_3 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v3 = f16_load(p0 + i4_3 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row0 + i4_3, v5);
              a0_3 = f32_above(v5, a0_3);
            }
          }
          for (; i4 + LANES <= INT64_C(9); i4 += LANES) {
            const u8v v1 = u8_load(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2);
            const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
            const f32v v3 = f16_load(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
            const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
            const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
            f32_store(row0 + i4, v5);
            a0 = f32_above(v5, a0);
          }
          if (i4 < INT64_C(9)) {
            const int i4_rest = (int)(INT64_C(9) - i4);
            const u8v v1 = u8_load_part(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2, i4_rest);
            const i32v v2 = __builtin_convertvector((v1 != SPLAT(u8v, UINT64_C(0))), i32v);
            const f32v v3 = f16_load_part(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2, i4_rest);
            const f32v v4 = (v3 * SPLAT(f32v, 0x1.0000000000000p-3f));
            const f32v v5 = f32_select(v2, v4, SPLAT(f32v, -0x1.3880000000000p+13f));
            f32_store_part(row0 + i4, v5, i4_rest);
            a0 = f32_above(f32_select(lanes_below(i4_rest), v5, SPLAT(f32v, -__builtin_inff())), a0);
          }
        }
        const f32v v6 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a0, a0_1), a0_2), a0_3)));
        f32v a7 = SPLAT(f32v, 0x0.0p+0f);
        f32v a7_1 = SPLAT(f32v, 0x0.0p+0f);
        f32v a7_2 = SPLAT(f32v, 0x0.0p+0f);
        f32v a7_3 = SPLAT(f32v, 0x0.0p+0f);
        {
          int64_t i5 = 0;
          for (; i5 + 4*LANES <= INT64_C(9); i5 += 4*LANES) {
            {
              const f32v v12 = f32_load(row0 + i5);
              const f32v v13 = (v12 - v6);
              const f32v v14 = f32_exp_to_half(v13);
              f32_store(row1 + i5, v14);
              a7 = (a7 + v14);
            }
            {
              const int64_t i5_1 = i5 + 1*LANES;
              const f32v v12 = f32_load(row0 + i5_1);
              const f32v v13 = (v12 - v6);
              const f32v v14 = f32_exp_to_half(v13);
              f32_store(row1 + i5_1, v14);
              a7_1 = (a7_1 + v14);
            }
            {
              const int64_t i5_2 = i5 + 2*LANES;
              const f32v v12 = f32_load(row0 + i5_2);
              const f32v v13 = (v12 - v6);
              const f32v v14 = f32_exp_to_half(v13);
              f32_store(row1 + i5_2, v14);
              a7_2 = (a7_2 + v14);
            }
            {
              const int64_t i5_3 = i5 + 3*LANES;
              const f32v v12 = f32_load(row0 + i5_3);
              const f32v v13 = (v12 - v6);
              const f32v v14 = f32_exp_to_half(v13);
              f32_store(row1 + i5_3, v14);
              a7_3 = (a7_3 + v14);
            }
          }
          for (; i5 + LANES <= INT64_C(9); i5 += LANES) {
            const f32v v12 = f32_load(row0 + i5);
            const f32v v13 = (v12 - v6);
            const f32v v14 = f32_exp_to_half(v13);
            f32_store(row1 + i5, v14);
            a7 = (a7 + v14);
          }
          if (i5 < INT64_C(9)) {
            const int i5_rest = (int)(INT64_C(9) - i5);
            const f32v v12 = f32_load_part(row0 + i5, i5_rest);
            const f32v v13 = (v12 - v6);
            const f32v v14 = f32_exp_to_half(v13);
            f32_store_part(row1 + i5, v14, i5_rest);
            a7 = (a7 + f32_select(lanes_below(i5_rest), v14, SPLAT(f32v, 0x0.0p+0f)));
          }
        }
        const f32v v15 = SPLAT(f32v, f32_sum((((a7 + a7_1) + a7_2) + a7_3)));
        const f32v v23 = f32_rec(v15);
        const int v24 = f32_is_far(v23);
        {
          int64_t i3 = 0;
          for (; i3 + LANES <= INT64_C(9); i3 += LANES) {
            const f32v v22 = f32_load(row1 + i3);
            const f32v v25 = f32_nearly_over(v22, v15, v23, v24);
            const f32v v26 = f32_round_f16(v25);
            f16_store(p2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2 + i3, v26);
          }
          if (i3 < INT64_C(9)) {
            const int i3_rest = (int)(INT64_C(9) - i3);
            const f32v v22 = f32_load_part(row1 + i3, i3_rest);
            const f32v v25 = f32_nearly_over(v22, v15, v23, v24);
            const f32v v26 = f32_round_f16(v25);
            f16_store_part(p2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2 + i3, v26, i3_rest);
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
