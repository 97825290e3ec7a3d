/* Updates rows by indexed rows, in sequence: segment reductions and scatters.
 *
 * The result does not depend on the number of threads: each thread has its own columns and
 * processes all indices in order. A kernel defines these names before it includes this file:
 *   element, work, number            C types: in memory, of the arithmetic, of the indices
 *   MEMORY(name), WORK(name)         vector functions of `element` and of `work`
 *   READ(p)                          an element as `work`
 *   CHANGE(a, b), CHANGE_ONE(a, b)   the update of a by b, for vectors and for single elements
 *   START                            initial value of a row
 *   IS_FILLED, FILL                  whether rows without an update are filled, and the value
 *   END(sum, count)                  final value of a row after all updates
 *   IS_NARROW                        whether the arithmetic type differs from the memory type */
#pragma once

static void rows_begin(work *out, const element *var, int64_t begin, int64_t end) {
  if (var && !IS_NARROW) memcpy(out + begin, var + begin, (size_t)(end - begin) * sizeof(work));
  for (int64_t i = begin; i < end && var && IS_NARROW; i += LANES) {
    const int n = (int)least(LANES, end - i);
    WORK(store_part)(out + i, MEMORY(load_part)(var + i, n), n);
  }
  for (int64_t i = begin; i < end && !var; i++) out[i] = START;
}

static void rows_change(work *out, const element *x, const number *numbers, int64_t *members, int64_t rows,
                        int64_t width, int64_t count, int64_t first, int64_t last) {
  for (int64_t r = 0; r < rows;) {
    const int64_t at = (int64_t)numbers[r], begin = r;
    if (at < 0 || at >= count) {
      r++;
      continue;
    }
    if (width == 1) { /* consecutive elements with equal indices accumulate in a register */
      work value = out[at];
      do value = CHANGE_ONE(value, READ(x + r));
      while (++r < rows && (int64_t)numbers[r] == at);
      out[at] = value;
    } else if (last - first < LANES) {
      for (int64_t c = first; c < last; c++) out[at * width + c] = CHANGE_ONE(out[at * width + c], READ(x + r * width + c));
      r++;
    } else {
      work *to = out + at * width;
      const element *from = x + r * width;
      int64_t c = first;
      for (; c + LANES <= last; c += LANES) WORK(store)(to + c, CHANGE(WORK(load)(to + c), MEMORY(load)(from + c)));
      const int rest = (int)(last - c);
      if (rest) WORK(store_part)(to + c, CHANGE(WORK(load_part)(to + c, rest), MEMORY(load_part)(from + c, rest)), rest);
      r++;
    }
    if (members) members[at] += r - begin;
  }
}

static void rows_end(work *out, element *result, int64_t count, int64_t begin, int64_t end) {
  if (IS_FILLED && !count)
    for (int64_t i = begin; i < end; i++) out[i] = FILL;
  else
    for (int64_t i = begin; i < end; i++) out[i] = END(out[i], count);
  for (int64_t i = begin; i < end && IS_NARROW; i += LANES) {
    const int n = (int)least(LANES, end - i);
    MEMORY(store_part)(result + i, WORK(load_part)(out + i, n), n);
  }
}

struct numbered {
  work *out;
  const element *var, *x;
  const number *numbers;
  element *result;
  int64_t *members;
  int64_t rows, width, count;
};

/* each part has its own columns and processes all indices */
static void numbered_begin(void *given, int number_of_part, int parts) {
  const struct numbered *all = given;
  const int64_t width = all->width, part = (width + parts - 1) / parts;
  const int64_t first = least(part * number_of_part, width), last = least(first + part, width);
  for (int64_t row = 0; row < all->count; row++) rows_begin(all->out, all->var, row * width + first, row * width + last);
  rows_change(all->out, all->x, all->numbers, number_of_part ? NULL : all->members, all->rows, width, all->count, first, last);
}

/* runs after every part of numbered_begin */
static void numbered_end(void *given, int number_of_part, int parts) {
  const struct numbered *all = given;
  const int64_t width = all->width, part = (width + parts - 1) / parts;
  const int64_t first = least(part * number_of_part, width), last = least(first + part, width);
  for (int64_t row = 0; row < all->count; row++)
    rows_end(all->out, all->result, all->members ? all->members[row] : 1, row * width + first, row * width + last);
}

/* returns 0, or 1 when out of memory */
static int numbered_rows(const element *var, const element *x, const number *numbers, element *result, int64_t rows,
                         int64_t width, int64_t count, int is_counted, int64_t threads) {
  work *out = IS_NARROW ? malloc((size_t)(count * width) * sizeof(work) + 1) : (work *)(void *)result;
  int64_t *members = is_counted ? calloc((size_t)count + 1, sizeof(int64_t)) : NULL;
  const int missing = !out || (is_counted && !members);
  if (!missing) {
    struct numbered all = {out, var, x, numbers, result, members, rows, width, count};
    /* threads are profitable for long rows only */
    const int64_t parts = parts_of(width / 32, threads);
    share(numbered_begin, &all, threads, parts);
    if (members || IS_NARROW) share(numbered_end, &all, threads, parts);
  }
  if (IS_NARROW) free(out);
  free(members);
  return missing;
}
