#include "vector_math.h"
#include "runtime.h"
static void k_segment_sums_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.0000000000000p+0f));
      f32_store(p1 + i0, v1);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = (v0 + SPLAT(f32v, 0x1.0000000000000p+0f));
      f32_store_part(p1 + i0, v1, i0_rest);
    }
  }
}
int k_segment_sums(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_segment_sums_nest0(b, s, 0, INT64_C(161), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
#include "vector_math.h"
#include "runtime.h"
typedef float element;
typedef float work;
#define MEMORY(name) f32_##name
#define WORK(name) f32_##name
#define READ(p) (*(p))
#define CHANGE(a, b) ((a) + (b))
#define CHANGE_ONE(a, b) ((a) + (b))
#define IS_NARROW 0
typedef int32_t number;
#define START (SPLAT(f32v, 0x0.0p+0f))[0]
#define IS_FILLED 0
#define FILL (SPLAT(f32v, 0x0.0p+0f))[0]
#define END(sum, count) (sum)
#include "scatter.h"
int k_segment_sums(void **b, const int64_t *s, int64_t threads) {
  const int64_t rows = INT64_C(23);
  const int64_t width = INT64_C(7);
  const int64_t count = INT64_C(5);
  if (rows*width < 524288) {
    threads = 1;
  }
  (void)s;
  return numbered_rows(NULL, b[0], b[1], b[2], rows, width, count, 0, threads);
}
#include "vector_math.h"
#include "runtime.h"
static void k_segment_sums_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + LANES <= end; i0 += LANES) {
      const f32v v0 = f32_load(p0 + i0);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.0000000000000p+1f));
      f32_store(p1 + i0, v1);
    }
    if (i0 < end) {
      const int i0_rest = (int)(end - i0);
      const f32v v0 = f32_load_part(p0 + i0, i0_rest);
      const f32v v1 = (v0 * SPLAT(f32v, 0x1.0000000000000p+1f));
      f32_store_part(p1 + i0, v1, i0_rest);
    }
  }
}
int k_segment_sums(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_segment_sums_nest0(b, s, 0, INT64_C(35), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
