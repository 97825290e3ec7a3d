/* Thread pool of the process, shared by the generated kernels and by oneDNN through tbe_impl_share.
 *
 * There is one pool: two pools would compete for the same processors. A worker spins for BUSY_NS
 * before it sleeps, because kernels follow each other within microseconds and waking a thread takes
 * tens of them. The caller executes the parts that no worker has begun, so it never waits for a
 * thread to wake up. Several callers may run at once; each gets the workers that are free.
 *
 * The scheduler may place a worker on the processor of its caller. Both would then alternate, and
 * the job would take as long as on one thread. The caller therefore removes its own processor from
 * the affinity of such a worker; the scheduler chooses among the other allowed processors. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include "thread_pool.h"

#define MAX_WORKERS 255
#define BUSY_NS 100000
#define LINE 128 /* bytes of a cache line pair */

#define CALLER_SLEEPS (1 << 30)

/* State of a worker in the low bits; the high bits count its jobs, which prevents ABA errors. */
enum { FREE, CHOSEN, GIVEN, RUNNING, DOES = 3, ANOTHER_TIME = 4 };

struct job {
  part_of_work *part;
  void *work;
  int count;
  unsigned floats; /* floating-point control register of the caller */
  atomic_int next;     /* the first unassigned part */
  atomic_int finished; /* number of finished workers, and the flag CALLER_SLEEPS */
};

struct worker {
  _Alignas(LINE) atomic_uint state;
  atomic_int sleeps;
  atomic_int processor, kept_off; /* current processor, and the one that is excluded */
  atomic_long thread;
  struct job *job;
  int number; /* index of its part of the job */
  pthread_mutex_t lock;
  pthread_cond_t wake;
};

static struct worker workers[MAX_WORKERS];
static atomic_int started;
static pthread_mutex_t starting = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t ending = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static _Thread_local int is_inside;

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#define MAX_PROCESSORS 4096
#define WORD_BITS (8 * (int)sizeof(unsigned long))

static int processor_here(void) { return sched_getcpu(); }
static long thread_here(void) { return syscall(SYS_gettid); }
/* Sets the name that tools show; by default a thread inherits that of its creator. */
static void name(pthread_t thread) { pthread_setname_np(thread, "tbe_impl"); }

/* Excludes a processor from a worker's affinity; the system rejects an empty set. */
static __attribute__((noinline, cold)) void keep_off(struct worker *worker, int processor) {
  unsigned long allowed[MAX_PROCESSORS / WORD_BITS] = {0};
  const long thread = atomic_load(&worker->thread), bytes = syscall(SYS_sched_getaffinity, 0, sizeof allowed, allowed);
  if (!thread || bytes <= 0 || processor < 0 || processor >= MAX_PROCESSORS) return;
  allowed[processor / WORD_BITS] &= ~(1UL << processor % WORD_BITS);
  syscall(SYS_sched_setaffinity, thread, bytes, allowed);
  atomic_store(&worker->kept_off, processor);
  atomic_store(&worker->processor, -1);
}
#else
static int processor_here(void) { return -1; }
static long thread_here(void) { return 0; }
static void name(pthread_t thread) { (void)thread; }
static void keep_off(struct worker *worker, int processor) { (void)worker, (void)processor; }
#endif

/* Flushing of subnormals is a setting of each thread; workers take over that of the caller. */
#if defined(__SSE__)
#include <xmmintrin.h>
static inline unsigned floats_here(void) { return _mm_getcsr(); }
static inline void set_floats(unsigned way) { _mm_setcsr(way); }
#else
static inline unsigned floats_here(void) { return 0; }
static inline void set_floats(unsigned way) { (void)way; }
#endif

static inline void pause_briefly(void) {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

/* Spins until a job is given; returns 0 after BUSY_NS. */
static int is_given(struct worker *self) {
  for (int64_t now = now_ns(), end = now + BUSY_NS; now < end; now = now_ns()) {
    for (int i = 0; i < 16; i++) {
      if ((atomic_load_explicit(&self->state, memory_order_acquire) & DOES) == GIVEN) return 1;
      pause_briefly();
    }
    atomic_store_explicit(&self->processor, processor_here(), memory_order_relaxed);
  }
  return 0;
}

static void sleep_until_given(struct worker *self) {
  pthread_mutex_lock(&self->lock);
  atomic_store(&self->sleeps, 1);
  while ((atomic_load(&self->state) & DOES) != GIVEN) pthread_cond_wait(&self->wake, &self->lock);
  atomic_store(&self->sleeps, 0);
  pthread_mutex_unlock(&self->lock);
}

static void give(struct worker *worker, struct job *job, int number, unsigned state) {
  worker->job = job;
  worker->number = number;
  atomic_store(&worker->state, state);
  if (!atomic_load(&worker->sleeps)) return;
  pthread_mutex_lock(&worker->lock);
  pthread_cond_signal(&worker->wake);
  pthread_mutex_unlock(&worker->lock);
}

static void unowned_parts(struct job *job) {
  for (int number; (number = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed)) < job->count;)
    job->part(job->work, number, job->count);
}

