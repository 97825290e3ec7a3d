#include "vector_math.h"
#include "runtime.h"
static void k_largest_of_windows_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0 = begin; i0 < end; i0++) {
    for (int64_t i1 = 0; i1 < INT64_C(4); i1++) {
      {
        int64_t i2 = 0;
        for (; i2 + 4 <= INT64_C(9); i2 += 4) {
          f32v a0 = SPLAT(f32v, -__builtin_inff());
          f32v a0_r1 = SPLAT(f32v, -__builtin_inff());
          f32v a0_r2 = SPLAT(f32v, -__builtin_inff());
          f32v a0_r3 = SPLAT(f32v, -__builtin_inff());
          for (int64_t i3 = 0; i3 < INT64_C(2); i3++) {
            {
              int64_t i4 = 0;
              if (i4 < INT64_C(2)) {
                const int i4_rest = (int)(INT64_C(2) - i4);
                const f32v v1 = f32_load_part(p0 + INT64_C(18)*i3 + i4 + INT64_C(144)*i0 + INT64_C(36)*i1 + INT64_C(2)*i2, i4_rest);
                a0 = f32_max_so_far(a0, f32_select(lanes_below(i4_rest), v1, SPLAT(f32v, -__builtin_inff())));
                const f32v v1_r1 = f32_load_part(p0 + INT64_C(18)*i3 + i4 + INT64_C(144)*i0 + INT64_C(36)*i1 + INT64_C(2)*i2 + INT64_C(2), i4_rest);
                a0_r1 = f32_max_so_far(a0_r1, f32_select(lanes_below(i4_rest), v1_r1, SPLAT(f32v, -__builtin_inff())));
                const f32v v1_r2 = f32_load_part(p0 + INT64_C(18)*i3 + i4 + INT64_C(144)*i0 + INT64_C(36)*i1 + INT64_C(2)*i2 + INT64_C(4), i4_rest);
                a0_r2 = f32_max_so_far(a0_r2, f32_select(lanes_below(i4_rest), v1_r2, SPLAT(f32v, -__builtin_inff())));
                const f32v v1_r3 = f32_load_part(p0 + INT64_C(18)*i3 + i4 + INT64_C(144)*i0 + INT64_C(36)*i1 + INT64_C(2)*i2 + INT64_C(6), i4_rest);
                a0_r3 = f32_max_so_far(a0_r3, f32_select(lanes_below(i4_rest), v1_r3, SPLAT(f32v, -__builtin_inff())));
              }
            }
          }
          const f32v v2 = SPLAT(f32v, f32_max(a0));
          const f32v v2_r1 = SPLAT(f32v, f32_max(a0_r1));
          const f32v v2_r2 = SPLAT(f32v, f32_max(a0_r2));
          const f32v v2_r3 = SPLAT(f32v, f32_max(a0_r3));
          f32_store_part(p1 + INT64_C(36)*i0 + INT64_C(9)*i1 + i2, v2, 1);
          f32_store_part(p1 + INT64_C(36)*i0 + INT64_C(9)*i1 + i2 + INT64_C(1), v2_r1, 1);
          f32_store_part(p1 + INT64_C(36)*i0 + INT64_C(9)*i1 + i2 + INT64_C(2), v2_r2, 1);
          f32_store_part(p1 + INT64_C(36)*i0 + INT64_C(9)*i1 + i2 + INT64_C(3), v2_r3, 1);
        }
        for (; i2 < INT64_C(9); i2++) {
          f32v a0 = SPLAT(f32v, -__builtin_inff());
          for (int64_t i3 = 0; i3 < INT64_C(2); i3++) {
            {
              int64_t i4 = 0;
              if (i4 < INT64_C(2)) {
                const int i4_rest = (int)(INT64_C(2) - i4);
                const f32v v1 = f32_load_part(p0 + INT64_C(18)*i3 + i4 + INT64_C(144)*i0 + INT64_C(36)*i1 + INT64_C(2)*i2, i4_rest);
                a0 = f32_max_so_far(a0, f32_select(lanes_below(i4_rest), v1, SPLAT(f32v, -__builtin_inff())));
              }
            }
          }
          const f32v v2 = SPLAT(f32v, f32_max(a0));
          f32_store_part(p1 + INT64_C(36)*i0 + INT64_C(9)*i1 + i2, v2, 1);
        }
      }
    }
  }
}
int k_largest_of_windows(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_largest_of_windows_nest0(b, s, 0, INT64_C(2), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
