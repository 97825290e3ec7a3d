/* y = activation(x w + bias) + residual in float32, for constant weights.
 *
 * The weights are packed: panels of LINEAR_PANEL columns, each with all steps of the depth in
 * sequence. The last panel has 8, 16, 32 or 40 columns; missing columns are 0. Bias, activation and
 * residual are applied to a block of sums before it is stored in y.
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

/* Columns of a panel and of the widest last panel, largest number of rows of a task, steps of the
 * depth in one pass, and bytes of a distance of rows of x that maps the rows of a block to few sets
 * of the L1 cache; such rows are copied. */
enum { LINEAR_PANEL = 32, LINEAR_WIDEST = 40, LINEAR_TASK_ROWS = 70, LINEAR_STEPS = 512, LINEAR_ALIASED = 2048 };
/* With at most LINEAR_FEW rows, the sums are split. LINEAR_WIDE_ROWS are the rows of a block of
 * LINEAR_WIDEST columns. */
enum { LINEAR_FEW = 2, LINEAR_SPLITS = 4, LINEAR_WIDE_ROWS = LANES == 16 ? 9 : PRODUCT_ROWS };
/* Distances of rows of copies of x and of sums: multiples of a cache line. */
enum { LINEAR_COPY = LINEAR_STEPS + 16, LINEAR_SUMS = 48 };
/* With more than one thread, there are so many tasks for each, or tasks of equal size. */
enum { LINEAR_TASKS = 4 };

struct linear {
  const float *x, *weight, *bias, *residual; /* no residual if it is NULL */
  float *y;
  int64_t rows, depth, columns, row_tasks, column_groups;
};

/* A block of sums: to[row][column] = start[row][column] + Σ over steps of x[row] · weight[column].
 * Each `distance` is that of rows, or of the steps of the weights. */
struct linear_block {
  float *to;
  const float *start, *x, *weight;
  int64_t to_distance, start_distance, x_distance, weight_distance, steps;
  const char *ahead; /* weights of a later block; each step fetches `ahead_bytes` of them */
  int64_t ahead_bytes;
};

/* As multiply_block for few rows: the steps are shared among LINEAR_SPLITS sums of each row, whose
 * additions do not wait for each other. */
INLINED void multiply_few_rows(f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS], const struct linear_block *b, const int rows,
                               const int vectors) {
  f32v parts[LINEAR_SPLITS][PRODUCT_ROWS_MAX][PRODUCT_VECTORS] = {0};
  int64_t step = 0;
  for (; step + LINEAR_SPLITS <= b->steps; step += LINEAR_SPLITS)
#pragma GCC unroll 4
    for (int part = 0; part < LINEAR_SPLITS; part++)
      multiply_block(parts[part], b->x + step + part, b->x_distance, 1, b->weight + (step + part) * b->weight_distance,
                     b->weight_distance, 1, rows, vectors);
  multiply_block(sums, b->x + step, b->x_distance, 1, b->weight + step * b->weight_distance, b->weight_distance,
                 b->steps - step, rows, vectors);
#pragma GCC unroll 2
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++)
      sums[row][i] += (parts[0][row][i] + parts[1][row][i]) + (parts[2][row][i] + parts[3][row][i]);
}

/* As multiply_block, with prefetches of the weights of a later block. */
INLINED void multiply_many_rows(f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS], const struct linear_block *b, const int rows,
                                const int vectors) {
  struct block_rows all = rows_of_block(b->x, b->x_distance, rows);
  const float *weight = b->weight;
  const char *ahead = b->ahead;
  const int64_t weight_distance = b->weight_distance, ahead_bytes = b->ahead_bytes;
  for (int64_t step = b->steps; step; step--, weight += weight_distance, ahead += ahead_bytes) {
    __builtin_prefetch(ahead);
    multiply_step(sums, &all, weight, rows, vectors);
    move_rows(&all, 1, rows);
  }
}

INLINED void multiply_tile(const struct linear_block *b, const int rows, const int vectors) {
  f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS];
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) sums[row][i] = f32_load(b->start + row * b->start_distance + i * LANES);
  if (rows <= LINEAR_FEW) multiply_few_rows(sums, b, rows, vectors);
  else multiply_many_rows(sums, b, rows, vectors);
  float *to = b->to;
  const int64_t distance = b->to_distance;
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) f32_store(to + row * distance + i * LANES, sums[row][i]);
}

#if LANES == 16
typedef float half_vector __attribute__((vector_size(32)));
typedef float half_vector_at __attribute__((vector_size(32), aligned(4), may_alias));

INLINED half_vector multiply_add_half(half_vector a, half_vector b, half_vector c) {
#if VECTOR_X86
  return __builtin_ia32_vfmaddps256(a, b, c);
#else
  return a * b + c;
#endif
}

