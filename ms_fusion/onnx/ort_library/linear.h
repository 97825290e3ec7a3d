/* y = activation(x w + bias) + residual in float32, for constant weights.
 *
 * The weights are packed: panels of LINEAR_PANEL columns, each with all steps of the depth in
 * sequence. The last panel has 8 or 16 columns if these are enough. Missing columns are 0.
 * Bias, activation and residual are applied to a block of y while it is in the L1 cache.
 *
 * The text that includes this header may define LINEAR_ACTIVATION(v), the activation of a vector. */
#ifndef MS_FUSION_LINEAR_H
#define MS_FUSION_LINEAR_H

#ifdef LINEAR_ACTIVATION
#define LINEAR_HAS_ACTIVATION 1
#else
#define LINEAR_HAS_ACTIVATION 0
#define LINEAR_ACTIVATION(v) (v)
#endif

#include <stddef.h>
#include <string.h>
#include "block_product.h"
#include "gelu.h"
#include "thread_pool.h"

/* Rows of a task, steps of the depth in one pass, and bytes of a distance of rows of x that maps the
 * rows of a block to few sets of the L1 cache; such rows are copied. */
enum { LINEAR_PANEL = 32, LINEAR_TASK_ROWS = 56, LINEAR_STEPS = 512, LINEAR_ALIASED = 2048 };
enum { LINEAR_ROWS = LANES == 16 ? PRODUCT_ROWS_MAX : 6, LINEAR_FEW = 2, LINEAR_SPLITS = 4 };
enum { LINEAR_COPY = LINEAR_STEPS + LANES };

struct linear {
  const float *x, *weight, *bias, *residual; /* no residual if it is NULL */
  float *y;
  int64_t rows, depth, columns, column_groups;
};

/* As multiply_block for few rows: the steps are shared among LINEAR_SPLITS sums of each row, whose
 * additions do not wait for each other. */
INLINED void multiply_few_rows(f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS], const float *x, int64_t row_distance,
                               const float *columns, int64_t column_distance, int64_t steps, const int rows,
                               const int vectors) {
  f32v parts[LINEAR_SPLITS][PRODUCT_ROWS_MAX][PRODUCT_VECTORS] = {0};
  int64_t step = 0;
  for (; step + LINEAR_SPLITS <= steps; step += LINEAR_SPLITS)
#pragma GCC unroll 4
    for (int part = 0; part < LINEAR_SPLITS; part++)
      multiply_block(parts[part], x + step + part, row_distance, 1, columns + (step + part) * column_distance,
                     column_distance, 1, rows, vectors);
  multiply_block(sums, x + step, row_distance, 1, columns + step * column_distance, column_distance, steps - step, rows,
                 vectors);
#pragma GCC unroll 2
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++)
      sums[row][i] += (parts[0][row][i] + parts[1][row][i]) + (parts[2][row][i] + parts[3][row][i]);
}

/* y[row][column] = start + Σ over steps; the start is `bias`, or y itself if that is NULL. */
INLINED void multiply_tile(float *y, int64_t y_distance, const float *x, int64_t x_distance, const float *weight,
                           int64_t weight_distance, int64_t steps, const float *bias, const int rows, const int vectors) {
  f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS];
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) sums[row][i] = bias ? f32_load(bias + i * LANES) : f32_load(y + row * y_distance + i * LANES);
  if (rows <= LINEAR_FEW)
    multiply_few_rows(sums, x, x_distance, weight, weight_distance, steps, rows, vectors);
  else
    multiply_block(sums, x, x_distance, 1, weight, weight_distance, steps, rows, vectors);
  /* the addresses are computed again: during the product their registers hold those of x */
  __asm__("" : "+r"(y), "+r"(y_distance));
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) f32_store(y + row * y_distance + i * LANES, sums[row][i]);
}

#if LANES == 16
/* A tile of 8 columns, in vectors of half the size. */
typedef float half_vector __attribute__((vector_size(32)));
typedef float half_vector_at __attribute__((vector_size(32), aligned(4), may_alias));

INLINED half_vector multiply_add_half(half_vector a, half_vector b, half_vector c) {
#if VECTOR_X86
  return __builtin_ia32_vfmaddps256(a, b, c);
#else
  return a * b + c;
#endif
}

