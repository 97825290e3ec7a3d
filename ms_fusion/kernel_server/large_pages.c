/* Collapses the process's anonymous memory into 2 MiB pages (MADV_COLLAPSE), which reduces TLB
   misses on tensors and on MindSpore's data structures. Each kernel launch first does a small part
   of this work, of about 1 ms. */
#ifdef __linux__
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* since Linux 6.1; older kernels return an error */
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

enum {
  LARGE_PAGE = 2 << 20,
  SMALL_PAGES = LARGE_PAGE / 4096,
  /* a range with fewer resident small pages is not collapsed: memory grows by a seventh at most */
  LEAST_PRESENT = SMALL_PAGES / 8 * 7,
  MOST_RANGES = 1024,
  /* consecutive failures after which the system is assumed to have no large pages left */
  MOST_REFUSED = 16,
  KERNELS = 1 << 12,
  MOVED = 1 << 15
};
/* A process that runs shorter than FIRST_NS is not delayed. A longer one spends a third of its time
   in this file until all pages are collapsed. */
static const int64_t FIRST_NS = 250000000, PIECE_NS = 1000000, OTHERS_SHARE = 2, LATER = 4;

static struct { uintptr_t next, end; } ranges[MOST_RANGES];
static int range, range_count, refused;
static int64_t rest_ns;
/* Hash table of collapsed pages. It avoids a second request for the same page, which would take as
   long as a small kernel. */
static uint32_t moved[MOVED];
static atomic_flag moving = ATOMIC_FLAG_INIT;
static _Atomic int64_t due_ns;
static atomic_int has_new_kernels;
static _Atomic uint32_t kernels_seen[KERNELS / 32];

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static int large_pages_allowed(void) {
  char modes[64] = "";
  FILE *file = fopen("/sys/kernel/mm/transparent_hugepage/enabled", "re");
  int allowed = file && fgets(modes, sizeof modes, file) && !strstr(modes, "[never]");
  if (file) fclose(file);
  return allowed;
}

/* Fills `ranges` with the large pages that fit into each private anonymous mapping. */
static void find_ranges(void) {
  char line[512], access[5], name[8];
  unsigned long start, end, inode;
  FILE *maps = fopen("/proc/self/maps", "re");
  range = range_count = refused = 0;
  while (maps && range_count < MOST_RANGES && fgets(line, sizeof line, maps)) {
    *name = 0;
    if (sscanf(line, "%lx-%lx %4s %*s %*s %lu %7s", &start, &end, access, &inode, name) < 4) continue;
    if (strcmp(access, "rw-p") || inode || (*name && strcmp(name, "[heap]") && strncmp(name, "[anon", 5))) continue;
    uintptr_t first = (start + LARGE_PAGE - 1) / LARGE_PAGE * LARGE_PAGE;
    if (first + LARGE_PAGE > end) continue;
    ranges[range_count].next = first;
    ranges[range_count++].end = end;
  }
  if (maps) fclose(maps);
}

/* Collapses one page; fails for memory that has been unmapped since. */
static void move_page(uintptr_t at) {
  const uint32_t number = (uint32_t)(at / LARGE_PAGE);
  unsigned char states[SMALL_PAGES];
  int present = 0;
  if (moved[number % MOVED] == number || mincore((void *)at, LARGE_PAGE, states)) return;
  for (int i = 0; i < SMALL_PAGES; i++) present += states[i] & 1;
  if (present < LEAST_PRESENT) return;
  if (!madvise((void *)at, LARGE_PAGE, MADV_COLLAPSE)) {
    refused = 0;
    moved[number % MOVED] = number;
  } else if (errno != EINVAL) { /* EINVAL returns fast: the page cannot be collapsed, or none can */
    refused++;
  }
}

/* Collapses the next pages for at most PIECE_NS. */
static void move_some(int64_t start) {
  if (atomic_exchange(&has_new_kernels, 0)) range = range_count = 0, rest_ns = FIRST_NS;
  if (range == range_count && large_pages_allowed()) find_ranges();
  int64_t now = start;
  while (range < range_count && refused < MOST_REFUSED && now - start < PIECE_NS) {
    uintptr_t at = ranges[range].next;
    ranges[range].next += LARGE_PAGE;
    if (at + 2 * LARGE_PAGE > ranges[range].end) range++;
    move_page(at);
    now = now_ns();
  }
  if (range == range_count || refused == MOST_REFUSED) {
    /* The next pass starts after a growing interval, because a process allocates less and less. */
    range = range_count = 0;
    rest_ns *= LATER;
    now += rest_ns;
  }
  atomic_store(&due_ns, now + OTHERS_SHARE * (now - start));
}

/* Called before each kernel launch. The first launch of a kernel schedules a pass over the
   process's memory. */
static void large_pages(void *kernel) {
  int64_t now = now_ns();
  uint32_t number = (uint32_t)((uintptr_t)kernel >> 4) * UINT32_C(2654435769) >> 20, bit = UINT32_C(1) << number % 32;
  if (!(atomic_load_explicit(&kernels_seen[number / 32], memory_order_relaxed) & bit)) {
    atomic_fetch_or(&kernels_seen[number / 32], bit);
    atomic_store(&has_new_kernels, 1);
    atomic_store(&due_ns, now + FIRST_NS);
  }
  if (now < atomic_load_explicit(&due_ns, memory_order_relaxed) || atomic_flag_test_and_set(&moving)) return;
  int before = errno;
  move_some(now);
  errno = before;
  atomic_flag_clear(&moving);
}
#else
#define large_pages(kernel) ((void)0)
#endif
