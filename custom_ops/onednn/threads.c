/* oneDNN's thread pool interface, backed by this process's threads. oneDNN requests threads from
   its caller through the C++ class `threadpool_iface`. Its virtual table is built by hand, so that
   a C compiler suffices. The fifth entry is `wait` since 3.11; before, it is a destructor that
   oneDNN never calls. A self-test at load time checks the assumptions about the class and about
   `std::function` (libstdc++). */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "thread_pool.h"

/* std::function<void(int, int)> of libstdc++ */
struct function {
  void *captured[2];
  void *manager;
  void (*invoke)(const struct function *self, int *index, int *count);
};

static _Thread_local int inside;

static void one_call(void *work, int index, int count) {
  const struct function *function = work;
  const int before = inside;
  inside = 1;
  function->invoke(function, &index, &count);
  inside = before;
}

static void parallel_for(int threads, int count, const struct function *function) {
  share(one_call, (void *)function, inside ? 1 : threads, count);
}

struct pool {
  void *const *table;
  int threads;
};

static int pool_threads(const struct pool *pool) { return pool->threads; }
static int pool_inside(const struct pool *pool) {
  (void)pool;
  return inside;
}
static void pool_parallel_for(struct pool *pool, int count, const struct function *function) {
  parallel_for(pool->threads, count, function);
}
static uint64_t pool_flags(const struct pool *pool) {
  (void)pool;
  return 0;
}
static void pool_nothing(struct pool *pool) { (void)pool; }

static void *const pool_table[] = {
    (void *)pool_threads, (void *)pool_inside, (void *)pool_parallel_for, (void *)pool_flags,
    (void *)pool_nothing, (void *)pool_nothing, (void *)pool_nothing,
};
