/* Threads that share the work of oneDNN and of our own passes.

   oneDNN asks its caller for threads through a C++ class, `threadpool_iface`. Its table of virtual functions is laid out
   here by hand, so that a C compiler is enough; the fifth entry is `wait` since 3.11 and a destructor, which oneDNN never
   calls, before. What is known of the class and of `std::function` (libstdc++) is tried out when the library is loaded. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "apart.h"

/* std::function<void(int, int)> of libstdc++ */
struct function {
  void *captured[2];
  void *manager;
  void (*invoke)(const struct function *self, int *index, int *count);
};

struct job {
  const struct function *function;
  int count;
  atomic_int next, done, users;
  struct caller caller;
  struct job *following;
};

#define MAX_WORKERS 255
#define SPINS 2000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t work = PTHREAD_COND_INITIALIZER, finished = PTHREAD_COND_INITIALIZER;
static struct job *jobs;
static atomic_int waiting_jobs;
static int workers;
static _Thread_local int inside;

static inline void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static void work_on(struct job *job) {
  int before = inside;
  inside = 1;
  for (int index; (index = atomic_fetch_add(&job->next, 1)) < job->count;) {
    int own = index, count = job->count;
    job->function->invoke(job->function, &own, &count);
    atomic_fetch_add(&job->done, 1);
  }
  inside = before;
}

/* A job with work left, its number of users raised; the lock is held. */
static struct job *take(void) {
  for (struct job *job = jobs; job; job = job->following)
    if (atomic_load(&job->next) < job->count) {
      atomic_fetch_add(&job->users, 1);
      return job;
    }
  return NULL;
}

static void *worker(void *unused) {
  (void)unused;
  for (;;) {
    for (int i = 0; i < SPINS && !atomic_load_explicit(&waiting_jobs, memory_order_relaxed); i++) pause_briefly();
    pthread_mutex_lock(&lock);
    struct job *job;
    while (!(job = take())) pthread_cond_wait(&work, &lock);
    pthread_mutex_unlock(&lock);
    stay_off(job->caller);
    work_on(job);
    pthread_mutex_lock(&lock);
    atomic_fetch_sub(&job->users, 1); /* from here on the job may be gone */
    pthread_cond_broadcast(&finished);
    pthread_mutex_unlock(&lock);
  }
  return NULL;
}

/* Workers are started when first needed; fewer than asked for is no fault. */
static void ensure_workers(int wanted) {
  if (wanted > MAX_WORKERS) wanted = MAX_WORKERS;
  while (workers < wanted) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, worker, NULL)) return;
    pthread_detach(thread);
    workers++;
  }
}

static void parallel_for(int threads, int count, const struct function *function) {
  struct job job = {.function = function, .count = count, .caller = caller_here()};
  if (count < 2 || threads < 2 || inside) {
    work_on(&job);
    return;
  }
  pthread_mutex_lock(&lock);
  ensure_workers(threads - 1);
  job.following = jobs;
  jobs = &job;
  atomic_fetch_add(&waiting_jobs, 1);
  if (count > 2) pthread_cond_broadcast(&work);
  else pthread_cond_signal(&work);
  pthread_mutex_unlock(&lock);
  work_on(&job);
  for (int i = 0; i < SPINS && atomic_load(&job.done) < count; i++) pause_briefly();
  pthread_mutex_lock(&lock);
  struct job **place = &jobs;
  while (*place != &job) place = &(*place)->following;
  *place = job.following;
  atomic_fetch_sub(&waiting_jobs, 1);
  while (atomic_load(&job.users)) pthread_cond_wait(&finished, &lock);
  pthread_mutex_unlock(&lock);
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

static void forget_threads(void) {
  /* the threads are the parent's; what they may have held is left alone */
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  finished = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  jobs = NULL;
  atomic_store(&waiting_jobs, 0);
  workers = 0;
  inside = 0;
}
