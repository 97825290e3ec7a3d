#include "vector_math.h"
#include "runtime.h"
typedef int32_t element;
typedef int32_t work;
#define MEMORY(name) i32_##name
#define WORK(name) i32_##name
#define READ(p) (*(p))
#define CHANGE(a, b) ((a) * (b))
#define CHANGE_ONE(a, b) ((a) * (b))
#define IS_NARROW 0
#define FIRST (SPLAT(i32v, INT64_C(1)))[0]
#define NEUTRAL (SPLAT(i32v, INT64_C(1)))[0]
#define IS_EXCLUSIVE 1
#define IS_REVERSE 1
#include "scans.h"
int k_running_products_backwards(void **b, const int64_t *s, int64_t threads) {
  const int64_t rows = INT64_C(1);
  const int64_t steps = INT64_C(8);
  const int64_t width = INT64_C(5);
  if (rows*steps*width < 524288) {
    threads = 1;
  }
  (void)s;
  running(b[0], b[1], rows, steps, width, threads);
  return 0;
}
