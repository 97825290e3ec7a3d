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
#include <stdlib.h>
#include "block_product.h"
#include "lane_transpose.h"
#include "thread_pool.h"
#include "vector_math.h"

/* ATTENTION_KEYS is the largest number of keys of a tile. */
enum { ATTENTION_VECTORS = PRODUCT_VECTORS, ATTENTION_KEYS = 112, ATTENTION_HEAD_MAX = 256 };
#define ATTENTION_BLOCK (ATTENTION_VECTORS * LANES)

/* A tensor of (batch, heads, tokens, size) with its distances in elements; size is contiguous. */
struct head_layout {
  const float *data;
  int64_t batch, head, token;
};

/* The part of a mask that a tile needs: the keys from `first` to `kept`. Before, all values are 0;
 * behind, all are -inf. */
struct mask_range {
  int64_t first, kept;
};

struct attention {
  struct head_layout q, k, v;
  struct head_layout mask; /* `token` is the distance of queries; no mask if `data` is NULL */
  int64_t mask_key;        /* distance of keys: 1, or 0 if all keys share a value */
  struct mask_range *ranges; /* for each mask, block of queries and tile of keys */
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
  __asm__("" : "+r"(scores)); /* the addresses are computed behind the loop */
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) f32_store(scores + row * ATTENTION_BLOCK + i * LANES, sums[row][i]);
}

/* result[element][query] = result · decay[query] + Σ over keys of values[key][element] · weights[key][query] */
INLINED void add_values(float *result, const f32v *decay, const float *values, int64_t token, const float *weights,
                        int64_t keys, const int rows, const int vectors) {
  f32v sums[PRODUCT_ROWS_MAX][PRODUCT_VECTORS] = {0};
  multiply_block(sums, values, 1, token, weights, ATTENTION_BLOCK, keys, rows, vectors);
  __asm__("" : "+r"(result));
#pragma GCC unroll 14
  for (int row = 0; row < rows; row++)
#pragma GCC unroll 2
    for (int i = 0; i < vectors; i++) {
      float *place = result + row * ATTENTION_BLOCK + i * LANES;
      f32_store(place, f32_fma(f32_load(place), decay[i], sums[row][i]));
    }
}

/* One function for each number of rows and of vectors. */
typedef void score_tile(float *, const float *, int64_t, const float *, int64_t);
typedef void value_tile(float *, const f32v *, const float *, int64_t, const float *, int64_t);
#define TILES(rows, vectors)                                                                                        \
  static __attribute__((noinline)) void score_tile_##rows##_##vectors(float *scores, const float *keys,             \
                                                                      int64_t token, const float *queries,          \
                                                                      int64_t size) {                               \
    score_rows(scores, keys, token, queries, size, rows, vectors);                                                  \
  }                                                                                                                 \
  static __attribute__((noinline)) void value_tile_##rows##_##vectors(float *result, const f32v *decay,             \
                                                                      const float *values, int64_t token,           \
                                                                      const float *weights, int64_t keys) {         \
    add_values(result, decay, values, token, weights, keys, rows, vectors);                                         \
  }
EACH_ROWS(TILES, 1)
EACH_ROWS(TILES, 2)
#undef TILES
#define SCORE_NAME(rows, vectors) score_tile_##rows##_##vectors,
#define VALUE_NAME(rows, vectors) value_tile_##rows##_##vectors,
static score_tile *const score_tiles[][PRODUCT_ROWS] = {{EACH_ROWS(SCORE_NAME, 1)}, {EACH_ROWS(SCORE_NAME, 2)}};
static value_tile *const value_tiles[][PRODUCT_ROWS] = {{EACH_ROWS(VALUE_NAME, 1)}, {EACH_ROWS(VALUE_NAME, 2)}};
#undef SCORE_NAME
#undef VALUE_NAME

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

/* Returns for each lane a number that is not 0 if one of the queries has a value there that is not
 * -inf (`of_infinity`), or not 0. `row` points to LANES adjacent keys, of which `keys` exist. */
