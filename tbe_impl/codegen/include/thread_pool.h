/* Work that the threads of this process share: parts of a whole, by number, and the steps of a nest.
 *
 * Whoever is called has its work done when `share` returns. The threads are those of `workers.c`, one set for a process however
 * many libraries it loads; where that is not loaded, the caller does everything. */
#pragma once
#include <stdint.h>

/* one part of so many */
typedef void part_of_work(void *work, int number, int count);

extern void tbe_impl_share(part_of_work *part, void *work, int threads, int count) __attribute__((weak));

/* Whether one of the threads waits busily: it begins within a microsecond. */
extern int tbe_impl_is_awake(void) __attribute__((weak));

enum { LESS_WHERE_AWAKE = 4 };

/* Elements from which on a nest is shared, given those for which a thread is woken up. */
static inline __attribute__((unused)) int64_t shared_from(int64_t elements) {
  return tbe_impl_is_awake && tbe_impl_is_awake() ? elements / LESS_WHERE_AWAKE : elements;
}

/* Calls each of `count` parts once, on at most `threads` threads, of which the caller is one: it takes the first part. */
static inline __attribute__((unused)) void share(part_of_work *part, void *work, int64_t threads, int64_t count) {
  if (threads > 1 && count > 1 && tbe_impl_share) {
    tbe_impl_share(part, work, (int)(threads < count ? threads : count), (int)count);
    return;
  }
  for (int number = 0; number < count; number++) part(work, number, (int)count);
}

/* Into how many parts so many items go: at least one. */
static inline __attribute__((unused)) int64_t parts_of(int64_t items, int64_t threads) {
  const int64_t parts = threads < items ? threads : items;
  return parts > 1 ? parts : 1;
}

/* A nest, and how its steps become parts: one for each thread, or so many portions, which threads take as they come. */
struct shared_nest {
  void (*run)(const struct shared_nest *nest, int64_t begin, int64_t end, char *own);
  void **b;
  const int64_t *s;
  int64_t steps, grain, portions; /* a part is a whole number of grains, but for the last */
  int stream;                     /* what the nest is told besides */
  char *own;                      /* memory of the first part; the others' lies behind it, so many bytes each */
  int64_t own_bytes;
  int64_t each, parts, taken, from_end;
};

static inline void run_part(const struct shared_nest *nest, int64_t part) {
  const int64_t begin = nest->each * part < nest->steps ? nest->each * part : nest->steps;
  const int64_t end = begin + nest->each < nest->steps ? begin + nest->each : nest->steps;
  nest->run(nest, begin, end, nest->own ? nest->own + part * nest->own_bytes : nest->own);
}

/* Threads that slept come late. With portions the caller goes on from the front while they wake up, and they take from the
 * end, so that each finds in its cache what it had in the last call. */
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

/* How many parts there were. */
static __attribute__((unused)) int share_nest(struct shared_nest *nest, int64_t threads) {
  const int64_t number = nest->portions ? nest->portions : threads, each = (nest->steps + number - 1) / number;
  nest->each = (each + nest->grain - 1) / nest->grain * nest->grain;
  nest->parts = nest->portions ? (nest->steps + nest->each - 1) / nest->each : threads;
  share(parts_of_nest, nest, threads, threads);
  return (int)nest->parts;
}
