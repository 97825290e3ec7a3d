/* The inner loop of matrix products: a block of sums stays in registers. */
#ifndef MS_FUSION_BLOCK_PRODUCT_H
#define MS_FUSION_BLOCK_PRODUCT_H

#include <stdint.h>
#include "vector_math.h"

#define INLINED static inline __attribute__((always_inline))

enum { PRODUCT_ROWS_MAX = 14, PRODUCT_VECTORS = 2 };

/* sums[row][vector] += Σ over steps of scalars[row] · columns[vector]. A row is `row_distance`
 * apart from the next one, a step of the scalars `step_distance` and of the columns
 * `column_distance`. */
INLINED void multiply_block(f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS], const float *scalars, int64_t row_distance,
                            int64_t step_distance, const float *columns, int64_t column_distance, int64_t steps,
                            const int rows, const int vectors) {
  for (int64_t step = 0; step < steps; step++) {
    f32v column[PRODUCT_VECTORS];
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) column[i] = f32_load(columns + step * column_distance + i * LANES);
#pragma GCC unroll 14
    for (int row = 0; row < rows; row++) {
      const f32v scalar = f32_splat(scalars[row * row_distance + step * step_distance]);
#pragma GCC unroll 2
      for (int i = 0; i < vectors; i++) sums[row][i] = f32_fma(scalar, column[i], sums[row][i]);
    }
  }
}

#endif