INLINED i32v find_other_values(const float *row, int64_t token, int64_t keys, int64_t queries, const int of_infinity) {
  i32v found = (i32v){0};
  for (int64_t query = 0; query < queries; query++) {
    f32v values = f32_splat(of_infinity ? -__builtin_inff() : 0);
    if (keys >= LANES) values = f32_load(row + query * token);
    else __builtin_memcpy(&values, row + query * token, sizeof(float) * (size_t)keys);
    found |= of_infinity ? values != -__builtin_inff() : values != 0.0f;
  }
  return found;
}

INLINED struct mask_range find_mask_range(const float *mask, int64_t token, int64_t keys, int64_t queries) {
  struct mask_range range = {0, 0};
  for (int64_t begin = (keys - 1) / LANES * LANES; begin >= 0 && !range.kept; begin -= LANES) {
    const i32v found = find_other_values(mask + begin, token, keys - begin, queries, 1);
    if (!i32_any(found)) continue;
    for (int lane = 0; lane < LANES; lane++)
      if (found[lane]) range.kept = begin + lane + 1;
  }
  while (range.first < range.kept && !i32_any(find_other_values(mask + range.first, token, range.kept - range.first, queries, 0)))
    range.first += LANES;
  if (range.first > range.kept) range.first = range.kept;
  return range;
}

/* Copies the values of a range from mask[query][key] to the tile [key][query]. */
static void read_mask(float *tile, const float *mask, int64_t token, int64_t key_distance, struct mask_range range,
                      int64_t queries) {
  const int64_t whole = key_distance ? range.kept - (range.kept - range.first) % LANES : range.first;
  for (int64_t first = 0; first < queries; first += LANES)
    for (int64_t key = range.first; key < whole; key += LANES) {
      f32v rows[LANES];
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++)
        rows[row] = first + row < queries ? f32_load(mask + (first + row) * token + key) : f32_splat(0);
      transpose_lanes(rows);
#pragma GCC unroll 16
      for (int row = 0; row < LANES; row++) f32_store(tile + (key + row) * ATTENTION_BLOCK + first, rows[row]);
    }
  for (int64_t query = 0; query < queries; query++)
    for (int64_t key = whole; key < range.kept; key++)
      tile[key * ATTENTION_BLOCK + query] = mask[query * token + key * key_distance];
}

static inline int64_t count_blocks(const struct attention *a) { return (a->queries + ATTENTION_BLOCK - 1) / ATTENTION_BLOCK; }

static inline int64_t count_tiles(const struct attention *a) { return (a->keys + ATTENTION_KEYS - 1) / ATTENTION_KEYS; }

/* The first key of a tile: a multiple of LANES, so that rows of masks are read by whole cache lines. */
static inline int64_t first_key(const struct attention *a, int64_t tile) {
  const int64_t tiles = count_tiles(a);
  return tile == tiles ? a->keys : a->keys * tile / tiles / LANES * LANES;
}

static inline int64_t queries_of_block(const struct attention *a, int64_t block) {
  const int64_t left = a->queries - block * ATTENTION_BLOCK;
  return left < ATTENTION_BLOCK ? left : ATTENTION_BLOCK;
}

static inline struct mask_range *ranges_of(const struct attention *a, int64_t batch, int64_t head, int64_t block) {
  const int64_t heads = a->mask.head ? a->heads : 1, mask = (a->mask.batch ? batch * heads : 0) + (a->mask.head ? head : 0);
  return a->ranges + (mask * count_blocks(a) + block) * count_tiles(a);
}