static void *work(void *given) {
  struct worker *self = given;
  is_inside = 1;
  atomic_store(&self->thread, thread_here());
  for (;;) {
    if (!is_given(self)) sleep_until_given(self);
    unsigned state = atomic_load(&self->state);
    if ((state & DOES) != GIVEN || !atomic_compare_exchange_strong(&self->state, &state, state - GIVEN + RUNNING)) continue;
    struct job *job = self->job;
    set_floats(job->floats);
    job->part(job->work, self->number, job->count);
    unowned_parts(job);
    atomic_store_explicit(&self->processor, processor_here(), memory_order_relaxed);
    atomic_store(&self->state, state - GIVEN + FREE);
    /* the job may be freed once the last worker has counted itself */
    if (!(atomic_fetch_add(&job->finished, 1) & CALLER_SLEEPS)) continue;
    pthread_mutex_lock(&ending);
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&ending);
  }
  return NULL;
}

/* Threads do not survive a fork: the child starts its own. */
static void forget_after_fork(void) {
  memset(workers, 0, sizeof workers);
  atomic_store(&started, 0);
  starting = ending = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  ended = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  is_inside = 0;
}

/* Starts missing workers; returns how many exist, which may be fewer than wanted. */
static int have_workers(int wanted) {
  int count = atomic_load_explicit(&started, memory_order_acquire);
  if (count >= wanted) return count;
  pthread_mutex_lock(&starting);
  static int prepared;
  if (!prepared) prepared = !pthread_atfork(NULL, NULL, forget_after_fork);
  while ((count = atomic_load(&started)) < wanted) {
    pthread_t thread;
    struct worker *next = workers + count;
    next->processor = next->kept_off = -1;
    pthread_mutex_init(&next->lock, NULL);
    pthread_cond_init(&next->wake, NULL);
    if (pthread_create(&thread, NULL, work, next)) break;
    name(thread);
    pthread_detach(thread);
    atomic_store(&started, count + 1);
  }
  pthread_mutex_unlock(&starting);
  return count;
}

static int is_finished(struct job *job, int awaited) {
  return (atomic_load_explicit(&job->finished, memory_order_acquire) & ~CALLER_SLEEPS) >= awaited;
}

static void wait_for(struct job *job, int awaited) {
  for (int64_t now = now_ns(), end = now + BUSY_NS; now < end; now = now_ns())
    for (int i = 0; i < 16; i++) {
      if (is_finished(job, awaited)) return;
      pause_briefly();
    }
  atomic_fetch_or(&job->finished, CALLER_SLEEPS);
  pthread_mutex_lock(&ending);
  while (!is_finished(job, awaited)) pthread_cond_wait(&ended, &ending);
  pthread_mutex_unlock(&ending);
}

/* Whether the first worker spins; it is the first to get a part. */
int tbe_impl_is_awake(void) {
  if (!atomic_load_explicit(&started, memory_order_acquire)) return 0;
  return !is_inside && !atomic_load_explicit(&workers[0].sleeps, memory_order_relaxed);
}

void tbe_impl_share(part_of_work *part, void *work, int threads, int count) {
  if (is_inside) {
    for (int number = 0; number < count; number++) part(work, number, count);
    return;
  }
  if (threads > MAX_WORKERS + 1) threads = MAX_WORKERS + 1;
  struct job job = {.part = part, .work = work, .count = count, .floats = floats_here(), .next = threads};
  struct worker *own[MAX_WORKERS];
  unsigned given[MAX_WORKERS];
  const int have = have_workers(threads - 1), here = processor_here();
  int helpers = 0, awaited = 0;
  for (int i = 0; i < have && helpers < threads - 1; i++) {
    unsigned state = atomic_load_explicit(&workers[i].state, memory_order_relaxed);
    if ((state & DOES) != FREE || !atomic_compare_exchange_strong(&workers[i].state, &state, state + CHOSEN)) continue;
    if (atomic_load_explicit(&workers[i].processor, memory_order_relaxed) == here) keep_off(workers + i, here);
    own[helpers] = workers + i;
    given[helpers++] = state + ANOTHER_TIME + GIVEN;
    give(workers + i, &job, helpers, state + ANOTHER_TIME + GIVEN);
  }
  is_inside = 1;
  part(work, 0, count);
  for (int number = helpers + 1; number < threads; number++) part(work, number, count);
  unowned_parts(&job);
  for (int i = 0; i < helpers; i++) {
    /* take back a part that the worker has not begun */
    if (!atomic_compare_exchange_strong(&own[i]->state, given + i, given[i] - GIVEN + FREE)) {
      awaited++;
      continue;
    }
    if (atomic_load(&own[i]->kept_off) != here) keep_off(own[i], here);
    part(work, i + 1, count);
  }
  is_inside = 0;
  if (awaited) wait_for(&job, awaited);
}
