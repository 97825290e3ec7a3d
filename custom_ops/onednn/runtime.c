/* Runs prepared steps of oneDNN and passes of our own, from plain pointers. */

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
  int64_t kind;     /* one of the enumeration of the passes */
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
  forget_threads();
  choosing = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
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
      struct pass pass = {{.invoke = pass_part}, addresses[argument[0].place], addresses[argument[1].place], step->kind, step->count, step->infinity};
      pass_over(&pass, (int)plan->threads);
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