/* A tile of 2 LANES + 8 columns, or of 8 columns: the last 8 are a vector of half the size. */
INLINED void multiply_half_tile(const struct linear_block *b, const int rows, const int is_wide) {
  const int whole = is_wide ? 2 * LANES : 0;
  f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS];
  half_vector halves[PRODUCT_ROWS_MAX];
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++) {
    const float *start = b->start + row * b->start_distance;
    if (is_wide) sums[row][0] = f32_load(start), sums[row][1] = f32_load(start + LANES);
    halves[row] = *(const half_vector_at *)(start + whole);
  }
  struct block_rows all = rows_of_block(b->x, b->x_distance, rows);
  const float *weight = b->weight;
  const int64_t weight_distance = b->weight_distance;
  for (int64_t step = b->steps; step; step--, weight += weight_distance) {
    const half_vector column = *(const half_vector_at *)(weight + whole);
    if (is_wide) multiply_step(sums, &all, weight, rows, 2);
#pragma GCC unroll 14
    for (int row = 0; row < rows; row++) {
      const float scalar = all.first[row / PRODUCT_GROUP][row % PRODUCT_GROUP * all.distance];
      const half_vector splat = {scalar, scalar, scalar, scalar, scalar, scalar, scalar, scalar};
      halves[row] = multiply_add_half(splat, column, halves[row]);
    }
    move_rows(&all, 1, rows);
  }
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++) {
    float *to = b->to + row * b->to_distance;
    if (is_wide) f32_store(to, sums[row][0]), f32_store(to + LANES, sums[row][1]);
    *(half_vector_at *)(to + whole) = halves[row];
  }
}
#endif

typedef void linear_tile(const struct linear_block *);
#define TILE(rows, vectors)                                                                           \
  static __attribute__((noinline)) void linear_tile_##rows##_##vectors(const struct linear_block *b) { \
    multiply_tile(b, rows, vectors);                                                                  \
  }
EACH_ROWS(TILE, 1)
EACH_ROWS(TILE, 2)
#undef TILE
#define TILE_NAME(rows, vectors) linear_tile_##rows##_##vectors,
static linear_tile *const linear_tiles[][PRODUCT_ROWS] = {{EACH_ROWS(TILE_NAME, 1)}, {EACH_ROWS(TILE_NAME, 2)}};
#undef TILE_NAME
#if LANES == 16
#define HALF_TILE(rows, is_wide)                                                                           \
  static __attribute__((noinline)) void linear_half_tile_##rows##_##is_wide(const struct linear_block *b) { \
    multiply_half_tile(b, rows, is_wide);                                                                  \
  }
EACH_ROWS(HALF_TILE, 0)
EACH_ROWS(HALF_TILE, 1)
#undef HALF_TILE
#define HALF_NAME(rows, is_wide) linear_half_tile_##rows##_##is_wide,
static linear_tile *const linear_half_tiles[][PRODUCT_ROWS] = {{EACH_ROWS(HALF_NAME, 0)}, {EACH_ROWS(HALF_NAME, 1)}};
#undef HALF_NAME
#endif

/* Computes `rows` rows and all columns of a panel; moves the block to the columns behind. */
INLINED void multiply_panel(struct linear_block *block, int64_t width, int64_t rows) {
#if LANES == 16
  if (width % LANES) {
    linear_half_tiles[width == LINEAR_WIDEST][rows - 1](block);
    return;
  }
#endif
  for (int64_t left = width; left > 0;) {
    const int64_t vectors = left >= PRODUCT_VECTORS * LANES ? PRODUCT_VECTORS : 1, columns = vectors * LANES;
    linear_tiles[vectors - 1][rows - 1](block);
    block->to += columns, block->start += columns, block->weight += columns, left -= columns;
  }
}

/* y = activation(sums) + residual. The loop over whole vectors calls no function, so that the constants
 * of the activation stay in registers. */
INLINED void finish_rows(float *y, const float *sums, const float *residual, int64_t distance, int64_t rows, int64_t columns) {
  const int64_t whole = columns - columns % LANES;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < whole; column += LANES) {
      const f32v value = f32_load(sums + row * LINEAR_SUMS + column), done = LINEAR_ACTIVATION(value);
      const int64_t place = row * distance + column;
      f32_store(y + place, residual ? done + f32_load(residual + place) : done);
    }
  if (whole == columns) return;
  const size_t bytes = sizeof(float) * (size_t)(columns - whole);
  for (int64_t row = 0; row < rows; row++) {
    const f32v value = f32_load(sums + row * LINEAR_SUMS + whole), done = LINEAR_ACTIVATION(value);
    const int64_t place = row * distance + whole;
    float some[LANES] = {0};
    if (residual) memcpy(some, residual + place, bytes);
    f32_store(some, done + f32_load(some));
    memcpy(y + place, some, bytes);
  }
}

