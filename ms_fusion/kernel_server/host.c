/* Where the libraries of kernels that are prepared in the user's process find what to call. */
#include <stddef.h>

struct hosted {
  int (*function)(void *state, void **buffers);
  void *state;
};

typedef int (*prepare_function)(const char *name, struct hosted *result);
static prepare_function prepare;

void ms_fusion_host_set(prepare_function given) { prepare = given; }

/* 0 when `result` can be called. */
int ms_fusion_host_prepare(const char *name, struct hosted *result) { return prepare ? prepare(name, result) : 1; }
