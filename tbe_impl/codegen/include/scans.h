/* Cumulative sums and products of `rows` × `steps` × `width` elements along the middle axis.
 *
 * Elements are added in sequence, so that the result equals NumPy's for any number of threads. Each
 * thread has its own rows or columns. A kernel defines these macros before it includes this file:
 * the arithmetic macros of `scatter.py`, and
 *   FIRST                      start of an exclusive scan
 *   NEUTRAL                    the identity
 *   IS_EXCLUSIVE, IS_REVERSE   whether an element excludes itself; whether the scan is reversed */
#pragma once

#define TOGETHER 8
#define COLUMNS 512

static void running_load(work *to, const element *from, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) {
    const int part = (int)least(LANES, n - i);
    WORK(store_part)(to + i, MEMORY(load_part)(from + i, part), part);
  }
}

static void running_store(element *to, const work *from, int64_t n) {
  for (int64_t i = 0; i < n; i += LANES) {
    const int part = (int)least(LANES, n - i);
    MEMORY(store_part)(to + i, WORK(load_part)(from + i, part), part);
  }
}

/* Contiguous axis: processes several rows at once, which hides the latency of the additions in a
 * row. */
static void running_rows(const element *x, element *y, int64_t count, int64_t steps) {
  work values[TOGETHER][COLUMNS], sums[TOGETHER];
  for (int r = 0; r < TOGETHER; r++) sums[r] = NEUTRAL;
  for (int64_t done = 0; done < steps; done += COLUMNS) {
    const int64_t n = least(COLUMNS, steps - done), at = IS_REVERSE ? steps - done - n : done;
    for (int64_t r = 0; r < count; r++) running_load(values[r], x + r * steps + at, n);
    for (int64_t k = 0; k < n; k++) {
      const int64_t c = IS_REVERSE ? n - 1 - k : k;
      for (int r = 0; r < TOGETHER; r++) {
        const work before = sums[r];
        sums[r] = CHANGE_ONE(before, values[r][c]);
        values[r][c] = IS_EXCLUSIVE ? before : sums[r];
      }
    }
    for (int64_t r = 0; r < count; r++) {
      if (IS_EXCLUSIVE && !done) values[r][IS_REVERSE ? n - 1 : 0] = FIRST;
      running_store(y + r * steps + at, values[r], n);
    }
  }
}

/* Strided axis: processes a block of columns at once, row by row. */
static void running_columns(const element *x, element *y, int64_t steps, int64_t width, int64_t n) {
  work sums[COLUMNS], first[COLUMNS];
  for (int64_t c = 0; c < n; c++) sums[c] = NEUTRAL, first[c] = FIRST;
  for (int64_t k = 0; k < steps; k++) {
    const int64_t at = (IS_REVERSE ? steps - 1 - k : k) * width;
    if (IS_EXCLUSIVE) running_store(y + at, k ? sums : first, n);
    int64_t c = 0;
    for (; c + LANES <= n; c += LANES) WORK(store)(sums + c, CHANGE(WORK(load)(sums + c), MEMORY(load)(x + at + c)));
    const int rest = (int)(n - c);
    if (rest) WORK(store_part)(sums + c, CHANGE(WORK(load_part)(sums + c, rest), MEMORY(load_part)(x + at + c, rest)), rest);
    if (!IS_EXCLUSIVE) running_store(y + at, sums, n);
  }
}

struct running {
  const element *x;
  element *y;
  int64_t rows, steps, width, blocks, parts;
};

static void running_part(void *work, int number, int count) {
  const struct running *all = work;
  const int64_t steps = all->steps, width = all->width, blocks = all->blocks;
  for (int64_t part = all->parts * number / count; part < all->parts * (number + 1) / count; part++) {
    if (width == 1) {
      const int64_t row = part * TOGETHER;
      running_rows(all->x + row * steps, all->y + row * steps, least(TOGETHER, all->rows - row), steps);
    } else {
      const int64_t start = part / blocks * steps * width + part % blocks * COLUMNS;
      running_columns(all->x + start, all->y + start, steps, width, least(COLUMNS, width - part % blocks * COLUMNS));
    }
  }
}

static void running(const element *x, element *y, int64_t rows, int64_t steps, int64_t width, int64_t threads) {
  const int64_t blocks = width == 1 ? 1 : (width + COLUMNS - 1) / COLUMNS;
  const int64_t parts = width == 1 ? (rows + TOGETHER - 1) / TOGETHER : rows * blocks;
  share(running_part, &(struct running){x, y, rows, steps, width, blocks, parts}, threads, parts_of(parts, threads));
}
