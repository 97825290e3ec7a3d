/* Runs numbered parts of a task, and partitions of a loop nest, on the threads of this process.
 *
 * `share` returns when the caller's task is complete. The threads belong to
 * `runtime/thread_pool.c`, which is loaded once per process. If it is not loaded, the caller runs
 * every part. */
#pragma once
#include <stdint.h>

/* Runs part `number` of `count` parts. */
typedef void part_of_work(void *work, int number, int count);

extern void tbe_impl_share(part_of_work *part, void *work, int threads, int count) __attribute__((weak));

/* Returns whether a thread is spinning; such a thread starts within a microsecond. */
extern int tbe_impl_is_awake(void) __attribute__((weak));

enum { LESS_WHERE_AWAKE = 4 };

/* Returns the minimum number of elements of a parallel nest. `elements` is the minimum that
 * justifies waking a thread. */
static inline __attribute__((unused)) int64_t shared_from(int64_t elements) {
  return tbe_impl_is_awake && tbe_impl_is_awake() ? elements / LESS_WHERE_AWAKE : elements;
}

/* Runs each of `count` parts once on at most `threads` threads; the caller runs the first part. */
static inline __attribute__((unused)) void share(part_of_work *part, void *work, int64_t threads, int64_t count) {
  if (threads > 1 && count > 1 && tbe_impl_share) {
    tbe_impl_share(part, work, (int)(threads < count ? threads : count), (int)count);
    return;
  }
  for (int number = 0; number < count; number++) part(work, number, (int)count);
}

/* Returns the number of parts for `items` items: at least one. */
static inline __attribute__((unused)) int64_t parts_of(int64_t items, int64_t threads) {
  const int64_t parts = threads < items ? threads : items;
  return parts > 1 ? parts : 1;
}

/* A nest and the partition of its steps: one part per thread, or `portions` dynamically scheduled
 * parts. */
struct shared_nest {
  void (*run)(const struct shared_nest *nest, int64_t begin, int64_t end, char *own);
  void **b;
  const int64_t *s;
  int64_t steps, grain, portions; /* a part is a multiple of the grain, except the last */
  int stream;                     /* further argument of the nest */
  char *own; /* memory of the first part; that of the others follows, own_bytes each */
  int64_t own_bytes;
  int64_t each, parts, taken, from_end;
};

static inline void run_part(const struct shared_nest *nest, int64_t part) {
  const int64_t begin = nest->each * part < nest->steps ? nest->each * part : nest->steps;
  const int64_t end = begin + nest->each < nest->steps ? begin + nest->each : nest->steps;
  nest->run(nest, begin, end, nest->own ? nest->own + part * nest->own_bytes : nest->own);
}

/* Runs one part of a nest. Sleeping threads start late. With `portions`, the caller takes parts
 * from the front while the threads wake up. The threads take parts from the end, so that each finds
 * the data of its last call in its cache. */
static __attribute__((unused)) void parts_of_nest(void *work, int number, int count) {
  struct shared_nest *nest = work;
  (void)count;
  if (!nest->portions) {
    run_part(nest, number);
    return;
  }
  for (int64_t from_front = 0; __atomic_fetch_add(&nest->taken, 1, __ATOMIC_RELAXED) < nest->parts;)
    run_part(nest, number ? nest->parts - 1 - __atomic_fetch_add(&nest->from_end, 1, __ATOMIC_RELAXED) : from_front++);
}

/* Returns the number of parts. */
static __attribute__((unused)) int share_nest(struct shared_nest *nest, int64_t threads) {
  const int64_t number = nest->portions ? nest->portions : threads, each = (nest->steps + number - 1) / number;
  nest->each = (each + nest->grain - 1) / nest->grain * nest->grain;
  nest->parts = nest->portions ? (nest->steps + nest->each - 1) / nest->each : threads;
  share(parts_of_nest, nest, threads, threads);
  return (int)nest->parts;
}
