/* Entry points for MindSpore's custom operators. Each looks up the kernel for the shapes and dtypes
   of the call, and runs it. On a miss the `build` callback adds the kernel. */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS 256
#define NO_KERNEL 71
#define NO_MEMORY 72
#define ANY INT64_MIN
#define VARIABLES 64
#define TRIES 16
#define KEPT 64 /* capacity of each cache of a slot */

typedef int (*kernel_function)(void **buffers, const int64_t *sizes, int64_t threads);
typedef int (*stateful_function)(void *state, void **buffers);

struct kernel {
  int parameters, buffers, sizes;
  int64_t threads;
  const int *ranks;
  const int64_t *dims; /* of all parameters; -1 - v: variable v, at least 2; ANY: any */
  const char *const *dtypes;
  const int *buffer_parameter;               /* parameter index of each buffer */
  const int *size_parameter, *size_dimension; /* source of each size */
  const int64_t *numbers;                    /* passed instead of sizes; NULL: sizes */
  kernel_function function;                  /* NULL: computed by `run` */
  void *state;                               /* not NULL: argument of a `stateful_function` */
  int users;                                 /* calls in progress */
  struct kernel *next;
};

/* Callbacks into the loading program: build a missing kernel, infer shapes, infer dtypes, and run
   kernels that are not one C function. Each returns 0 on success. */
typedef int (*build_callback)(int slot, int parameters, const int *ranks, int64_t *const *shapes, const char *const *dtypes);
typedef int (*shapes_callback)(int slot, const int *ranks, int64_t *const *shapes, int64_t *result);
typedef int (*types_callback)(int slot, int count, const int *types, int64_t *result);
typedef int (*run_callback)(int slot, int parameters, void **data, const int *ranks, int64_t *const *shapes, const char *const *dtypes);

static struct kernel *kernels[SLOTS];
static int64_t calls;
static build_callback build;
static shapes_callback infer_shapes;
static types_callback infer_types;
static int input_counts[SLOTS];
static run_callback run;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards all lists */
static int forked;

/* A forked child usually computes beside its siblings, so it uses one thread. */
static void in_child(void) {
  lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
  forked = 1;
}
__attribute__((constructor)) static void at_fork(void) { pthread_atfork(NULL, NULL, in_child); }

int fused_slots(void) { return SLOTS; }

/* Number of kernel calls of this library. */
int64_t fused_calls(void) { return __atomic_load_n(&calls, __ATOMIC_RELAXED); }

void fused_callbacks(build_callback b, shapes_callback s, types_callback t, run_callback r) {
  build = b;
  infer_shapes = s;
  infer_types = t;
  run = r;
}

void fused_inputs(int slot, int count) { input_counts[slot] = count; }

/* `kernel` and all that it points to must stay alive until this function or a later call returns
   it: the least recently used kernel, once the cache is full. */
void *fused_add(int slot, struct kernel *kernel) {
  pthread_mutex_lock(&lock);
  kernel->next = kernels[slot];
  kernels[slot] = kernel;
  struct kernel **place = &kernels[slot], **last = NULL, *gone = NULL;
  for (int count = 1; *place; place = &(*place)->next, count++)
    if (count > KEPT && !__atomic_load_n(&(*place)->users, __ATOMIC_ACQUIRE)) last = place;
  if (last) {
    gone = *last;
    *last = gone->next;
  }
  pthread_mutex_unlock(&lock);
  return gone;
}

static int fits(const struct kernel *kernel, int parameters, const int *ranks, int64_t *const *shapes, const char *const *dtypes) {
  if (kernel->parameters != parameters) return 0;
  const int64_t *dim = kernel->dims;
  int64_t values[VARIABLES] = {0};
  for (int i = 0; i < parameters; i++) {
    if (kernel->ranks[i] != ranks[i] || strcmp(kernel->dtypes[i], dtypes[i])) return 0;
    for (int k = 0; k < ranks[i]; k++, dim++) {
      int64_t size = shapes[i][k];
      if (*dim >= 0 && *dim != size) return 0;
      if (*dim >= 0 || *dim == ANY) continue;
      int64_t *value = values + (-1 - *dim);
      if (size < 2 || (*value && *value != size)) return 0;
      *value = size;
    }
  }
  return 1;
}

