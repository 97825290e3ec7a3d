#include "vector_math.h"
#include "runtime.h"
static void k_scale_mask_softmax_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  uint16_t *p0 = (uint16_t *)b[0];
  uint8_t *p1 = (uint8_t *)b[1];
  uint16_t *p2 = (uint16_t *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  _Alignas(64) float row43[9];
  _Alignas(64) float row9[9];
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(3); i1++) {
      for (int64_t i2 = 0; i2 < INT64_C(9); i2++) {
        f32v a0 = SPLAT(f32v, -__builtin_inff());
        f32v a1 = SPLAT(f32v, -__builtin_inff());
        f32v a2 = SPLAT(f32v, -__builtin_inff());
        f32v a3 = SPLAT(f32v, -__builtin_inff());
        {
          int64_t i4 = 0;
          for (; i4 + 4*LANES <= INT64_C(9); i4 += 4*LANES) {
            {
              const u8v v4 = u8_load(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v5 = __builtin_convertvector((v4 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v6 = f16_load(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v7 = (v6 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v8 = f32_select(v5, v7, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row9 + i4, v8);
              a0 = f32_above(v8, a0);
            }
            {
              const int64_t i4_1 = i4 + 1*LANES;
              const u8v v10 = u8_load(p1 + i4_1 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v11 = __builtin_convertvector((v10 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v12 = f16_load(p0 + i4_1 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v13 = (v12 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v14 = f32_select(v11, v13, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row9 + i4_1, v14);
              a1 = f32_above(v14, a1);
            }
            {
              const int64_t i4_2 = i4 + 2*LANES;
              const u8v v15 = u8_load(p1 + i4_2 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v16 = __builtin_convertvector((v15 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v17 = f16_load(p0 + i4_2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v18 = (v17 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v19 = f32_select(v16, v18, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row9 + i4_2, v19);
              a2 = f32_above(v19, a2);
            }
            {
              const int64_t i4_3 = i4 + 3*LANES;
              const u8v v20 = u8_load(p1 + i4_3 + INT64_C(81)*i0 + INT64_C(9)*i2);
              const i32v v21 = __builtin_convertvector((v20 != SPLAT(u8v, UINT64_C(0))), i32v);
              const f32v v22 = f16_load(p0 + i4_3 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
              const f32v v23 = (v22 * SPLAT(f32v, 0x1.0000000000000p-3f));
              const f32v v24 = f32_select(v21, v23, SPLAT(f32v, -0x1.3880000000000p+13f));
              f32_store(row9 + i4_3, v24);
              a3 = f32_above(v24, a3);
            }
          }
          for (; i4 + LANES <= INT64_C(9); i4 += LANES) {
            const u8v v25 = u8_load(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2);
            const i32v v26 = __builtin_convertvector((v25 != SPLAT(u8v, UINT64_C(0))), i32v);
            const f32v v27 = f16_load(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2);
            const f32v v28 = (v27 * SPLAT(f32v, 0x1.0000000000000p-3f));
            const f32v v29 = f32_select(v26, v28, SPLAT(f32v, -0x1.3880000000000p+13f));
            f32_store(row9 + i4, v29);
            a0 = f32_above(v29, a0);
          }
          if (i4 < INT64_C(9)) {
            const int i4_rest = (int)(INT64_C(9) - i4);
            const u8v v30 = u8_load_part(p1 + i4 + INT64_C(81)*i0 + INT64_C(9)*i2, i4_rest);
            const i32v v31 = __builtin_convertvector((v30 != SPLAT(u8v, UINT64_C(0))), i32v);
            const f32v v32 = f16_load_part(p0 + i4 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2, i4_rest);
            const f32v v33 = (v32 * SPLAT(f32v, 0x1.0000000000000p-3f));
            const f32v v34 = f32_select(v31, v33, SPLAT(f32v, -0x1.3880000000000p+13f));
            f32_store_part(row9 + i4, v34, i4_rest);
            a0 = f32_above(f32_select(lanes_below(i4_rest), v34, SPLAT(f32v, -__builtin_inff())), a0);
          }
        }
        const f32v v35 = SPLAT(f32v, f32_max(f32_max_so_far(f32_max_so_far(f32_max_so_far(a0, a1), a2), a3)));
        f32v a36 = SPLAT(f32v, 0x0.0p+0f);
        f32v a37 = SPLAT(f32v, 0x0.0p+0f);
        f32v a38 = SPLAT(f32v, 0x0.0p+0f);
        f32v a39 = SPLAT(f32v, 0x0.0p+0f);
        {
          int64_t i5 = 0;
          for (; i5 + 4*LANES <= INT64_C(9); i5 += 4*LANES) {
            {
              const f32v v40 = f32_load(row9 + i5);
              const f32v v41 = (v40 - v35);
              const f32v v42 = f32_exp_to_half(v41);
              f32_store(row43 + i5, v42);
              a36 = (a36 + v42);
            }
            {
              const int64_t i5_1 = i5 + 1*LANES;
              const f32v v44 = f32_load(row9 + i5_1);
              const f32v v45 = (v44 - v35);
              const f32v v46 = f32_exp_to_half(v45);
              f32_store(row43 + i5_1, v46);
              a37 = (a37 + v46);
            }
            {
              const int64_t i5_2 = i5 + 2*LANES;
              const f32v v47 = f32_load(row9 + i5_2);
              const f32v v48 = (v47 - v35);
              const f32v v49 = f32_exp_to_half(v48);
              f32_store(row43 + i5_2, v49);
              a38 = (a38 + v49);
            }
            {
              const int64_t i5_3 = i5 + 3*LANES;
              const f32v v50 = f32_load(row9 + i5_3);
              const f32v v51 = (v50 - v35);
              const f32v v52 = f32_exp_to_half(v51);
              f32_store(row43 + i5_3, v52);
              a39 = (a39 + v52);
            }
          }
          for (; i5 + LANES <= INT64_C(9); i5 += LANES) {
            const f32v v53 = f32_load(row9 + i5);
            const f32v v54 = (v53 - v35);
            const f32v v55 = f32_exp_to_half(v54);
            f32_store(row43 + i5, v55);
            a36 = (a36 + v55);
          }
          if (i5 < INT64_C(9)) {
            const int i5_rest = (int)(INT64_C(9) - i5);
            const f32v v56 = f32_load_part(row9 + i5, i5_rest);
            const f32v v57 = (v56 - v35);
            const f32v v58 = f32_exp_to_half(v57);
            f32_store_part(row43 + i5, v58, i5_rest);
            a36 = (a36 + f32_select(lanes_below(i5_rest), v58, SPLAT(f32v, 0x0.0p+0f)));
          }
        }
        const f32v v59 = SPLAT(f32v, f32_sum((((a36 + a37) + a38) + a39)));
        const f32v v61 = f32_rec(v59);
        const int v62 = f32_is_far(v61);
        {
          int64_t i3 = 0;
          for (; i3 + LANES <= INT64_C(9); i3 += LANES) {
            const f32v v60 = f32_load(row43 + i3);
            const f32v v63 = f32_nearly_over(v60, v59, v61, v62);
            const f32v v64 = f32_round_f16(v63);
            f16_store(p2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2 + i3, v64);
          }
          if (i3 < INT64_C(9)) {
            const int i3_rest = (int)(INT64_C(9) - i3);
            const f32v v65 = f32_load_part(row43 + i3, i3_rest);
            const f32v v66 = f32_nearly_over(v65, v59, v61, v62);
            const f32v v67 = f32_round_f16(v66);
            f16_store_part(p2 + INT64_C(243)*i0 + INT64_C(81)*i1 + INT64_C(9)*i2 + i3, v67, i3_rest);
          }
        }
      }
    }
  }
}
static void k_scale_mask_softmax_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own; k_scale_mask_softmax_nest0(nest->b, nest->s, begin, end, 0);
}
int k_scale_mask_softmax(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && (INT64_C(486)) + (INT64_C(162)) + (INT64_C(486)) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_scale_mask_softmax_nest0_part, .b = b, .s = s, .steps = INT64_C(2), .grain = 1, .portions = 0}, threads);
  else k_scale_mask_softmax_nest0(b, s, INT64_C(0), INT64_C(2), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
