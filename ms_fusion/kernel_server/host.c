/* Where the libraries of kernels that are prepared in the user's process find what to call, and who wants to know of launches. */
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

/* 0 when `result` can be called. */
int ms_fusion_host_prepare(const char *name, struct hosted *result) { return prepare ? prepare(name, result) : 1; }

enum { MOST_BUFFERS = 64 };

/* What MindSpore launched while somebody watched: how many kernels, and the first of them as it was called. */
struct launches {
  atomic_int number;
  int count; /* of the first one's buffers; 0 where there are more, or nobody knows */
  const char *name;
  void *kernel;
  void *buffers[MOST_BUFFERS];
};

static struct launches launches;
static atomic_int watched;

/* Kernels call it before they compute, each with its name, itself, and what MindSpore gave it. */
void ms_fusion_launched(const char *name, void *kernel, int count, void **buffers) {
  large_pages(kernel);
  if (!atomic_load_explicit(&watched, memory_order_relaxed) || atomic_fetch_add(&launches.number, 1)) return;
  launches.name = name;
  launches.kernel = kernel;
  launches.count = count <= MOST_BUFFERS ? count : 0;
  memcpy(launches.buffers, buffers, launches.count * sizeof *buffers);
}

/* From now on, or until now; one at a time. */
struct launches *ms_fusion_watch(int begin) {
  if (begin) atomic_store(&launches.number, 0);
  atomic_store(&watched, begin);
  return &launches;
}