INLINED void multiply_half_tile(float *y, int64_t y_distance, const float *x, int64_t x_distance, const float *weight,
                                int64_t steps, const float *bias, const int rows) {
  half_vector sums[PRODUCT_ROWS_MAX];
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++) sums[row] = *(const half_vector_at *)(bias ? bias : y + row * y_distance);
  for (int64_t step = 0; step < steps; step++) {
    const half_vector column = *(const half_vector_at *)(weight + step * 8);
#pragma GCC unroll 14
    for (int row = 0; row < rows; row++)
      sums[row] = multiply_add_half((half_vector){0} + x[row * x_distance + step], column, sums[row]);
  }
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++) *(half_vector_at *)(y + row * y_distance) = sums[row];
}
#endif

typedef void linear_tile(float *, int64_t, const float *, int64_t, const float *, int64_t, int64_t, const float *);
#define TILE(rows, vectors)                                                                                       \
  static __attribute__((noinline)) void linear_tile_##rows##_##vectors(                                           \
      float *y, int64_t y_distance, const float *x, int64_t x_distance, const float *weight,                      \
      int64_t weight_distance, int64_t steps, const float *bias) {                                                \
    multiply_tile(y, y_distance, x, x_distance, weight, weight_distance, steps, bias, rows, vectors);             \
  }
#if LANES == 16
#define EACH_ROWS(X, v) X(1, v) X(2, v) X(3, v) X(4, v) X(5, v) X(6, v) X(7, v) X(8, v) X(9, v) X(10, v) X(11, v) X(12, v) X(13, v) X(14, v)
#else
#define EACH_ROWS(X, v) X(1, v) X(2, v) X(3, v) X(4, v) X(5, v) X(6, v)
#endif
EACH_ROWS(TILE, 1)
EACH_ROWS(TILE, 2)
#undef TILE
#if LANES == 16
#define HALF_TILE(rows, vectors)                                                                                  \
  static __attribute__((noinline)) void linear_half_tile_##rows(                                                  \
      float *y, int64_t y_distance, const float *x, int64_t x_distance, const float *weight,                      \
      int64_t weight_distance, int64_t steps, const float *bias) {                                                \
    multiply_half_tile(y, y_distance, x, x_distance, weight, steps, bias, rows);                                  \
  }
EACH_ROWS(HALF_TILE, 0)
#undef HALF_TILE
#endif

/* y[row][column] += start + Σ over steps for a panel of `width` columns. */
static void multiply_panel(float *y, int64_t y_distance, const float *x, int64_t x_distance, const float *weight,
                           int64_t width, int64_t steps, const float *bias, int64_t rows) {
#define NAME(rows, vectors) linear_tile_##rows##_##vectors,
  static linear_tile *const tiles[] = {EACH_ROWS(NAME, 2)};
  static linear_tile *const narrow[] = {EACH_ROWS(NAME, 1)};
#if LANES == 16
#define HALF_NAME(rows, vectors) linear_half_tile_##rows,
  static linear_tile *const half[] = {EACH_ROWS(HALF_NAME, 0)};
#undef HALF_NAME
  if (width < LANES) {
    half[rows - 1](y, y_distance, x, x_distance, weight, width, steps, bias);
    return;
  }
#endif
  if (width == LANES) {
    narrow[rows - 1](y, y_distance, x, x_distance, weight, width, steps, bias);
    return;
  }
#undef NAME
  for (int64_t column = 0; column < width; column += PRODUCT_VECTORS * LANES)
    tiles[rows - 1](y + column, y_distance, x, x_distance, weight + column, width, steps, bias ? bias + column : NULL);
}
#undef EACH_ROWS

/* y[row] = activation(y[row]) + residual[row] */
INLINED void finish_rows(float *y, int64_t y_distance, const float *residual, int64_t residual_distance, int64_t rows,
                         int64_t width) {
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < width; column += LANES) {
      float *place = y + row * y_distance + column;
      const f32v value = f32_load(place), done = LINEAR_ACTIVATION(value);
      f32_store(place, residual ? done + f32_load(residual + row * residual_distance + column) : done);
    }
}

/* The blocks of rows [first, end) in the columns of a panel whose end is beyond those of y: a buffer
 * holds the panel. */
