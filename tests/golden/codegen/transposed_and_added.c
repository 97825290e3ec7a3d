#include "vector_math.h"
#include "runtime.h"
static void k_transposed_and_added_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  float *p2 = (float *)b[2];
  (void)b; (void)s; (void)begin; (void)end;
  for (int64_t i0_tile = begin; i0_tile < end; i0_tile += 16) {
    const int64_t i0_tile_end = least(i0_tile + 16, end);
    const int64_t i0_steps = i0_tile_end - i0_tile;
    {
      int64_t i1 = 0;
      for (; i1 + LANES <= INT64_C(17); i1 += LANES) {
        float t0[LANES][16];
        if (i0_steps == 16) for (int l = 0; l < LANES; l++) memcpy(t0[l], p0 + INT64_C(9)*i1 + i0_tile + l*(INT64_C(9)), sizeof t0[l]);
        else for (int l = 0; l < LANES; l++) memcpy(t0[l], p0 + INT64_C(9)*i1 + i0_tile + l*(INT64_C(9)), i0_steps*sizeof(float));
        for (int64_t i0 = i0_tile; i0 < i0_tile_end; i0++) {
          const f32v v0 = f32_gather(&t0[0][i0 - i0_tile], INT64_C(16), LANES);
          const f32v v1 = f32_load(p1 + INT64_C(17)*i0 + i1);
          const f32v v2 = (v0 + v1);
          const f32v v3 = f32_relu(v2);
          f32_store(p2 + INT64_C(17)*i0 + i1, v3);
        }
      }
      if (i1 < INT64_C(17)) {
        const int i1_rest = (int)(INT64_C(17) - i1);
        float t0[LANES][16];
        if (i0_steps == 16) for (int l = 0; l < i1_rest; l++) memcpy(t0[l], p0 + INT64_C(9)*i1 + i0_tile + l*(INT64_C(9)), sizeof t0[l]);
        else for (int l = 0; l < i1_rest; l++) memcpy(t0[l], p0 + INT64_C(9)*i1 + i0_tile + l*(INT64_C(9)), i0_steps*sizeof(float));
        for (int64_t i0 = i0_tile; i0 < i0_tile_end; i0++) {
          const f32v v0 = f32_gather(&t0[0][i0 - i0_tile], INT64_C(16), i1_rest);
          const f32v v1 = f32_load_part(p1 + INT64_C(17)*i0 + i1, i1_rest);
          const f32v v2 = (v0 + v1);
          const f32v v3 = f32_relu(v2);
          f32_store_part(p2 + INT64_C(17)*i0 + i1, v3, i1_rest);
        }
      }
    }
  }
}
static void k_transposed_and_added_nest0_part(const struct shared_nest *nest, int64_t begin, int64_t end, char *own) {
  (void)own;
  k_transposed_and_added_nest0(nest->b, nest->s, begin, end, 0);
}
int k_transposed_and_added(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  if (threads > 1 && INT64_C(153) + INT64_C(153) + INT64_C(153) >= shared_from(524288)) share_nest(&(struct shared_nest){.run = k_transposed_and_added_nest0_part, .b = b, .s = s, .steps = INT64_C(9), .grain = 1, .portions = 0}, threads); else k_transposed_and_added_nest0(b, s, 0, INT64_C(9), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
