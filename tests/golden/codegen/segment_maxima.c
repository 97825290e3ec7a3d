#include "vector_math.h"
#include "runtime.h"
typedef float element;
typedef float work;
#define MEMORY(name) f32_##name
#define WORK(name) f32_##name
#define READ(p) (*(p))
#define CHANGE(a, b) f32_maximum((a), (b))
#define CHANGE_ONE(a, b) ((b) != (b) || (b) > (a) ? (b) : (a))
#define IS_NARROW 0
typedef int64_t number;
#define START (SPLAT(f32v, -__builtin_inff()))[0]
#define IS_FILLED 1
#define FILL (SPLAT(f32v, 0x0.0p+0f))[0]
#define END(sum, count) (sum)
#include "scatter.h"
int k_segment_maxima(void **b, const int64_t *s, int64_t threads) {
  const int64_t rows = INT64_C(23);
  const int64_t width = INT64_C(1);
  const int64_t count = INT64_C(4);
  if (rows*width < 524288) {
    threads = 1;
  }
  (void)s;
  return numbered_rows(NULL, b[0], b[1], b[2], rows, width, count, 1, threads);
}
