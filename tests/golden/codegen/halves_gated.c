#include "vector_math.h"
#include "runtime.h"
static void k_halves_gated_nest0(void **b, const int64_t *s, int64_t begin, int64_t end, const int stream) {
  float *p0 = (float *)b[0];
  float *p1 = (float *)b[1];
  (void)b; (void)s; (void)begin; (void)end;
  {
    int64_t i0 = begin;
    for (; i0 + 4 <= end; i0 += 4) {
      {
        int64_t i1 = 0;
        #if LOOP_FISSION
        for (; i1 + SIGMOID_STRIP*LANES <= INT64_C(21); i1 += SIGMOID_STRIP*LANES) {
          const int64_t i1_strip = i1;
          f32p_sigmoid_begun v2_begun[SIGMOID_STRIP];
          f32p v2_far = {0};
          f32p_sigmoid_begun v2_r1_begun[SIGMOID_STRIP];
          f32p v2_r1_far = {0};
          f32p_sigmoid_begun v2_r2_begun[SIGMOID_STRIP];
          f32p v2_r2_far = {0};
          f32p_sigmoid_begun v2_r3_begun[SIGMOID_STRIP];
          f32p v2_r3_far = {0};
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
            const f32v v1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1050));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1071));
            const f32v v1_r1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(63));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1092));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1113));
            const f32v v1_r2 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(105));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1134));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1155));
            const f32v v1_r3 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(147));
            v2_begun[at] = f32p_sigmoid_begin(v1);
            v2_far = f32p_sigmoid_farther(v1, v2_far);
            v2_r1_begun[at] = f32p_sigmoid_begin(v1_r1);
            v2_r1_far = f32p_sigmoid_farther(v1_r1, v2_r1_far);
            v2_r2_begun[at] = f32p_sigmoid_begin(v1_r2);
            v2_r2_far = f32p_sigmoid_farther(v1_r2, v2_r2_far);
            v2_r3_begun[at] = f32p_sigmoid_begin(v1_r3);
            v2_r3_far = f32p_sigmoid_farther(v1_r3, v2_r3_far);
          }
          if (f32p_sigmoid_any_far(v2_far) || f32p_sigmoid_any_far(v2_r1_far) || f32p_sigmoid_any_far(v2_r2_far) || f32p_sigmoid_any_far(v2_r3_far)) {
            #pragma GCC unroll 1
            for (int at = 0; at < SIGMOID_STRIP; at++) {
              const int64_t i1 = i1_strip + at*LANES;
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
              const f32v v0 = f32_load(p0 + INT64_C(42)*i0 + i1);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
              const f32v v1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
              const f32v v2 = f32_sigmoid(v1);
              const f32v v3 = (v0 * v2);
              f32_store(p1 + INT64_C(21)*i0 + i1, v3);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1050));
              const f32v v0_r1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(42));
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1071));
              const f32v v1_r1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(63));
              const f32v v2_r1 = f32_sigmoid(v1_r1);
              const f32v v3_r1 = (v0_r1 * v2_r1);
              f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v3_r1);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1092));
              const f32v v0_r2 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(84));
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1113));
              const f32v v1_r2 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(105));
              const f32v v2_r2 = f32_sigmoid(v1_r2);
              const f32v v3_r2 = (v0_r2 * v2_r2);
              f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v3_r2);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1134));
              const f32v v0_r3 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(126));
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1155));
              const f32v v1_r3 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(147));
              const f32v v2_r3 = f32_sigmoid(v1_r3);
              const f32v v3_r3 = (v0_r3 * v2_r3);
              f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v3_r3);
            }
            continue;
          }
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            const f32v v0 = f32_load(p0 + INT64_C(42)*i0 + i1);
            const f32v v2 = f32p_sigmoid_end(v2_begun[at]);
            const f32v v3 = (v0 * v2);
            f32_store(p1 + INT64_C(21)*i0 + i1, v3);
            const f32v v0_r1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(42));
            const f32v v2_r1 = f32p_sigmoid_end(v2_r1_begun[at]);
            const f32v v3_r1 = (v0_r1 * v2_r1);
            f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v3_r1);
            const f32v v0_r2 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(84));
            const f32v v2_r2 = f32p_sigmoid_end(v2_r2_begun[at]);
            const f32v v3_r2 = (v0_r2 * v2_r2);
            f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v3_r2);
            const f32v v0_r3 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(126));
            const f32v v2_r3 = f32p_sigmoid_end(v2_r3_begun[at]);
            const f32v v3_r3 = (v0_r3 * v2_r3);
            f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v3_r3);
          }
        }
        #endif
        for (; i1 + LANES <= INT64_C(21); i1 += LANES) {
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
          const f32v v0 = f32_load(p0 + INT64_C(42)*i0 + i1);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
          const f32v v1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
          const f32v v2 = f32_sigmoid(v1);
          const f32v v3 = (v0 * v2);
          f32_store(p1 + INT64_C(21)*i0 + i1, v3);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1050));
          const f32v v0_r1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(42));
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1071));
          const f32v v1_r1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(63));
          const f32v v2_r1 = f32_sigmoid(v1_r1);
          const f32v v3_r1 = (v0_r1 * v2_r1);
          f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v3_r1);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1092));
          const f32v v0_r2 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(84));
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1113));
          const f32v v1_r2 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(105));
          const f32v v2_r2 = f32_sigmoid(v1_r2);
          const f32v v3_r2 = (v0_r2 * v2_r2);
          f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v3_r2);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1134));
          const f32v v0_r3 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(126));
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1155));
          const f32v v1_r3 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(147));
          const f32v v2_r3 = f32_sigmoid(v1_r3);
          const f32v v3_r3 = (v0_r3 * v2_r3);
          f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v3_r3);
        }
        if (i1 < INT64_C(21)) {
          const int i1_rest = (int)(INT64_C(21) - i1);
          const f32v v0 = f32_load_part(p0 + INT64_C(42)*i0 + i1, i1_rest);
          const f32v v1 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(21), i1_rest);
          const f32v v2 = f32_sigmoid(v1);
          const f32v v3 = (v0 * v2);
          f32_store_part(p1 + INT64_C(21)*i0 + i1, v3, i1_rest);
          const f32v v0_r1 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(42), i1_rest);
          const f32v v1_r1 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(63), i1_rest);
          const f32v v2_r1 = f32_sigmoid(v1_r1);
          const f32v v3_r1 = (v0_r1 * v2_r1);
          f32_store_part(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v3_r1, i1_rest);
          const f32v v0_r2 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(84), i1_rest);
          const f32v v1_r2 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(105), i1_rest);
          const f32v v2_r2 = f32_sigmoid(v1_r2);
          const f32v v3_r2 = (v0_r2 * v2_r2);
          f32_store_part(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v3_r2, i1_rest);
          const f32v v0_r3 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(126), i1_rest);
          const f32v v1_r3 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(147), i1_rest);
          const f32v v2_r3 = f32_sigmoid(v1_r3);
          const f32v v3_r3 = (v0_r3 * v2_r3);
          f32_store_part(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v3_r3, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        #if LOOP_FISSION
        for (; i1 + SIGMOID_STRIP*LANES <= INT64_C(21); i1 += SIGMOID_STRIP*LANES) {
          const int64_t i1_strip = i1;
          f32p_sigmoid_begun v2_begun[SIGMOID_STRIP];
          f32p v2_far = {0};
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
            const f32v v1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
            v2_begun[at] = f32p_sigmoid_begin(v1);
            v2_far = f32p_sigmoid_farther(v1, v2_far);
          }
          if (f32p_sigmoid_any_far(v2_far)) {
            #pragma GCC unroll 1
            for (int at = 0; at < SIGMOID_STRIP; at++) {
              const int64_t i1 = i1_strip + at*LANES;
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
              const f32v v0 = f32_load(p0 + INT64_C(42)*i0 + i1);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
              const f32v v1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
              const f32v v2 = f32_sigmoid(v1);
              const f32v v3 = (v0 * v2);
              f32_store(p1 + INT64_C(21)*i0 + i1, v3);
            }
            continue;
          }
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            const f32v v0 = f32_load(p0 + INT64_C(42)*i0 + i1);
            const f32v v2 = f32p_sigmoid_end(v2_begun[at]);
            const f32v v3 = (v0 * v2);
            f32_store(p1 + INT64_C(21)*i0 + i1, v3);
          }
        }
        #endif
        for (; i1 + LANES <= INT64_C(21); i1 += LANES) {
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
          const f32v v0 = f32_load(p0 + INT64_C(42)*i0 + i1);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
          const f32v v1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
          const f32v v2 = f32_sigmoid(v1);
          const f32v v3 = (v0 * v2);
          f32_store(p1 + INT64_C(21)*i0 + i1, v3);
        }
        if (i1 < INT64_C(21)) {
          const int i1_rest = (int)(INT64_C(21) - i1);
          const f32v v0 = f32_load_part(p0 + INT64_C(42)*i0 + i1, i1_rest);
          const f32v v1 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(21), i1_rest);
          const f32v v2 = f32_sigmoid(v1);
          const f32v v3 = (v0 * v2);
          f32_store_part(p1 + INT64_C(21)*i0 + i1, v3, i1_rest);
        }
      }
    }
  }
}
int k_halves_gated(void **b, const int64_t *s, int64_t threads) {
  int missing = 0;
  k_halves_gated_nest0(b, s, 0, INT64_C(4), 0);
  goto done;
  done:
  (void)s; (void)threads;
  return missing;
}
const char graph_mark = 1;
