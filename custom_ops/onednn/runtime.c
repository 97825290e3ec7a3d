/* Runs the prepared oneDNN steps and our own passes, on plain pointers. */

/* oneDNN functions that the runtime calls; each returns 0 on success. */
struct library {
  int (*memory_create)(void **memory, const void *description, void *engine, void *handle);
  int (*memory_destroy)(void *memory);
  int (*memory_set_data_handle)(void *memory, void *handle);
  int (*stream_create)(void **stream, void *engine, void *pool);
  int (*primitive_execute)(const void *primitive, void *stream, int count, const void *arguments);
  void *engine;
};

enum { BUFFER, SCRATCH };

struct place {
  const void *description; /* NULL: touched by passes only */
  int64_t kind, value;     /* buffer index, or offset in the scratch memory */
  int64_t offset;          /* further offset in bytes */
};

struct step {
  const void *primitive;
  int64_t kind;     /* an enumerator of passes.c */
  int64_t first;    /* index of the first argument; a pass has source and target */
  int64_t count;    /* of arguments; pass: of elements; piece: of its steps, which follow */
  int64_t number;   /* parameter of a pass */
};

struct argument {
  int64_t name, place;
};

struct plan {
  int64_t places, steps, scratch_bytes, threads;
  const struct place *place;
  const struct step *step;
  const struct argument *argument;
  struct memories *memories; /* free list: not in use by a call */
};

/* oneDNN memory objects of a plan's places; each call sets their addresses. */
struct memories {
  struct memories *following;
  void *memory[];
};

struct executed {
  int name;
  void *memory;
};

/* Resources of one call at a time, cached for the next. */
struct context {
  struct pool pool;
  void *stream;
  void *scratch;
  int64_t scratch_bytes;
  struct context *following;
};

#define NO_MEMORY 101

static struct library library;
static struct context *contexts;
static pthread_mutex_t choosing = PTHREAD_MUTEX_INITIALIZER;

static void forget_after_fork(void) {
  choosing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
}

/* Binds oneDNN once per process, because prepared primitives belong to their engine. Returns the
   engine in use. */
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

/* Returns the bytes of scratch memory that no call is using. */
int64_t onednn_scratch_bytes(void) {
  int64_t whole = 0;
  pthread_mutex_lock(&choosing);
  for (struct context *context = contexts; context; context = context->following) whole += context->scratch_bytes;
  pthread_mutex_unlock(&choosing);
  return whole;
}

/* Returns that memory to the system. */
void onednn_free_scratch(void) {
  pthread_mutex_lock(&choosing);
  for (struct context *context = contexts; context; context = context->following) {
    free(context->scratch);
    context->scratch = NULL;
    context->scratch_bytes = 0;
  }
  pthread_mutex_unlock(&choosing);
}

static void destroy(struct memories *memories, int64_t places) {
  for (int64_t i = 0; i < places; i++)
    if (memories->memory[i]) library.memory_destroy(memories->memory[i]);
  free(memories);
}

static struct memories *take_memories(struct plan *plan) {
  pthread_mutex_lock(&choosing);
  struct memories *memories = plan->memories;
  if (memories) plan->memories = memories->following;
  pthread_mutex_unlock(&choosing);
  if (memories) return memories;
  memories = calloc(1, sizeof *memories + (size_t)plan->places * sizeof *memories->memory);
  for (int64_t i = 0; memories && i < plan->places; i++) {
    const void *description = plan->place[i].description;
    if (description && library.memory_create(memories->memory + i, description, library.engine, NULL)) {
      memories->memory[i] = NULL;
      destroy(memories, plan->places);
      return NULL;
    }
  }
  return memories;
}

static void give_memories_back(struct plan *plan, struct memories *memories) {
  pthread_mutex_lock(&choosing);
  memories->following = plan->memories;
  plan->memories = memories;
  pthread_mutex_unlock(&choosing);
}

