/* A transpose of a block of LANES × LANES elements in registers. */
#ifndef MS_FUSION_LANE_TRANSPOSE_H
#define MS_FUSION_LANE_TRANSPOSE_H

#include "vector_math.h"

/* Transposes LANES vectors of LANES elements in registers. */
static inline __attribute__((always_inline)) void transpose_lanes(f32v rows[LANES]) {
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC unroll 4
  for (int distance = LANES / 2; distance; distance /= 2) {
    i32v low, high;
#pragma GCC unroll 16
    for (int lane = 0; lane < LANES; lane++) {
      low[lane] = lane & distance ? LANES + lane - distance : lane;
      high[lane] = lane & distance ? LANES + lane : lane + distance;
    }
#pragma GCC unroll 16
    for (int i = 0; i < LANES; i++)
      if (!(i & distance)) {
        const f32v first = rows[i], second = rows[i + distance];
        rows[i] = __builtin_shuffle(first, second, low);
        rows[i + distance] = __builtin_shuffle(first, second, high);
      }
  }
#else
  float all[LANES][LANES], turned[LANES][LANES];
  for (int i = 0; i < LANES; i++) f32_store(all[i], rows[i]);
  for (int i = 0; i < LANES; i++)
    for (int j = 0; j < LANES; j++) turned[j][i] = all[i][j];
  for (int i = 0; i < LANES; i++) rows[i] = f32_load(turned[i]);
#endif
}

#endif