/* Number of panels: 8 columns behind a whole panel are part of it. */
static inline int64_t linear_panels(int64_t columns) {
  const int64_t whole = columns / LINEAR_PANEL, left = columns % LINEAR_PANEL;
  return whole + (left > LINEAR_WIDEST - LINEAR_PANEL || (left && !whole));
}

/* Number of columns with those that are missing in the last panel. */
static inline int64_t packed_columns(int64_t columns) {
  const int64_t left = columns % LINEAR_PANEL;
  return columns - left + (left == 0 ? 0 : left <= 8 ? 8 : left <= 16 ? 16 : LINEAR_PANEL);
}

static void linear_task(void *work, int number, int count) {
  const struct linear *l = work;
  (void)count;
  const int64_t panels = linear_panels(l->columns), packed = packed_columns(l->columns);
  /* tasks of the same columns are adjacent, since their weights are in the caches */
  const int64_t group = number / l->row_tasks, begin = panels * group / l->column_groups, end = panels * (group + 1) / l->column_groups;
  const int64_t top = l->rows * (number % l->row_tasks) / l->row_tasks;
  const int64_t some = l->rows * (number % l->row_tasks + 1) / l->row_tasks - top;
  float copy[LINEAR_TASK_ROWS * LINEAR_COPY] __attribute__((aligned(64)));
  float part[LINEAR_TASK_ROWS * LINEAR_SUMS] __attribute__((aligned(64)));
  float sums[PRODUCT_ROWS_MAX * LINEAR_SUMS] __attribute__((aligned(64)));
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
      const int64_t column = panel * LINEAR_PANEL, width = panel + 1 < panels ? LINEAR_PANEL : packed - column;
      const int64_t columns = l->columns - column < width ? l->columns - column : width, next = panel + 1 < end ? panel + 1 : begin;
      const int64_t most = width == LINEAR_WIDEST ? LINEAR_WIDE_ROWS : PRODUCT_ROWS, blocks = (some + most - 1) / most;
      const int needs_finish = LINEAR_HAS_ACTIVATION || l->residual || columns < width;
      float bias[LINEAR_WIDEST] = {0};
      memcpy(bias, l->bias + column, sizeof(float) * (size_t)columns);
      struct linear_block b = {.x_distance = x_distance, .weight_distance = width, .steps = steps};
      b.ahead_bytes = (int64_t)sizeof(float) * LINEAR_PANEL / blocks;
      const char *ahead = (const char *)(l->weight + next * LINEAR_PANEL * l->depth + step * LINEAR_PANEL);
      for (int64_t block = 0; block < blocks; block++) {
        const int64_t first = some * block / blocks, rows = some * (block + 1) / blocks - first;
        const int64_t place = (top + first) * l->columns + column;
        /* the sums of one pass are the start of the next one */
        b.to = columns < width ? part + first * LINEAR_SUMS : l->y + place;
        b.to_distance = columns < width ? LINEAR_SUMS : l->columns;
        b.start = step ? b.to : bias, b.start_distance = step ? b.to_distance : 0;
        if (is_last && needs_finish) b.to = sums, b.to_distance = LINEAR_SUMS;
        b.x = x + first * x_distance, b.weight = l->weight + column * l->depth + step * width;
        b.ahead = ahead + block * b.ahead_bytes * steps;
        multiply_panel(&b, width, rows);
        if (is_last && needs_finish)
          finish_rows(l->y + place, sums, l->residual ? l->residual + place : NULL, l->columns, rows, columns);
      }
    }
  }
}

/* Divides the rows into tasks, and the columns too if the tasks are too few or not equal for the
 * threads; runs the tasks. */
static inline void multiply_linear(struct linear *l, int64_t threads) {
  const int64_t panels = linear_panels(l->columns);
  l->row_tasks = (l->rows + LINEAR_TASK_ROWS - 1) / LINEAR_TASK_ROWS;
  const int64_t even = (l->row_tasks + threads - 1) / threads * threads;
  if (l->row_tasks > 1 && l->rows >= even * 2 * PRODUCT_ROWS) l->row_tasks = even;
  l->column_groups = 1;
  while (l->row_tasks * l->column_groups % threads && l->row_tasks * l->column_groups < LINEAR_TASKS * threads &&
         2 * l->column_groups <= panels)
    l->column_groups *= 2;
  share(linear_task, l, threads, l->row_tasks * l->column_groups);
}

#endif
