/* Multi-head attention, softmax(scale q kᵀ + mask) v, in float32, without stored scores.
 *
 * A task computes ATTENTION_BLOCK queries of one head, key tile by key tile, with a running maximum
 * and sum for each query (online softmax). Scores are held transposed, keys × queries: each lane of
 * a vector is a query, so that the maximum and the sum need no reduction over lanes, and keys and
 * values are read in place, as scalars that are broadcast. Keys at the end of a tile whose mask is
 * -inf for every query are skipped. */
#ifndef MS_FUSION_ATTENTION_H
#define MS_FUSION_ATTENTION_H

#include <stddef.h>
#include "block_product.h"
#include "lane_transpose.h"
#include "thread_pool.h"
#include "vector_math.h"

enum { ATTENTION_VECTORS = PRODUCT_VECTORS, ATTENTION_ROWS = 12, ATTENTION_KEYS = 96, ATTENTION_HEAD_MAX = 256 };
#define ATTENTION_BLOCK (ATTENTION_VECTORS * LANES)

/* A tensor of (batch, heads, tokens, size) with its distances in elements; size is contiguous. */
struct head_layout {
  const float *data;
  int64_t batch, head, token;
};

struct attention {
  struct head_layout q, k, v;
  struct head_layout mask; /* `token` is the distance of queries; no mask if `data` is NULL */
  int64_t mask_key;        /* distance of keys: 1, or 0 if all keys share a value */
  float *result;
  int64_t result_batch, result_head, result_token;
  /* Added to the queries and values of all heads; NULL if nothing is. A bias of the keys adds the
   * same number to all scores of a query and changes no result. */
  const float *q_bias, *v_bias;
  int64_t batches, heads, heads_per_group, queries, keys, size, value_size;
  float scale;
};

/* scores[key][query] = Σ over the head's elements of keys[key] · queries[element][query] */
INLINED void score_rows(float *scores, const float *keys, int64_t token, const float *queries, int64_t size, const int rows,
                        const int vectors) {
  f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS] = {0};
  multiply_block(sums, keys, token, 1, queries, ATTENTION_BLOCK, size, rows, vectors);
#pragma GCC unroll 12
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) f32_store(scores + row * ATTENTION_BLOCK + i * LANES, sums[row][i]);
}

/* result[element][query] = result · decay[query] + Σ over keys of values[key][element] · weights[key][query] */
INLINED void add_values(float *result, const f32v *decay, const float *values, int64_t token, const float *weights,
                        int64_t keys, const int rows, const int vectors) {
  f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS] = {0};
  multiply_block(sums, values, 1, token, weights, ATTENTION_BLOCK, keys, rows, vectors);
#pragma GCC unroll 12
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) {
      float *place = result + row * ATTENTION_BLOCK + i * LANES;
      f32_store(place, f32_fma(f32_load(place), decay[i], sums[row][i]));
    }
}

/* Calls with a constant number of rows: all full blocks, then the rest. */
#define IN_BLOCKS(count, call)                                \
  do {                                                        \
    int64_t row = 0;                                          \
    for (; row + ATTENTION_ROWS <= (count); row += ATTENTION_ROWS) call(ATTENTION_ROWS); \
    if ((count) - row >= 4) {                                 \
      call(4);                                                \
      row += 4;                                               \
    }                                                         \
    for (; row < (count); row++) call(1);                     \
  } while (0)

static const float no_bias[ATTENTION_HEAD_MAX];

/* turned[element][query] = scale · (q[query][element] + bias[element]); queries behind the last one
 * are 0. */
INLINED void turn_queries(float *turned, const float *q, const float *bias, int64_t token, int64_t size, int64_t queries,
                          float scale, const int vectors) {
  const int64_t whole = size - size % LANES;
  for (int i = 0; i < vectors; i++)
    for (int64_t element = 0; element < whole; element += LANES) {
      f32v rows[LANES];
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++) {
        const int64_t query = i * LANES + row;
        rows[row] = query < queries ? (f32_load(q + query * token + element) + f32_load(bias + element)) * scale : f32_splat(0);
      }
      transpose_lanes(rows);
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++) f32_store(turned + (element + row) * ATTENTION_BLOCK + i * LANES, rows[row]);
    }
  for (int64_t element = whole; element < size; element++)
    for (int64_t query = 0; query < vectors * LANES; query++)
      turned[element * ATTENTION_BLOCK + query] = query < queries ? (q[query * token + element] + bias[element]) * scale : 0;
}

