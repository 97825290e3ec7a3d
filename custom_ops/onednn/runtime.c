/* Runs prepared steps of oneDNN on our own threads, from plain pointers.

   oneDNN asks its caller for threads through a C++ class, `threadpool_iface`. Its table of virtual functions is laid out
   here by hand, so that a C compiler is enough; the fifth entry is `wait` since 3.11 and a destructor, which oneDNN never
   calls, before. What is known of the class and of `std::function` (libstdc++) is tried out when the library is loaded. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---------------------------------------------------------------------------------------------------- */

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
  struct job job = {.function = function, .count = count};
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

/* ---- plans ------------------------------------------------------------------------------------------------------ */

/* What is called of oneDNN; each gives 0 when it went well. */
struct library {
  int (*memory_create)(void **memory, const void *description, void *engine, void *handle);
  int (*memory_destroy)(void *memory);
  int (*stream_create)(void **stream, void *engine, void *pool);
  int (*primitive_execute)(const void *primitive, void *stream, int count, const void *arguments);
  void *engine;
};

enum { BUFFER, SCRATCH };

struct place {
  const void *description; /* NULL: what only passes touch */
  int64_t kind, value;     /* number of the buffer, or offset in the scratch memory */
};

struct step {
  const void *primitive;
  int64_t kind;     /* one of the enumeration below */
  int64_t first;    /* its first argument; of a pass these are source and target */
  int64_t count;    /* how many arguments; of a pass, elements */
  int64_t infinity; /* of RELU_SHORT */
};

struct argument {
  int64_t name, place;
};

struct plan {
  int64_t places, steps, scratch_bytes, threads;
  const struct place *place;
  const struct step *step;
  const struct argument *argument;
};

struct executed {
  int name;
  void *memory;
};

/* What one call at a time needs; kept for the next. */
struct context {
  struct pool pool;
  void *stream;
  void *scratch;
  int64_t scratch_bytes;
  struct context *following;
};

#define ALIGNMENT 64
#define NO_MEMORY 101

static struct library library;
static struct context *contexts;
static pthread_mutex_t choosing = PTHREAD_MUTEX_INITIALIZER;

static void forget_after_fork(void) {
  /* the threads are the parent's; what they may have held is left alone */
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  choosing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  work = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  finished = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
  jobs = NULL;
  atomic_store(&waiting_jobs, 0);
  workers = 0;
  inside = 0;
}

/* Once in a process: what is prepared stays with the engine that it was made for. Gives the engine in force. */
void *onednn_bind(const struct library *given) {
  pthread_mutex_lock(&choosing);
  if (!library.engine) {
    pthread_atfork(NULL, NULL, forget_after_fork);
    library = *given;
  }
  pthread_mutex_unlock(&choosing);
  return library.engine;
}

static struct context *take_context(int threads, int64_t bytes) {
  pthread_mutex_lock(&choosing);
  struct context *context = contexts;
  if (context) contexts = context->following;
  pthread_mutex_unlock(&choosing);
  if (!context) {
    context = calloc(1, sizeof *context);
    if (!context) return NULL;
    context->pool.table = pool_table;
    if (library.stream_create(&context->stream, library.engine, &context->pool)) {
      free(context);
      return NULL;
    }
  }
  context->pool.threads = threads;
  if (context->scratch_bytes < bytes) {
    free(context->scratch);
    context->scratch = NULL;
    context->scratch_bytes = 0;
    if (posix_memalign(&context->scratch, ALIGNMENT, (size_t)bytes)) context->scratch = NULL;
    else context->scratch_bytes = bytes;
  }
  return context;
}

static void give_back(struct context *context) {
  pthread_mutex_lock(&choosing);
  context->following = contexts;
  contexts = context;
  pthread_mutex_unlock(&choosing);
}

/* Scratch memory that no call holds at the moment. */
int64_t onednn_scratch_bytes(void) {
  int64_t whole = 0;
  pthread_mutex_lock(&choosing);
  for (struct context *context = contexts; context; context = context->following) whole += context->scratch_bytes;
  pthread_mutex_unlock(&choosing);
  return whole;
}

/* Gives it back to the system. */
void onednn_free_scratch(void) {
  pthread_mutex_lock(&choosing);
  for (struct context *context = contexts; context; context = context->following) {
    free(context->scratch);
    context->scratch = NULL;
    context->scratch_bytes = 0;
  }
  pthread_mutex_unlock(&choosing);
}

/* ---- what oneDNN does not do, or not as it should: one pass over dense memory --------------------------------------- */

