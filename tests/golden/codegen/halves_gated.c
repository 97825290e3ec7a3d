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
        #if STRIPS
        for (; i1 + SIGMOID_STRIP*LANES <= INT64_C(21); i1 += SIGMOID_STRIP*LANES) {
          const int64_t i1_strip = i1;
          f32p_sigmoid_begun v2_begun[SIGMOID_STRIP];
          f32p v2_far = {0};
          f32p_sigmoid_begun v6_begun[SIGMOID_STRIP];
          f32p v6_far = {0};
          f32p_sigmoid_begun v10_begun[SIGMOID_STRIP];
          f32p v10_far = {0};
          f32p_sigmoid_begun v14_begun[SIGMOID_STRIP];
          f32p v14_far = {0};
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
            const f32v v1 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1050));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1071));
            const f32v v5 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(63));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1092));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1113));
            const f32v v9 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(105));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1134));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1155));
            const f32v v13 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(147));
            v2_begun[at] = f32p_sigmoid_begin(v1);
            v2_far = f32p_sigmoid_farther(v1, v2_far);
            v6_begun[at] = f32p_sigmoid_begin(v5);
            v6_far = f32p_sigmoid_farther(v5, v6_far);
            v10_begun[at] = f32p_sigmoid_begin(v9);
            v10_far = f32p_sigmoid_farther(v9, v10_far);
            v14_begun[at] = f32p_sigmoid_begin(v13);
            v14_far = f32p_sigmoid_farther(v13, v14_far);
          }
          if (f32p_sigmoid_any_far(v2_far) || f32p_sigmoid_any_far(v6_far) || f32p_sigmoid_any_far(v10_far) || f32p_sigmoid_any_far(v14_far)) {
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
              const f32v v4 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(42));
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1071));
              const f32v v5 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(63));
              const f32v v6 = f32_sigmoid(v5);
              const f32v v7 = (v4 * v6);
              f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v7);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1092));
              const f32v v8 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(84));
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1113));
              const f32v v9 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(105));
              const f32v v10 = f32_sigmoid(v9);
              const f32v v11 = (v8 * v10);
              f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v11);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1134));
              const f32v v12 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(126));
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1155));
              const f32v v13 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(147));
              const f32v v14 = f32_sigmoid(v13);
              const f32v v15 = (v12 * v14);
              f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v15);
            }
            continue;
          }
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            const f32v v0 = f32_load(p0 + INT64_C(42)*i0 + i1);
            const f32v v2 = f32p_sigmoid_end(v2_begun[at]);
            const f32v v3 = (v0 * v2);
            f32_store(p1 + INT64_C(21)*i0 + i1, v3);
            const f32v v4 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(42));
            const f32v v6 = f32p_sigmoid_end(v6_begun[at]);
            const f32v v7 = (v4 * v6);
            f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v7);
            const f32v v8 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(84));
            const f32v v10 = f32p_sigmoid_end(v10_begun[at]);
            const f32v v11 = (v8 * v10);
            f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v11);
            const f32v v12 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(126));
            const f32v v14 = f32p_sigmoid_end(v14_begun[at]);
            const f32v v15 = (v12 * v14);
            f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v15);
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
          const f32v v4 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(42));
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1071));
          const f32v v5 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(63));
          const f32v v6 = f32_sigmoid(v5);
          const f32v v7 = (v4 * v6);
          f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v7);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1092));
          const f32v v8 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(84));
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1113));
          const f32v v9 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(105));
          const f32v v10 = f32_sigmoid(v9);
          const f32v v11 = (v8 * v10);
          f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v11);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1134));
          const f32v v12 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(126));
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1155));
          const f32v v13 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(147));
          const f32v v14 = f32_sigmoid(v13);
          const f32v v15 = (v12 * v14);
          f32_store(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v15);
        }
        if (i1 < INT64_C(21)) {
          const int i1_rest = (int)(INT64_C(21) - i1);
          const f32v v0 = f32_load_part(p0 + INT64_C(42)*i0 + i1, i1_rest);
          const f32v v1 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(21), i1_rest);
          const f32v v2 = f32_sigmoid(v1);
          const f32v v3 = (v0 * v2);
          f32_store_part(p1 + INT64_C(21)*i0 + i1, v3, i1_rest);
          const f32v v4 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(42), i1_rest);
          const f32v v5 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(63), i1_rest);
          const f32v v6 = f32_sigmoid(v5);
          const f32v v7 = (v4 * v6);
          f32_store_part(p1 + INT64_C(21)*i0 + i1 + INT64_C(21), v7, i1_rest);
          const f32v v8 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(84), i1_rest);
          const f32v v9 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(105), i1_rest);
          const f32v v10 = f32_sigmoid(v9);
          const f32v v11 = (v8 * v10);
          f32_store_part(p1 + INT64_C(21)*i0 + i1 + INT64_C(42), v11, i1_rest);
          const f32v v12 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(126), i1_rest);
          const f32v v13 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(147), i1_rest);
          const f32v v14 = f32_sigmoid(v13);
          const f32v v15 = (v12 * v14);
          f32_store_part(p1 + INT64_C(21)*i0 + i1 + INT64_C(63), v15, i1_rest);
        }
      }
    }
    for (; i0 < end; i0++) {
      {
        int64_t i1 = 0;
        #if STRIPS
        for (; i1 + SIGMOID_STRIP*LANES <= INT64_C(21); i1 += SIGMOID_STRIP*LANES) {
          const int64_t i1_strip = i1;
          f32p_sigmoid_begun v18_begun[SIGMOID_STRIP];
          f32p v18_far = {0};
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
            fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
            const f32v v17 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
            v18_begun[at] = f32p_sigmoid_begin(v17);
            v18_far = f32p_sigmoid_farther(v17, v18_far);
          }
          if (f32p_sigmoid_any_far(v18_far)) {
            #pragma GCC unroll 1
            for (int at = 0; at < SIGMOID_STRIP; at++) {
              const int64_t i1 = i1_strip + at*LANES;
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
              const f32v v16 = f32_load(p0 + INT64_C(42)*i0 + i1);
              fetch_of(at, p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
              const f32v v17 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
              const f32v v18 = f32_sigmoid(v17);
              const f32v v19 = (v16 * v18);
              f32_store(p1 + INT64_C(21)*i0 + i1, v19);
            }
            continue;
          }
          for (int at = 0; at < SIGMOID_STRIP; at++) {
            const int64_t i1 = i1_strip + at*LANES;
            const f32v v16 = f32_load(p0 + INT64_C(42)*i0 + i1);
            const f32v v18 = f32p_sigmoid_end(v18_begun[at]);
            const f32v v19 = (v16 * v18);
            f32_store(p1 + INT64_C(21)*i0 + i1, v19);
          }
        }
        #endif
        for (; i1 + LANES <= INT64_C(21); i1 += LANES) {
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1008));
          const f32v v16 = f32_load(p0 + INT64_C(42)*i0 + i1);
          fetch(p0 + INT64_C(42)*i0 + i1 + INT64_C(1029));
          const f32v v17 = f32_load(p0 + INT64_C(42)*i0 + i1 + INT64_C(21));
          const f32v v18 = f32_sigmoid(v17);
          const f32v v19 = (v16 * v18);
          f32_store(p1 + INT64_C(21)*i0 + i1, v19);
        }
        if (i1 < INT64_C(21)) {
          const int i1_rest = (int)(INT64_C(21) - i1);
          const f32v v16 = f32_load_part(p0 + INT64_C(42)*i0 + i1, i1_rest);
          const f32v v17 = f32_load_part(p0 + INT64_C(42)*i0 + i1 + INT64_C(21), i1_rest);
          const f32v v18 = f32_sigmoid(v17);
          const f32v v19 = (v16 * v18);
          f32_store_part(p1 + INT64_C(21)*i0 + i1, v19, i1_rest);
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