/* to[query][element] = result[element][query] / sum[query] + bias[element] */
INLINED void turn_result(float *to, const float *bias, int64_t token, const float *result, const f32v *sum, int64_t size, int64_t queries,
                         const int vectors) {
  const int64_t whole = size - size % LANES;
  for (int i = 0; i < vectors; i++) {
    const f32v factor = 1 / sum[i];
    for (int64_t element = 0; element < whole; element += LANES) {
      f32v rows[LANES];
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++) rows[row] = f32_fma(f32_load(result + (element + row) * ATTENTION_BLOCK + i * LANES), factor, f32_splat(bias[element + row]));
      transpose_lanes(rows);
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++) {
        const int64_t query = i * LANES + row;
        if (query < queries) f32_store(to + query * token + element, rows[row]);
      }
    }
    float factors[LANES];
    f32_store(factors, factor);
    for (int64_t element = whole; element < size; element++)
      for (int64_t query = i * LANES; query < queries && query < (i + 1) * LANES; query++)
        to[query * token + element] = result[element * ATTENTION_BLOCK + query] * factors[query - i * LANES] + bias[element];
  }
}

/* Returns the number of keys up to the last one whose value is not -inf. */
INLINED int64_t count_kept(const float *row, int64_t keys) {
  for (; keys >= LANES; keys -= LANES)
    if (i32_any(f32_load(row + keys - LANES) != -__builtin_inff())) break;
  while (keys && row[keys - 1] == -__builtin_inff()) keys--;
  return keys;
}

INLINED int is_zero(const float *row, int64_t keys) {
  int64_t key = 0;
  for (; key + LANES <= keys; key += LANES)
    if (i32_any(f32_load(row + key) != 0.0f)) return 0;
  for (; key < keys; key++)
    if (row[key] != 0) return 0;
  return 1;
}

/* Copies mask[query][key] to the tile [key][query], unless all values are 0; `is_copied` receives
 * whether it does. Returns the number of keys that count: those behind are -inf for every query. */
static int64_t read_mask(float *tile, const float *mask, int64_t token, int64_t key_distance, int64_t keys,
                         int64_t queries, int *is_copied) {
  int64_t kept = 0;
  int zeros = 1;
  for (int64_t query = 0; query < queries; query++) {
    const float *row = mask + query * token;
    const int64_t own = key_distance ? count_kept(row, keys) : *row == -__builtin_inff() ? 0 : keys;
    kept = own > kept ? own : kept;
    zeros = zeros && is_zero(row, key_distance ? keys : 1);
  }
  *is_copied = !zeros;
  if (zeros) return kept;
  int64_t whole = key_distance == 1 ? kept - kept % LANES : 0;
  for (int64_t first = 0; first < queries; first += LANES)
    for (int64_t key = 0; key < whole; key += LANES) {
      f32v rows[LANES];
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++)
        rows[row] = first + row < queries ? f32_load(mask + (first + row) * token + key) : f32_splat(0);
      transpose_lanes(rows);
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++) f32_store(tile + (key + row) * ATTENTION_BLOCK + first, rows[row]);
    }
  for (int64_t query = 0; query < queries; query++)
    for (int64_t key = whole; key < kept; key++)
      tile[key * ATTENTION_BLOCK + query] = mask[query * token + key * key_distance];
  return kept;
}

