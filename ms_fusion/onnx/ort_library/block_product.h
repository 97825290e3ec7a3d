/* The inner loop of matrix products: a block of sums stays in registers. */
#ifndef MS_FUSION_BLOCK_PRODUCT_H
#define MS_FUSION_BLOCK_PRODUCT_H

#include <stdint.h>
#include "vector_math.h"

#define INLINED static inline __attribute__((always_inline))

/* The rows of a block are at most PRODUCT_ROWS, for which all sums fit into registers. */
enum { PRODUCT_ROWS_MAX = 14, PRODUCT_VECTORS = 2, PRODUCT_ROWS = LANES == 16 ? PRODUCT_ROWS_MAX : 6 };

/* X(rows, v) for each number of rows of a block. */
#if LANES == 16
#define EACH_ROWS(X, v) X(1, v) X(2, v) X(3, v) X(4, v) X(5, v) X(6, v) X(7, v) X(8, v) X(9, v) X(10, v) X(11, v) X(12, v) X(13, v) X(14, v)
#else
#define EACH_ROWS(X, v) X(1, v) X(2, v) X(3, v) X(4, v) X(5, v) X(6, v)
#endif

/* Number of blocks of `rows` rows. Block i of n begins with row `rows * i / n`, so that the sizes of
 * the blocks differ by at most one. */
static inline int64_t blocks_of_rows(int64_t rows) { return (rows + PRODUCT_ROWS - 1) / PRODUCT_ROWS; }

/* The scalars of a block: addresses of the first of each PRODUCT_GROUP rows, so that few registers
 * hold the addresses of all rows. */
enum { PRODUCT_GROUP = 5, PRODUCT_GROUPS = (PRODUCT_ROWS_MAX + PRODUCT_GROUP - 1) / PRODUCT_GROUP };
struct block_rows {
  const float *first[PRODUCT_GROUPS];
  int64_t distance;
};

INLINED struct block_rows rows_of_block(const float *scalars, int64_t distance, const int rows) {
  struct block_rows all = {.distance = distance};
#pragma GCC unroll 3
  for (int group = 0; group * PRODUCT_GROUP < rows; group++) {
    all.first[group] = scalars + group * PRODUCT_GROUP * distance;
    __asm__("" : "+r"(all.first[group])); /* the compiler must not derive one from another */
  }
  return all;
}

INLINED void move_rows(struct block_rows *all, int64_t step_distance, const int rows) {
#pragma GCC unroll 3
  for (int group = 0; group * PRODUCT_GROUP < rows; group++) all->first[group] += step_distance;
}

/* sums[row][vector] += scalar of the row · columns[vector] */
INLINED void multiply_step(f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS], const struct block_rows *all, const float *columns,
                           const int rows, const int vectors) {
  f32v column[PRODUCT_VECTORS];
#pragma GCC unroll 2
  for (int i = 0; i < vectors; i++) column[i] = f32_load(columns + i * LANES);
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++) {
    const f32v scalar = f32_splat(all->first[row / PRODUCT_GROUP][row % PRODUCT_GROUP * all->distance]);
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) sums[row][i] = f32_fma(scalar, column[i], sums[row][i]);
  }
}

/* sums[row][vector] += Σ over steps of scalars[row] · columns[vector]. A row is `row_distance`
 * apart from the next one, a step of the scalars `step_distance` and of the columns
 * `column_distance`. */
INLINED void multiply_block(f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS], const float *scalars, int64_t row_distance,
                            int64_t step_distance, const float *columns, int64_t column_distance, int64_t steps,
                            const int rows, const int vectors) {
  struct block_rows all = rows_of_block(scalars, row_distance, rows);
  for (int64_t step = 0; step < steps; step++) {
    multiply_step(sums, &all, columns, rows, vectors);
    move_rows(&all, step_distance, rows);
    columns += column_distance;
  }
}

#endif
