/* A kernel that is prepared at its first call, in the calling process. The macro NAME is the
   kernel's name, COUNT its number of buffers. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_OF(name) #name
#define TEXT(name) TEXT_OF(name)

struct hosted {
  int (*function)(void *state, void **buffers);
  void *state;
};

static struct hosted hosted;
static atomic_int ready;
static pthread_mutex_t preparing = PTHREAD_MUTEX_INITIALIZER;

static void give_up(const char *why) {
  fprintf(stderr, "ms_fusion: kernel " TEXT(NAME) " %s\n", why);
  abort();
}

extern void ms_fusion_launched(const char *, void *, int, void **) __attribute__((weak));

void NAME(void *callback, int *threads, void **buffers) {
  (void)callback;
  (void)threads;
  if (ms_fusion_launched) ms_fusion_launched(TEXT(NAME), (void *)NAME, COUNT, buffers);
  if (!atomic_load_explicit(&ready, memory_order_acquire)) {
    pthread_mutex_lock(&preparing);
    if (!atomic_load(&ready)) {
      int (*prepare)(const char *, struct hosted *) = (int (*)(const char *, struct hosted *))dlsym(RTLD_DEFAULT, "ms_fusion_host_prepare");
      if (!prepare) give_up("needs the process that built it: import ms_fusion and enable it there");
      if (prepare(TEXT(NAME), &hosted)) give_up("could not be prepared");
      atomic_store_explicit(&ready, 1, memory_order_release);
    }
    pthread_mutex_unlock(&preparing);
  }
  const unsigned long floats = keep_subnormals();
  const int failed = hosted.function(hosted.state, buffers);
  restore_subnormals(floats);
  if (failed) give_up("failed");
}