static void finish_part(const struct linear *l, int64_t first, int64_t end, int64_t column, const float *tile) {
  const size_t bytes = sizeof(float) * (size_t)(l->columns - column);
  float row_residual[LINEAR_PANEL], row_y[LINEAR_PANEL];
  for (int64_t row = first; row < end; row++) {
    const int64_t at = row * l->columns + column;
    memcpy(row_y, tile + (row - first) * LINEAR_PANEL, sizeof row_y);
    if (l->residual) memcpy(row_residual, l->residual + at, bytes);
    finish_rows(row_y, 0, l->residual ? row_residual : NULL, 0, 1, LINEAR_PANEL);
    memcpy(l->y + at, row_y, bytes);
  }
}

/* Number of columns with those that are missing in the last panel. */
static inline int64_t packed_columns(int64_t columns) {
  const int64_t left = columns % LINEAR_PANEL;
  return columns - left + (left == 0 ? 0 : left <= 8 ? 8 : left <= 16 ? 16 : LINEAR_PANEL);
}

static inline int64_t linear_panels(const struct linear *l) { return (l->columns + LINEAR_PANEL - 1) / LINEAR_PANEL; }

static inline int64_t linear_row_tasks(const struct linear *l) { return (l->rows + LINEAR_TASK_ROWS - 1) / LINEAR_TASK_ROWS; }

static void linear_task(void *work, int number, int count) {
  const struct linear *l = work;
  (void)count;
  const int64_t panels = linear_panels(l), group = number % l->column_groups, top = number / l->column_groups * LINEAR_TASK_ROWS;
  const int64_t begin = panels * group / l->column_groups, end = panels * (group + 1) / l->column_groups;
  const int64_t some = l->rows - top < LINEAR_TASK_ROWS ? l->rows - top : LINEAR_TASK_ROWS;
  const int64_t blocks = (some + LINEAR_ROWS - 1) / LINEAR_ROWS;
  const int64_t packed = packed_columns(l->columns);
  float copy[LINEAR_TASK_ROWS * LINEAR_COPY] __attribute__((aligned(64)));
  float part[LINEAR_TASK_ROWS * LINEAR_PANEL] __attribute__((aligned(64)));
  for (int64_t step = 0; step < l->depth; step += LINEAR_STEPS) {
    const int64_t steps = l->depth - step < LINEAR_STEPS ? l->depth - step : LINEAR_STEPS;
    const int is_last = step + steps == l->depth;
    const float *x = l->x + top * l->depth + step;
    int64_t x_distance = l->depth;
    if (x_distance % (LINEAR_ALIASED / (int64_t)sizeof(float)) == 0) {
      for (int64_t row = 0; row < some; row++)
        memcpy(copy + row * LINEAR_COPY, x + row * x_distance, sizeof(float) * (size_t)steps);
      x = copy, x_distance = LINEAR_COPY;
    }
    for (int64_t panel = begin; panel < end; panel++) {
      const int64_t column = panel * LINEAR_PANEL, left = packed - column;
      const int64_t width = left < LINEAR_PANEL ? left : LINEAR_PANEL;
      const float *weight = l->weight + column * l->depth + step * width;
      const int is_whole = column + width <= l->columns && width % LANES == 0;
      float bias[LINEAR_PANEL] = {0};
      if (!step) memcpy(bias, l->bias + column, sizeof(float) * (size_t)(is_whole ? width : l->columns - column));
      for (int64_t block = 0; block < blocks; block++) {
        const int64_t first = some * block / blocks, rows = some * (block + 1) / blocks - first;
        float *y = is_whole ? l->y + (top + first) * l->columns + column : part + first * LINEAR_PANEL;
        const int64_t distance = is_whole ? l->columns : LINEAR_PANEL;
        multiply_panel(y, distance, x + first * x_distance, x_distance, weight, width, steps, step ? NULL : bias, rows);
        if (!is_last) continue;
        if (!is_whole)
          finish_part(l, top + first, top + first + rows, column, y);
        else if (LINEAR_HAS_ACTIVATION || l->residual)
          finish_rows(y, distance, l->residual ? l->residual + (top + first) * l->columns + column : NULL, l->columns, rows, width);
      }
    }
  }
}

/* Runs the tasks. If the rows are too few for all threads, the columns are divided too. */
static inline void multiply_linear(struct linear *l, int64_t threads) {
  const int64_t tasks = linear_row_tasks(l), panels = linear_panels(l);
  l->column_groups = 1;
  while (threads > 1 && tasks * l->column_groups < threads && 2 * l->column_groups <= panels) l->column_groups *= 2;
  share(linear_task, l, threads, tasks * l->column_groups);
}

#endif