enum { EXECUTE, WIDEN_FLOAT16, NARROW_FLOAT16, WIDEN_BFLOAT16, NARROW_BFLOAT16, RELU_FLOAT32, RELU_SHORT };

struct pass {
  struct function function;
  const void *from;
  void *to;
  int64_t kind, count, infinity; /* infinity: its bits in a float of 16 bits */
};

static inline uint16_t bfloat16_of(uint32_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static void pass_part(const struct function *self, int *index, int *parts) {
  const struct pass *pass = (const struct pass *)self;
  int64_t first = pass->count * *index / *parts, last = pass->count * (*index + 1) / *parts;
  const float *from = pass->from;
  const uint16_t *from_short = pass->from;
  float *to = pass->to;
  uint16_t *to_short = pass->to;
  switch (pass->kind) {
#ifdef __FLT16_MAX__
    case WIDEN_FLOAT16:
      for (int64_t i = first; i < last; i++) to[i] = (float)((const _Float16 *)pass->from)[i];
      break;
    case NARROW_FLOAT16:
      for (int64_t i = first; i < last; i++) ((_Float16 *)pass->to)[i] = (_Float16)from[i];
      break;
#endif
    case WIDEN_BFLOAT16:
      for (int64_t i = first; i < last; i++) {
        uint32_t bits = (uint32_t)from_short[i] << 16;
        memcpy(to + i, &bits, 4);
      }
      break;
    case NARROW_BFLOAT16:
      for (int64_t i = first; i < last; i++) {
        uint32_t bits;
        memcpy(&bits, from + i, 4);
        to_short[i] = bfloat16_of(bits);
      }
      break;
    case RELU_FLOAT32: /* NaN stays NaN: oneDNN's makes it 0 */
      for (int64_t i = first; i < last; i++) to[i] = 0 > from[i] ? 0 : from[i];
      break;
    case RELU_SHORT: /* negative, and not beyond minus infinity where the NaNs are */
      for (int64_t i = first; i < last; i++)
        to_short[i] = from_short[i] & 0x8000 && from_short[i] <= (pass->infinity | 0x8000) ? 0 : from_short[i];
      break;
  }
}

int onednn_converts_float16(void) {
#ifdef __FLT16_MAX__
  return 1;
#else
  return 0;
#endif
}

#define SERIAL_ELEMENTS 16384

static void pass_over(const struct step *step, const void *from, void *to, int threads) {
  struct pass pass = {.from = from, .to = to, .kind = step->kind, .count = step->count, .infinity = step->infinity};
  pass.function.invoke = pass_part;
  parallel_for(step->count < SERIAL_ELEMENTS ? 1 : threads, threads, &pass.function);
}

/* ---- a call ----------------------------------------------------------------------------------------------------- */

static int run_in(const struct plan *plan, void **buffers, struct context *context) {
  void *addresses[plan->places + 1], *memories[plan->places + 1];
  int status = 0;
  int64_t made = 0;
  for (; made < plan->places && !status; made++) {
    const struct place *place = plan->place + made;
    addresses[made] = place->kind == BUFFER ? buffers[place->value] : (char *)context->scratch + place->value;
    memories[made] = NULL;
    if (place->description) status = library.memory_create(&memories[made], place->description, library.engine, addresses[made]);
  }
  for (int64_t i = 0; i < plan->steps && !status; i++) {
    const struct step *step = plan->step + i;
    const struct argument *argument = plan->argument + step->first;
    if (step->kind != EXECUTE) {
      pass_over(step, addresses[argument[0].place], addresses[argument[1].place], (int)plan->threads);
      continue;
    }
    struct executed executed[step->count + 1];
    memset(executed, 0, sizeof executed);
    for (int64_t k = 0; k < step->count; k++) {
      executed[k].name = (int)argument[k].name;
      executed[k].memory = memories[argument[k].place];
    }
    status = library.primitive_execute(step->primitive, context->stream, (int)step->count, executed);
  }
  while (made-- > 0)
    if (memories[made]) library.memory_destroy(memories[made]);
  return status;
}

/* 0, NO_MEMORY, or oneDNN's status. Any number of threads may call it at once, with one plan or several. */
int onednn_run(void *state, void **buffers) {
  const struct plan *plan = state;
  struct context *context = take_context((int)plan->threads, plan->scratch_bytes);
  if (!context) return NO_MEMORY;
  int status = context->scratch_bytes < plan->scratch_bytes ? NO_MEMORY : run_in(plan, buffers, context);
  give_back(context);
  return status;
}
