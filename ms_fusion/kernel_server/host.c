/* Registry in the user's process. It holds the callback that prepares the kernels of stubs, and the
   launch log. */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

struct hosted {
  int (*function)(void *state, void **buffers);
  void *state;
};

typedef int (*prepare_function)(const char *name, struct hosted *result);
static prepare_function prepare;

void ms_fusion_host_set(prepare_function given) { prepare = given; }

/* Prepares the kernel `name`; returns 0 if the function in `result` can be called. */
int ms_fusion_host_prepare(const char *name, struct hosted *result) { return prepare ? prepare(name, result) : 1; }

enum { MOST_BUFFERS = 64 };

/* Log of a watch: the number of launches, and the arguments of the first launch. */
struct launches {
  atomic_int number;
  int count; /* buffers of the first launch; 0 if unknown or more than MOST_BUFFERS */
  const char *name;
  void *kernel;
  void *buffers[MOST_BUFFERS];
};

static struct launches launches;
static atomic_int watched;

/* Each kernel calls this function before it computes. `kernel` is the address of the entry. */
void ms_fusion_launched(const char *name, void *kernel, int count, void **buffers) {
  large_pages(kernel);
  if (!atomic_load_explicit(&watched, memory_order_relaxed) || atomic_fetch_add(&launches.number, 1)) return;
  launches.name = name;
  launches.kernel = kernel;
  launches.count = count <= MOST_BUFFERS ? count : 0;
  memcpy(launches.buffers, buffers, launches.count * sizeof *buffers);
}

/* Begins or ends a watch and returns its log; only one watch may be active. */
struct launches *ms_fusion_watch(int begin) {
  if (begin) atomic_store(&launches.number, 0);
  atomic_store(&watched, begin);
  return &launches;
}
