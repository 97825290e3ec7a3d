/* MindSpore's tensors lie in pages of 4 KiB, as malloc takes them; in pages of 2 MiB the processor finds them quicker. */
#ifdef __linux__
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* of Linux 6.1; an older one refuses it */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
  LARGE_PAGE = 2 << 20,
  /* moving a tensor takes as long as many calls: who calls once or twice does not wait for it */
  COLLAPSED_AT_SIGHT = 24,
  KNOWN_BUFFERS = 16
};

/* the first large page of each buffer, and in the bits that such an address leaves free how often it was seen */
static _Atomic uintptr_t known_buffers[KNOWN_BUFFERS];
static atomic_uint forgotten_next;

static int large_pages_allowed(void) {
  static atomic_int answer; /* 0: not asked yet, 1: yes, -1: no */
  int allowed = atomic_load_explicit(&answer, memory_order_relaxed);
  if (allowed) return allowed > 0;
  char modes[64] = "";
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
  allowed = file && fgets(modes, sizeof modes, file) && !strstr(modes, "[never]") ? 1 : -1;
  if (file) fclose(file);
  atomic_store_explicit(&answer, allowed, memory_order_relaxed);
  return allowed > 0;
}

/* Moves a buffer that is seen for the 24th time into large pages, as far as it fills them. Several threads may ask at once; at
   worst one buffer is moved twice, or not at all. */
static void large_pages(void *at, int64_t bytes) {
  uintptr_t first = ((uintptr_t)at + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
  uintptr_t end = ((uintptr_t)at + (uintptr_t)bytes) / LARGE_PAGE * LARGE_PAGE;
  if (first >= end) return;
  for (int i = 0; i < KNOWN_BUFFERS; i++) {
    uintptr_t known = atomic_load_explicit(&known_buffers[i], memory_order_relaxed);
    if (known / LARGE_PAGE * LARGE_PAGE != first) continue;
    if (known == first + COLLAPSED_AT_SIGHT) return;
    int counted = atomic_compare_exchange_strong(&known_buffers[i], &known, known + 1);
    if (counted && known + 1 == first + COLLAPSED_AT_SIGHT && large_pages_allowed()) {
      int before = errno;
      madvise((void *)first, end - first, MADV_COLLAPSE);
      errno = before;
    }
    return;
  }
  atomic_store(&known_buffers[atomic_fetch_add(&forgotten_next, 1) % KNOWN_BUFFERS], first + 1);
}
#else
#define large_pages(at, bytes) ((void)0)
#endif