/* Finds the ranges of one block of queries of one mask. */
static void find_ranges_task(void *work, int number, int count) {
  const struct attention *a = work;
  (void)count;
  const int64_t blocks = count_blocks(a), block = number % blocks, heads = a->mask.head ? a->heads : 1;
  const int64_t head = number / blocks % heads, batch = number / blocks / heads;
  const float *mask = a->mask.data + batch * a->mask.batch + head * a->mask.head + block * ATTENTION_BLOCK * a->mask.token;
  struct mask_range *ranges = ranges_of(a, batch, head, block);
  for (int64_t tile = 0; tile < count_tiles(a); tile++) {
    const int64_t begin = first_key(a, tile), keys = first_key(a, tile + 1) - begin;
    ranges[tile] = a->mask_key ? find_mask_range(mask + begin, a->mask.token, keys, queries_of_block(a, block))
                               : (struct mask_range){0, keys};
  }
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
  for (int64_t tile = 0; tile < count_tiles(a); tile++) {
    const int64_t begin = first_key(a, tile);
    int64_t keys = first_key(a, tile + 1) - begin;
    const float *shared = mask && !a->mask.token ? mask : NULL;
    int64_t first_masked = keys;
    if (mask && !shared) {
      const struct mask_range range = ranges_of(a, batch, head, first / ATTENTION_BLOCK)[tile];
      read_mask(masked, mask + begin * a->mask_key, a->mask.token, a->mask_key, range, queries);
      first_masked = range.first, keys = range.kept;
    }
    if (!keys) continue;
    for (int64_t block = 0, blocks = blocks_of_rows(keys); block < blocks; block++) {
      const int64_t row = keys * block / blocks, rows = keys * (block + 1) / blocks - row;
      score_tiles[vectors - 1][rows - 1](scores + row * ATTENTION_BLOCK, k + (begin + row) * a->k.token, a->k.token, turned, a->size);
    }
    f32v top[ATTENTION_VECTORS], base[ATTENTION_VECTORS];
#pragma GCC unroll 4
    for (int i = 0; i < vectors; i++) top[i] = largest[i];
    for (int64_t key = 0; key < keys; key++) {
      const f32v common = f32_splat(shared ? shared[(begin + key) * a->mask_key] : 0);
      const int is_masked = key >= first_masked;
#pragma GCC unroll 4
      for (int i = 0; i < vectors; i++) {
        float *place = scores + key * ATTENTION_BLOCK + i * LANES;
        f32v score = f32_load(place);
        if (shared || is_masked) {
          score += is_masked ? f32_load(masked + key * ATTENTION_BLOCK + i * LANES) : common;
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
    for (int64_t block = 0, blocks = blocks_of_rows(a->value_size); block < blocks; block++) {
      const int64_t row = a->value_size * block / blocks, rows = a->value_size * (block + 1) / blocks - row;
      value_tiles[vectors - 1][rows - 1](result + row * ATTENTION_BLOCK, decay, v + begin * a->v.token + row, a->v.token, scores, keys);
    }
  }
  float *to = a->result + batch * a->result_batch + head * a->result_head + first * a->result_token;
  turn_result(to, v_bias, a->result_token, result, sum, a->value_size, queries, vectors);
}

#define ATTEND(n)                                                                                               \
  static __attribute__((noinline)) void attend_##n(const struct attention *a, int64_t batch, int64_t head,      \
                                                   int64_t first, int64_t queries) {                            \
    attend_block(a, batch, head, first, queries, n);                                                            \
  }
ATTEND(1) ATTEND(2)
#undef ATTEND

static void attend_task(void *work, int number, int count) {
  const struct attention *a = work;
  (void)count;
  const int64_t blocks = count_blocks(a), block = number % blocks, head = number / blocks % a->heads;
  const int64_t queries = queries_of_block(a, block);
  void (*const attend[])(const struct attention *, int64_t, int64_t, int64_t, int64_t) = {attend_1, attend_2};
  attend[(queries + LANES - 1) / LANES - 1](a, number / blocks / a->heads, head, block * ATTENTION_BLOCK, queries);
}

/* Returns 0, or 1 when out of memory. */
static inline int attend(struct attention *a, int64_t threads) {
  const int64_t blocks = count_blocks(a);
  if (a->mask.data && a->mask.token) {
    const int64_t masks = (a->mask.batch ? a->batches : 1) * (a->mask.head ? a->heads : 1);
    a->ranges = malloc(sizeof *a->ranges * (size_t)(masks * blocks * count_tiles(a)));
    if (!a->ranges) return 1;
    share(find_ranges_task, a, threads, masks * blocks);
  }
  share(attend_task, a, threads, a->batches * a->heads * blocks);
  free(a->ranges);
  return 0;
}

#endif