/* Destroys the memory objects of a plan; no call may be in progress. */
void onednn_forget(void *state) {
  struct plan *plan = state;
  while (plan->memories) {
    struct memories *memories = plan->memories;
    plan->memories = memories->following;
    destroy(memories, plan->places);
  }
}

/* One call: the addresses of its plan's places. */
struct call {
  const struct plan *plan;
  void **addresses, **memory;
};

static int execute(const struct call *call, const struct step *step, void *stream) {
  const struct argument *argument = call->plan->argument + step->first;
  struct executed executed[step->count + 1];
  memset(executed, 0, sizeof executed);
  for (int64_t k = 0; k < step->count; k++) {
    executed[k].name = (int)argument[k].name;
    executed[k].memory = call->memory[argument[k].place];
  }
  return library.primitive_execute(step->primitive, stream, (int)step->count, executed);
}

/* Consecutive pieces. Threads take one piece at a time and do not share its steps. */
struct pieces {
  struct function function;
  const struct call *call;
  const struct step **piece;
  atomic_int status;
};

static void piece_part(const struct function *self, int *index, int *count) {
  (void)count;
  struct pieces *pieces = (struct pieces *)self;
  const struct step *piece = pieces->piece[*index];
  struct context *context = take_context(1, 0);
  int status = context ? 0 : NO_MEMORY;
  for (int64_t i = 1; i <= piece->count && !status; i++) status = execute(pieces->call, piece + i, context->stream);
  if (context) give_back(context);
  if (status) atomic_store(&pieces->status, status);
}

/* Runs the consecutive pieces that start at `step`; returns their number of steps. */
static int64_t run_pieces(const struct call *call, const struct step *step, int64_t steps, int *status) {
  const struct step *piece[steps];
  int count = 0;
  int64_t whole = 0;
  for (; whole < steps && step[whole].kind == PIECE; whole += 1 + step[whole].count) piece[count++] = step + whole;
  struct pieces pieces = {{.invoke = piece_part}, call, piece, 0};
  parallel_for((int)call->plan->threads, count, &pieces.function);
  *status = atomic_load(&pieces.status);
  return whole;
}

static int run_in(const struct plan *plan, void **buffers, struct context *context, void **memory) {
  void *addresses[plan->places + 1];
  const struct call call = {plan, addresses, memory};
  int status = 0;
  for (int64_t i = 0; i < plan->places && !status; i++) {
    const struct place *place = plan->place + i;
    char *begin = place->kind == BUFFER ? buffers[place->value] : (char *)context->scratch + place->value;
    addresses[i] = begin + place->offset;
    if (memory[i]) status = library.memory_set_data_handle(memory[i], addresses[i]);
  }
  for (int64_t i = 0; i < plan->steps && !status;) {
    const struct step *step = plan->step + i;
    if (step->kind == PIECE) {
      i += run_pieces(&call, step, plan->steps - i, &status);
      continue;
    }
    if (step->kind == EXECUTE) {
      status = execute(&call, step, context->stream);
    } else {
      const struct argument *argument = plan->argument + step->first;
      struct pass pass = {{.invoke = pass_part}, addresses[argument[0].place], addresses[argument[1].place], step->kind, step->count, step->number};
      pass_over(&pass, (int)plan->threads);
    }
    i++;
  }
  return status;
}

/* Returns 0, NO_MEMORY, or oneDNN's status. Thread-safe, for one plan or several. */
int onednn_run(void *state, void **buffers) {
  struct plan *plan = state;
  struct context *context = take_context((int)plan->threads, plan->scratch_bytes);
  if (!context) return NO_MEMORY;
  struct memories *memories = take_memories(plan);
  int status = NO_MEMORY;
  if (memories && context->scratch_bytes >= plan->scratch_bytes) status = run_in(plan, buffers, context, memories->memory);
  if (memories) give_memories_back(plan, memories);
  give_back(context);
  return status;
}