/* Finds the kernel, moves it to the front of the list and increments its users; NULL on a miss. */
static struct kernel *take(int slot, int parameters, const int *ranks, int64_t *const *shapes, const char *const *dtypes) {
  pthread_mutex_lock(&lock);
  struct kernel **place = &kernels[slot];
  while (*place && !fits(*place, parameters, ranks, shapes, dtypes)) place = &(*place)->next;
  struct kernel *found = *place;
  if (found) {
    *place = found->next;
    found->next = kernels[slot];
    kernels[slot] = found;
    __atomic_fetch_add(&found->users, 1, __ATOMIC_RELAXED);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

/* Runs a kernel on its buffers; `shapes` is read only for dynamic sizes. */
static int run_in_c(const struct kernel *kernel, void *const *data, int64_t *const *shapes) {
  __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
  void *buffers[kernel->buffers + 1];
  int64_t sizes[kernel->sizes + 1];
  for (int i = 0; i < kernel->buffers; i++) buffers[i] = data[kernel->buffer_parameter[i]];
  if (kernel->state) return ((stateful_function)kernel->function)(kernel->state, buffers) ? NO_MEMORY : 0;
  for (int i = 0; i < kernel->sizes; i++) sizes[i] = shapes[kernel->size_parameter[i]][kernel->size_dimension[i]];
  const int64_t *numbers = kernel->numbers ? kernel->numbers : sizes;
  return kernel->function(buffers, numbers, forked ? 0 : kernel->threads) ? NO_MEMORY : 0;
}

/* Runs a kernel that the program has looked up. */
int fused_call(const struct kernel *kernel, void *const *data) { return run_in_c(kernel, data, NULL); }

__attribute__((noinline)) static int call(int slot, int parameters, void **data, int *ranks, int64_t **shapes, const char **dtypes) {
  const char *const *names = (const char *const *)dtypes;
  struct kernel *kernel;
  /* another thread's builds may evict a new kernel before it is taken */
  for (int tries = 0; !(kernel = take(slot, parameters, ranks, shapes, names)); tries++) {
    int failed = build && tries < TRIES ? build(slot, parameters, ranks, shapes, names) : NO_KERNEL;
    if (failed) return failed;
  }
  int status;
  if (kernel->function) {
    status = run_in_c(kernel, data, shapes);
  } else {
    __atomic_fetch_add(&calls, 1, __ATOMIC_RELAXED);
    status = run(slot, parameters, data, ranks, shapes, names);
  }
  __atomic_fetch_sub(&kernel->users, 1, __ATOMIC_RELEASE);
  return status;
}

/* Cached answers of the inference callbacks, so that each question of a slot reaches the program
   once. */
#define ROOM 16384
struct answer {
  size_t question_bytes, count;
  const void *question;
  const int64_t *numbers;
  struct answer *next;
};
static struct answer *shape_answers[SLOTS], *type_answers[SLOTS];

/* Returns whether the answer is cached, and copies it to `room`. */
static int remembered(struct answer *const *place, const void *question, size_t bytes, int64_t *room) {
  pthread_mutex_lock(&lock);
  const struct answer *known = *place;
  while (known && (known->question_bytes != bytes || memcmp(known->question, question, bytes))) known = known->next;
  if (known) memcpy(room, known->numbers, known->count * sizeof *room);
  pthread_mutex_unlock(&lock);
  return known != NULL;
}

/* Caches an answer and evicts the oldest of more than KEPT. */
static void remember(struct answer **place, const void *question, size_t bytes, const int64_t *numbers, size_t count) {
  struct answer *made = malloc(sizeof *made + bytes + count * sizeof *numbers);
  if (!made) return;
  int64_t *copy = (int64_t *)(made + 1);
  memcpy(copy, numbers, count * sizeof *numbers);
  memcpy(copy + count, question, bytes);
  made->question_bytes = bytes;
  made->count = count;
  made->question = copy + count;
  made->numbers = copy;
  pthread_mutex_lock(&lock);
  made->next = *place;
  *place = made;
  for (int left = KEPT; *place; place = &(*place)->next)
    if (!left--) {
      free(*place);
      *place = NULL;
      break;
    }
  pthread_mutex_unlock(&lock);
}

/* Memory layout of std::vector, whose destructor frees memory from malloc. */
struct vector {
  void *begin, *end, *room;
};

static struct vector vector_of(const void *content, size_t bytes) {
  struct vector made;
  made.begin = malloc(bytes ? bytes : 1);
  if (made.begin && bytes) memcpy(made.begin, content, bytes);
  made.end = made.room = (char *)made.begin + (made.begin ? bytes : 0);
  return made;
}

/* Number of outputs, then rank and sizes of each; 0 outputs on an error. `room` holds them. */
static const int64_t *shapes_of(int slot, const int *ranks, int64_t *const *shapes, int64_t *room) {
  int64_t question[ROOM];
  size_t asked = 0;
  int inputs = input_counts[slot];
  /* MindSpore passes no shapes for a non-tensor argument; Python's inference then names the
     argument */
  if (inputs && (!ranks || !shapes)) return memset(room, 0, sizeof *room);
  for (int i = 0; i < inputs; i++) {
    if (asked + ranks[i] + 1 > ROOM) return memset(room, 0, sizeof *room);
    question[asked++] = ranks[i];
    for (int k = 0; k < ranks[i]; k++) question[asked++] = shapes[i][k];
  }
  if (remembered(&shape_answers[slot], question, asked * sizeof *question, room)) return room;
  if (!infer_shapes || infer_shapes(slot, ranks, shapes, room)) return memset(room, 0, sizeof *room);
  size_t count = 1;
  for (int64_t i = 0; i < room[0]; i++) count += room[count] + 1;
  remember(&shape_answers[slot], question, asked * sizeof *question, room, count);
  return room;
}

__attribute__((noinline)) static struct vector one_shape(int slot, int *ranks, int64_t **shapes) {
  int64_t room[ROOM];
  const int64_t *found = shapes_of(slot, ranks, shapes, room);
  return vector_of(found + 2, found[0] ? (size_t)found[1] * sizeof *found : 0);
}

__attribute__((noinline)) static struct vector many_shapes(int slot, int *ranks, int64_t **shapes) {
  int64_t room[ROOM];
  const int64_t *found = shapes_of(slot, ranks, shapes, room);
  struct vector made[found[0] + 1];
  const int64_t *next = found + 1;
  for (int64_t i = 0; i < found[0]; i++, next += *next + 1) made[i] = vector_of(next + 1, (size_t)*next * sizeof *next);
  return vector_of(made, (size_t)found[0] * sizeof(struct vector));
}

/* Number of outputs, then MindSpore's dtype number of each. */
static const int64_t *types_of(int slot, const struct vector *types, int64_t *room) {
  const char *begin = types->begin;
  size_t bytes = (const char *)types->end - begin;
  if (remembered(&type_answers[slot], begin, bytes, room)) return room;
  if (!infer_types || infer_types(slot, (int)(bytes / sizeof(int)), types->begin, room)) return memset(room, 0, 2 * sizeof *room);
  remember(&type_answers[slot], begin, bytes, room, (size_t)room[0] + 1);
  return room;
}

__attribute__((noinline)) static int one_type(int slot, const struct vector *types) {
  int64_t room[ROOM];
  return (int)types_of(slot, types, room)[1];
}

__attribute__((noinline)) static struct vector many_types(int slot, const struct vector *types) {
  int64_t room[ROOM];
  const int64_t *found = types_of(slot, types, room);
  int made[found[0] + 1];
  for (int64_t i = 0; i < found[0]; i++) made[i] = (int)found[i + 1];
  return vector_of(made, (size_t)found[0] * sizeof(int));
}

#define ENTRY(n)                                                                                                      \
  int one_##n(int c, void **p, int *r, int64_t **s, const char **t, void *q, void *e) { return call(0x##n, c, p, r, s, t); }  \
  int many_##n(int c, void **p, int *r, int64_t **s, const char **t, void *q, void *e) { return call(0x##n, c, p, r, s, t); } \
  struct vector one_##n##InferShape(int *r, int64_t **s, void *e) { return one_shape(0x##n, r, s); }                  \
  struct vector many_##n##InferShape(int *r, int64_t **s, void *e) { return many_shapes(0x##n, r, s); }               \
  int one_##n##InferType(struct vector *t, void *e) { return one_type(0x##n, t); }                                    \
  struct vector many_##n##InferType(struct vector *t, void *e) { return many_types(0x##n, t); }
#define SIXTEEN(h)                                                                                                        \
  ENTRY(h##0) ENTRY(h##1) ENTRY(h##2) ENTRY(h##3) ENTRY(h##4) ENTRY(h##5) ENTRY(h##6) ENTRY(h##7)                    \
  ENTRY(h##8) ENTRY(h##9) ENTRY(h##a) ENTRY(h##b) ENTRY(h##c) ENTRY(h##d) ENTRY(h##e) ENTRY(h##f)
SIXTEEN(0) SIXTEEN(1) SIXTEEN(2) SIXTEEN(3)
SIXTEEN(4) SIXTEEN(5) SIXTEEN(6) SIXTEEN(7)
SIXTEEN(8) SIXTEEN(9) SIXTEEN(a) SIXTEEN(b)
SIXTEEN(c) SIXTEEN(d) SIXTEEN(e) SIXTEEN(f)