INLINED void attend_block(const struct attention *a, int64_t batch, int64_t head, int64_t first, int64_t queries,
                          const int vectors) {
  float turned[ATTENTION_HEAD_MAX * ATTENTION_BLOCK] __attribute__((aligned(64)));
  float result[ATTENTION_HEAD_MAX * ATTENTION_BLOCK] __attribute__((aligned(64)));
  float scores[ATTENTION_KEYS * ATTENTION_BLOCK] __attribute__((aligned(64)));
  float masked[ATTENTION_KEYS * ATTENTION_BLOCK] __attribute__((aligned(64)));
  const int64_t group = head / a->heads_per_group;
  const float *q = a->q.data + batch * a->q.batch + head * a->q.head + first * a->q.token;
  const float *k = a->k.data + batch * a->k.batch + group * a->k.head;
  const float *v = a->v.data + batch * a->v.batch + group * a->v.head;
  const float *mask = a->mask.data;
  if (mask) mask += batch * a->mask.batch + head * a->mask.head + first * a->mask.token;
  f32v largest[ATTENTION_VECTORS], sum[ATTENTION_VECTORS], decay[ATTENTION_VECTORS];
  const float *q_bias = a->q_bias ? a->q_bias + head * a->size : no_bias;
  const float *v_bias = a->v_bias ? a->v_bias + group * a->value_size : no_bias;
  turn_queries(turned, q, q_bias, a->q.token, a->size, queries, a->scale, vectors);
  for (int64_t element = 0; element < a->value_size; element++)
    for (int i = 0; i < vectors; i++) f32_store(result + element * ATTENTION_BLOCK + i * LANES, f32_splat(0));
#pragma GCC unroll 4
  for (int i = 0; i < vectors; i++) largest[i] = f32_splat(-__builtin_inff()), sum[i] = f32_splat(0);
  for (int64_t begin = 0; begin < a->keys; begin += ATTENTION_KEYS) {
    int64_t keys = a->keys - begin < ATTENTION_KEYS ? a->keys - begin : ATTENTION_KEYS;
    const float *shared = mask && !a->mask.token ? mask : NULL;
    int each = 0;
    if (mask && !shared)
      keys = read_mask(masked, mask + begin * a->mask_key, a->mask.token, a->mask_key, keys, queries, &each);
    if (!keys) continue;
#define SCORE(rows) \
  score_rows(scores + row * ATTENTION_BLOCK, k + (begin + row) * a->k.token, a->k.token, turned, a->size, rows, vectors)
    IN_BLOCKS(keys, SCORE);
    f32v top[ATTENTION_VECTORS], base[ATTENTION_VECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) top[i] = largest[i];
    for (int64_t key = 0; key < keys; key++) {
      const f32v common = f32_splat(shared ? shared[(begin + key) * a->mask_key] : 0);
#pragma GCC unroll 4
      for (int i = 0; i < vectors; i++) {
        float *place = scores + key * ATTENTION_BLOCK + i * LANES;
        f32v score = f32_load(place);
        if (shared || each) {
          score += each ? f32_load(masked + key * ATTENTION_BLOCK + i * LANES) : common;
          f32_store(place, score);
        }
        top[i] = f32_above(score, top[i]);
      }
    }
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) {
      /* where every score so far is -inf, the difference stays -inf and its exponential 0 */
      base[i] = f32_above(f32_splat(-__FLT_MAX__), top[i]);
      decay[i] = f32_exp_of_deficit(largest[i] - base[i]);
      largest[i] = top[i];
      sum[i] *= decay[i];
    }
    for (int64_t key = 0; key < keys; key++)
#pragma GCC unroll 4
      for (int i = 0; i < vectors; i++) {
        float *place = scores + key * ATTENTION_BLOCK + i * LANES;
        const f32v weight = f32_exp_of_deficit(f32_load(place) - base[i]);
        sum[i] += weight;
        f32_store(place, weight);
      }
#define ADD(rows) add_values(result + row * ATTENTION_BLOCK, decay, v + begin * a->v.token + row, a->v.token, scores, keys, rows, vectors)
    IN_BLOCKS(a->value_size, ADD);
  }
  float *to = a->result + batch * a->result_batch + head * a->result_head + first * a->result_token;
  turn_result(to, v_bias, a->result_token, result, sum, a->value_size, queries, vectors);
}
#undef SCORE
#undef ADD

/* One function for each number of vectors keeps the sums of a block in registers. */
#define ATTEND(n)                                                                                               \
  static __attribute__((noinline)) void attend_##n(const struct attention *a, int64_t batch, int64_t head,      \
                                                   int64_t first, int64_t queries) {                            \
    attend_block(a, batch, head, first, queries, n);                                                            \
  }
ATTEND(1) ATTEND(2)
#undef ATTEND

static inline int64_t count_blocks(const struct attention *a) { return (a->queries + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK; }

static void attend_task(void *work, int number, int count) {
  const struct attention *a = work;
  (void)count;
  const int64_t blocks = count_blocks(a), block = number % blocks, head = number / blocks % a->heads;
  const int64_t first = block * ATTENTION_BLOCK, left = a->queries - first;
  const int64_t queries = left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK;
  void (*const attend[])(const struct attention *, int64_t, int64_t, int64_t, int64_t) = {attend_1, attend_2};
  attend[(queries + LANES - 1) / LANES - 1](a, number / blocks / a->heads, head, first, queries);
}

static inline void attend(const struct attention *a, int64_t threads) {
  share(attend_task, (void *)a, threads, a->batches * a->heads * count_blocks(a));
}

#endif
