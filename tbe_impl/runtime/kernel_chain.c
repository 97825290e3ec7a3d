/* Runs a kernel sequence. Each kernel reads and writes buffers of the caller, or scratch memory
   that lasts for one call. */
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef int (*plain_function)(void **buffers, const int64_t *numbers, int64_t threads);
typedef int (*stateful_function)(void *state, void **buffers);

struct step {
  void *function, *state; /* with a state: a `stateful_function` */
  const int64_t *numbers, *operands; /* operand: buffer index, or -1 - scratch offset */
  int64_t count, threads;
};

struct chain {
  int64_t steps, scratch_bytes;
  const struct step *step;
};

#define ALIGNMENT 64
#define NO_MEMORY 72

struct scratch {
  int64_t bytes;
  char content[];
};

/* Scratch memory cached from the last call; fresh memory costs one page fault per page. */
static _Atomic(struct scratch *) kept;

static struct scratch *take(int64_t bytes) {
  struct scratch *found = atomic_exchange(&kept, NULL);
  if (found && found->bytes >= bytes) return found;
  free(found);
  void *made;
  if (posix_memalign(&made, ALIGNMENT, (size_t)bytes + ALIGNMENT)) return NULL;
  found = made;
  found->bytes = bytes;
  return found;
}

static void give_back(struct scratch *scratch) { free(atomic_exchange(&kept, scratch)); }

/* Returns the cached memory to the system. */
void chain_free_scratch(void) { give_back(NULL); }

static int forked;

/* A forked child usually computes beside its siblings, so it uses one thread. */
static void in_child(void) { forked = 1; }
__attribute__((constructor)) static void at_fork(void) { pthread_atfork(NULL, NULL, in_child); }

/* Returns 0, or the status of the failed step. Thread-safe, for one sequence or several. */
int chain_run(void *state, void **buffers) {
  const struct chain *chain = state;
  struct scratch *scratch = NULL;
  if (chain->scratch_bytes && !(scratch = take(chain->scratch_bytes))) return NO_MEMORY;
  char *memory = scratch ? (char *)scratch + ALIGNMENT : NULL;
  int status = 0;
  for (int64_t i = 0; i < chain->steps && !status; i++) {
    const struct step *step = chain->step + i;
    void *given[step->count + 1];
    for (int64_t k = 0; k < step->count; k++) {
      int64_t operand = step->operands[k];
      given[k] = operand >= 0 ? buffers[operand] : memory + (-1 - operand);
    }
    status = step->state ? ((stateful_function)step->function)(step->state, given)
                         : ((plain_function)step->function)(given, step->numbers, forked ? 0 : step->threads);
  }
  if (scratch) give_back(scratch);
  return status;
}
