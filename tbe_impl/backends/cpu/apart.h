/* Threads that do not share a processor with their caller.
 *
 * A system that wakes a sleeping worker may put it beside the thread that woke it, so that other processors can sleep. Both
 * then take turns on one processor, and a kernel takes as long as with one thread. A worker that finds itself there stays
 * off its caller's processor from then on; where else it runs is the system's choice, within what the caller may use. */
#pragma once

#if defined(_OPENMP)
#include <omp.h>
#define OMP_COUNT omp_get_num_threads()
#define OMP_NUMBER omp_get_thread_num()
#else
#define OMP_COUNT 1
#define OMP_NUMBER 0
#endif

/* who shares its work */
struct caller {
  int processor;
  long thread;
};

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>

extern int sched_getcpu(void); /* unistd.h and sched.h show it to GNU's programs only */
#define MAX_PROCESSORS 4096
#define WORD_BITS (8 * (int)sizeof(unsigned long))

static inline struct caller caller_here(void) { return (struct caller){sched_getcpu(), syscall(SYS_gettid)}; }

static __attribute__((noinline, cold)) void move_away(struct caller from) {
  unsigned long allowed[MAX_PROCESSORS / WORD_BITS] = {0};
  const long bytes = syscall(SYS_sched_getaffinity, from.thread, sizeof allowed, allowed);
  if (bytes <= 0 || from.processor >= MAX_PROCESSORS) return;
  allowed[from.processor / WORD_BITS] &= ~(1UL << from.processor % WORD_BITS);
  syscall(SYS_sched_setaffinity, 0, bytes, allowed); /* refused where there is no other */
}

/* The first thing that a worker does. */
static inline void stay_off(struct caller from) {
  if (from.processor >= 0 && sched_getcpu() == from.processor) move_away(from);
}
#else
static inline struct caller caller_here(void) { return (struct caller){-1, 0}; }
static inline void stay_off(struct caller from) { (void)from; }
#endif

/* The first thing that each thread of a parallel region does. */
static inline __attribute__((unused)) void keep_apart(struct caller from) {
  if (OMP_NUMBER) stay_off(from);
}
