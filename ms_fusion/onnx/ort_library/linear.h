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
#include <stdlib.h>
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
  int activates; /* whether the activation is applied */
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
INLINED void finish_rows(float *y, int64_t distance, const float *sums, const float *residual, int64_t residual_distance,
                         int64_t rows, int64_t columns, const int activates) {
  const int64_t whole = columns - columns % LANES;
  for (int64_t row = 0; row < rows; row++)
    for (int64_t column = 0; column < whole; column += LANES) {
      f32v value = f32_load(sums + row * LINEAR_SUMS + column);
      if (activates) value = LINEAR_ACTIVATION(value);
      if (residual) value += f32_load(residual + row * residual_distance + column);
      f32_store(y + row * distance + column, value);
    }
  if (whole == columns) return;
  const size_t bytes = sizeof(float) * (size_t)(columns - whole);
  for (int64_t row = 0; row < rows; row++) {
    f32v value = f32_load(sums + row * LINEAR_SUMS + whole);
    float some[LANES] = {0};
    if (activates) value = LINEAR_ACTIVATION(value);
    if (residual) memcpy(some, residual + row * residual_distance + whole, bytes);
    f32_store(some, value + f32_load(some));
    memcpy(y + row * distance + whole, some, bytes);
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

/* The rows of a task, and the memory of its thread. */
struct linear_rows {
  int64_t top, count;
  float *copy; /* LINEAR_TASK_ROWS * LINEAR_COPY */
  float *part; /* LINEAR_TASK_ROWS * LINEAR_SUMS: the sums of a panel whose end is beyond the columns */
};

/* Row `number` of y begins at y[number * distance]; its first element belongs to column `column`. */
struct linear_result {
  float *y;
  int64_t distance, column;
};

/* Adds the steps from `step` on to the panels from `begin` to `end`; after the last step finishes y. */
INLINED void multiply_pass(const struct linear *l, const struct linear_rows *r, const float *x, int64_t x_distance, int64_t step,
                           int64_t begin, int64_t end, struct linear_result to, const int activates) {
  const int64_t steps = l->depth - step < LINEAR_STEPS ? l->depth - step : LINEAR_STEPS;
  const int64_t panels = linear_panels(l->columns), packed = packed_columns(l->columns);
  float sums[PRODUCT_ROWS_MAX * LINEAR_SUMS] __attribute__((aligned(64)));
  for (int64_t panel = begin; panel < end; panel++) {
    const int64_t column = panel * LINEAR_PANEL, width = panel + 1 < panels ? LINEAR_PANEL : packed - column;
    const int64_t columns = l->columns - column < width ? l->columns - column : width, next = panel + 1 < end ? panel + 1 : begin;
    const int64_t most = width == LINEAR_WIDEST ? LINEAR_WIDE_ROWS : PRODUCT_ROWS, blocks = (r->count + most - 1) / most;
    const int is_part = columns < width, finishes = step + steps == l->depth && (activates || l->residual || is_part);
    float bias[LINEAR_WIDEST] = {0};
    memcpy(bias, l->bias + column, sizeof(float) * (size_t)columns);
    struct linear_block b = {.x_distance = x_distance, .weight_distance = width, .steps = steps};
    b.ahead_bytes = (int64_t)sizeof(float) * LINEAR_PANEL / blocks;
    const char *ahead = (const char *)(l->weight + next * LINEAR_PANEL * l->depth + step * LINEAR_PANEL);
    for (int64_t block = 0; block < blocks; block++) {
      const int64_t first = r->count * block / blocks, rows = r->count * (block + 1) / blocks - first;
      float *y = to.y + first * to.distance + column - to.column;
      /* the sums of one pass are the start of the next one */
      b.to = is_part ? r->part + first * LINEAR_SUMS : y, b.to_distance = is_part ? LINEAR_SUMS : to.distance;
      b.start = step ? b.to : bias, b.start_distance = step ? b.to_distance : 0;
      if (finishes) b.to = sums, b.to_distance = LINEAR_SUMS;
      b.x = x + first * x_distance, b.weight = l->weight + column * l->depth + step * width;
      b.ahead = ahead + block * b.ahead_bytes * steps;
      multiply_panel(&b, width, rows);
      if (finishes)
        finish_rows(y, to.distance, sums, l->residual ? l->residual + (r->top + first) * l->columns + column : NULL, l->columns,
                    rows, columns, activates);
    }
  }
}

/* Computes the panels from `begin` to `end` for the rows of a task. */
INLINED void multiply_rows(const struct linear *l, const struct linear_rows *r, int64_t begin, int64_t end, struct linear_result to,
                           const int activates) {
  for (int64_t step = 0; step < l->depth; step += LINEAR_STEPS) {
    const int64_t steps = l->depth - step < LINEAR_STEPS ? l->depth - step : LINEAR_STEPS;
    const float *x = l->x + r->top * l->depth + step;
    const int is_aliased = l->depth % (LINEAR_ALIASED / (int64_t)sizeof(float)) == 0;
    if (is_aliased)
      for (int64_t row = 0; row < r->count; row++)
        memcpy(r->copy + row * LINEAR_COPY, x + row * l->depth, sizeof(float) * (size_t)steps);
    multiply_pass(l, r, is_aliased ? r->copy : x, is_aliased ? LINEAR_COPY : l->depth, step, begin, end, to, activates);
  }
}

static void linear_task(void *work, int number, int count) {
  const struct linear *l = work;
  (void)count;
  float copy[LINEAR_TASK_ROWS * LINEAR_COPY] __attribute__((aligned(64)));
  float part[LINEAR_TASK_ROWS * LINEAR_SUMS] __attribute__((aligned(64)));
  /* tasks of the same columns are adjacent, since their weights are in the caches */
  const int64_t panels = linear_panels(l->columns), group = number / l->row_tasks, task = number % l->row_tasks;
  const int64_t top = l->rows * task / l->row_tasks;
  const struct linear_rows rows = {top, l->rows * (task + 1) / l->row_tasks - top, copy, part};
  const int64_t begin = panels * group / l->column_groups, end = panels * (group + 1) / l->column_groups;
  const struct linear_result to = {l->y + top * l->columns, l->columns, 0};
  if (LINEAR_HAS_ACTIVATION && l->activates) multiply_rows(l, &rows, begin, end, to, 1);
  else multiply_rows(l, &rows, begin, end, to, 0);
}

/* Number of tasks of rows: a multiple of the threads, unless the tasks become too small. */
static inline int64_t count_row_tasks(int64_t rows, int64_t threads) {
  const int64_t tasks = (rows + LINEAR_TASK_ROWS - 1) / LINEAR_TASK_ROWS, even = (tasks + threads - 1) / threads * threads;
  return rows >= even * 2 * PRODUCT_ROWS ? even : tasks;
}

/* Divides the rows into tasks, and the columns too if the tasks are too few or not equal for the
 * threads; runs the tasks. */
static inline void multiply_linear(struct linear *l, int64_t threads) {
  const int64_t panels = linear_panels(l->columns);
  l->row_tasks = count_row_tasks(l->rows, threads);
  l->column_groups = 1;
  while (l->row_tasks * l->column_groups % threads && l->row_tasks * l->column_groups < LINEAR_TASKS * threads &&
         2 * l->column_groups <= panels)
    l->column_groups *= 2;
  share(linear_task, l, threads, l->row_tasks * l->column_groups);
}

/* Two products in sequence: `second.x` is `first.y`, whose rows stay in the L2 cache. The activation
 * is that of the first product. The columns of the first product are a multiple of LINEAR_PANEL. */
struct linear_pair {
  struct linear first, second;
};

static void pair_task(void *work, int number, int count) {
  const struct linear_pair *pair = work;
  const struct linear *first = &pair->first, *second = &pair->second;
  float copy[LINEAR_TASK_ROWS * LINEAR_COPY] __attribute__((aligned(64)));
  float between[LINEAR_TASK_ROWS * LINEAR_COPY] __attribute__((aligned(64)));
  float part[LINEAR_TASK_ROWS * LINEAR_SUMS] __attribute__((aligned(64)));
  const int64_t top = first->rows * number / count;
  const struct linear_rows rows = {top, first->rows * (number + 1) / count - top, copy, part};
  for (int64_t step = 0; step < second->depth; step += LINEAR_STEPS) {
    const int64_t end = second->depth - step < LINEAR_STEPS ? second->depth : step + LINEAR_STEPS;
    multiply_rows(first, &rows, step / LINEAR_PANEL, end / LINEAR_PANEL, (struct linear_result){between, LINEAR_COPY, step}, 1);
    multiply_pass(second, &rows, between, LINEAR_COPY, step, 0, linear_panels(second->columns),
                  (struct linear_result){second->y + top * second->columns, second->columns, 0}, 0);
  }
}

/* Returns 0, or 1 when out of memory. If the rows are too few for the threads, the products run one
 * after the other, each divided by columns. */
static inline int multiply_pair(struct linear_pair *pair, int64_t threads) {
  struct linear *first = &pair->first, *second = &pair->second;
  const int64_t tasks = count_row_tasks(first->rows, threads);
  if (tasks >= threads) {
    share(pair_task, pair, threads, tasks);
    return 0;
  }
  float *between = malloc(sizeof(float) * (size_t)(first->rows * first->columns));
  if (!between) return 1;
  first->y = between, second->x = between;
  multiply_linear(first, threads);
  multiply_linear(second, threads);
  free(between);
  return 0;
}

#endif
