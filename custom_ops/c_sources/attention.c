/* softmax(scale q k' + mask) v, block by block of queries and keys, and its gradients.
 *
 * The weights of a block are kept turned round: a row for each key, the queries of the block along the vectors. So the
 * greatest and the sum of a query's weights need no sum over lanes, and keys and values are read as they lie: they are
 * the numbers that a product repeats, never the vectors. */
#include "products.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUERIES (64 * 4 / (int)sizeof(real)) /* of a block */
#define KEYS 96
#define VECTORS (QUERIES / LANES)

enum { NO_MASK, LEAVE_OUT, ADDED };

/* Sizes, and the steps between batches, heads and tokens of q, k and v in elements; the mask has one for keys, too. Results
 * lie as the inputs do: y and its gradient as q, with the width of v. */
struct problem {
    int64_t batches, heads, shared, queries, keys, width, value_width, causal, mask_kind, scale_bits;
    int64_t q[3], k[3], v[3], y[3], mask[4];
};

struct inputs {
    const element *q, *k, *v;
    const void *mask;
    real scale;
};

static real scale_of(const struct problem *p) {
    double scale;
    memcpy(&scale, &p->scale_bits, sizeof scale);
    return (real)scale;
}

static void *memory(int64_t count, int64_t bytes) {
    return aligned_alloc(64, ((size_t)(count > 0 ? count : 1) * (size_t)bytes + 63) / 64 * 64);
}

/* Rows as numbers: in place where they are numbers already, else in `room`. Both have the step `*step`. */
static const real *rows_of(const element *from, int64_t step, int64_t rows, int64_t width, real *room, int64_t *found) {
#if ELEMENT >= ELEMENT_FLOAT32
    *found = step;
    return from;
#else
    *found = up_to_lanes(width);
    for (int64_t i = 0; i < rows; i++) numbers_of(room + i * *found, from + i * step, width);
    return room;
#endif
}

/* Rows times a factor, whole vectors each, and turned round: turned[d][row]; rows that are not there are 0. */
static void take_block(const element *from, int64_t step, int64_t rows, int64_t width, real factor, real *plain, real *turned) {
    int64_t padded = up_to_lanes(width);
    for (int64_t i = 0; i < QUERIES; i++) {
        real *row = plain + i * padded;
        if (i < rows)
            numbers_of(row, from + i * step, width);
        else
            memset(row, 0, (size_t)padded * sizeof *row);
        for (int64_t d = 0; d < width; d++) turned[d * QUERIES + i] = row[d] *= factor;
    }
}

/* The other way round: rows of turned[d][row] times a factor each. */
static void give_block(element *to, int64_t step, int64_t rows, int64_t width, const real *turned, const real *factors, real *row) {
    for (int64_t i = 0; i < rows; i++) {
        for (int64_t d = 0; d < width; d++) row[d] = turned[d * QUERIES + i] * factors[i];
        elements_of(to + i * step, row, width);
    }
}

/* The mask on scores[key][query] of a block. */
static void apply_mask(const struct problem *p, const void *mask, int64_t batch, int64_t head, int64_t query, int64_t queries,
                       int64_t key, int64_t keys, real *scores) {
    int64_t start = batch * p->mask[0] + head * p->mask[1] + query * p->mask[2] + key * p->mask[3];
    int64_t down = p->mask[2], right = p->mask[3];
    if (p->mask_kind == LEAVE_OUT) {
        const uint8_t *from = (const uint8_t *)mask + start;
        if (down == 0) {
            for (int64_t c = 0; c < keys; c++)
                if (from[c * right])
                    for (int64_t r = 0; r < QUERIES; r++) scores[c * QUERIES + r] = NEGATIVE_INFINITY;
        } else {
            for (int64_t r = 0; r < queries; r++)
                for (int64_t c = 0; c < keys; c++)
                    scores[c * QUERIES + r] = from[r * down + c * right] ? NEGATIVE_INFINITY : scores[c * QUERIES + r];
        }
    } else if (p->mask_kind == ADDED) {
        const element *from = (const element *)mask + start;
        if (down == 0) {
            for (int64_t c = 0; c < keys; c++) {
                real added = number_of(from + c * right);
                for (int64_t r = 0; r < QUERIES; r++) scores[c * QUERIES + r] += added;
            }
        } else {
            real row[(KEYS + LANES - 1) / LANES * LANES];
            for (int64_t r = 0; r < queries; r++) {
                if (right)
                    numbers_of(row, from + r * down, keys);
                else
                    for (int64_t c = 0; c < keys; c++) row[c] = number_of(from + r * down);
                for (int64_t c = 0; c < keys; c++) scores[c * QUERIES + r] += row[c];
            }
        }
    }
    if (p->causal && key + keys > query + 1)
        for (int64_t c = 0; c < keys; c++) {
            int64_t before = key + c - query; /* queries of the block that come before this key */
            for (int64_t r = 0; r < before && r < QUERIES; r++) scores[c * QUERIES + r] = NEGATIVE_INFINITY;
        }
}

/* How many keys the queries up to `last` look at. */
static int64_t keys_until(const struct problem *p, int64_t last) {
    return p->causal && last + 1 < p->keys ? last + 1 : p->keys;
}

struct forward_room {
    real *plain, *turned, *scores, *sums, *keys, *values, *row;
};

static int forward_room(const struct problem *p, struct forward_room *room) {
    int64_t width = up_to_lanes(p->width), value_width = up_to_lanes(p->value_width);
    int64_t counts[] = {QUERIES * width, QUERIES * width, QUERIES * KEYS, QUERIES * value_width, KEYS * width, KEYS * value_width, value_width};
    real **places = &room->plain;
    int missing = 0;
    for (int i = 0; i < 7; i++) missing |= !(places[i] = memory(counts[i], sizeof(real)));
    return missing;
}

static void forward_block(const struct problem *p, const struct inputs *in, int64_t batch, int64_t head, int64_t query, element *y,
                          real *normaliser, const struct forward_room *room) {
    int64_t rows = p->queries - query < QUERIES ? p->queries - query : QUERIES, other = head / p->shared;
    const element *k = in->k + batch * p->k[0] + other * p->k[1], *v = in->v + batch * p->v[0] + other * p->v[1];
    realv greatest[VECTORS], total[VECTORS], factor[VECTORS];
    take_block(in->q + batch * p->q[0] + head * p->q[1] + query * p->q[2], p->q[2], rows, p->width, in->scale, room->plain, room->turned);
    for (int j = 0; j < VECTORS; j++) greatest[j] = REAL(splat)(NEGATIVE_INFINITY), total[j] = REAL(splat)(0);
    memset(room->sums, 0, (size_t)(p->value_width * QUERIES) * sizeof(real));
    int64_t end = keys_until(p, query + rows - 1);
    for (int64_t key = 0; key < end; key += KEYS) {
        int64_t keys = end - key < KEYS ? end - key : KEYS, step;
        const real *some = rows_of(k + key * p->k[2], p->k[2], keys, p->width, room->keys, &step);
        product(keys, QUERIES, p->width, some, step, 1, room->turned, QUERIES, room->scores, QUERIES, 0);
        apply_mask(p, in->mask, batch, head, query, rows, key, keys, room->scores);
        int changed = 0;
        for (int j = 0; j < VECTORS; j++) {
            real *column = room->scores + j * LANES;
            realv most = greatest[j];
            for (int64_t c = 0; c < keys; c++) most = REAL(above)(most, REAL(load)(column + c * QUERIES));
            /* 0 for a query without keys so far: any finite number */
            realv base = REAL(select)(most > NEGATIVE_INFINITY, most, REAL(splat)(0));
            realv sum = REAL(splat)(0);
            for (int64_t c = 0; c < keys; c++) {
                realv weight = REAL(exp)(REAL(load)(column + c * QUERIES) - base);
                REAL(store)(column + c * QUERIES, weight);
                sum += weight;
            }
            factor[j] = REAL(exp)(greatest[j] - base);
            changed |= REAL_ANY(factor[j] != 1);
            total[j] = total[j] * factor[j] + sum;
            greatest[j] = most;
        }
        if (changed && key)
            for (int64_t d = 0; d < p->value_width; d++)
                for (int j = 0; j < VECTORS; j++) {
                    real *place = room->sums + d * QUERIES + j * LANES;
                    REAL(store)(place, REAL(load)(place) * factor[j]);
                }
        const real *their = rows_of(v + key * p->v[2], p->v[2], keys, p->value_width, room->values, &step);
        product(p->value_width, QUERIES, keys, their, 1, step, room->scores, QUERIES, room->sums, QUERIES, 1);
    }
    real inverse[QUERIES];
    for (int64_t r = 0; r < rows; r++) {
        real most = greatest[r / LANES][r % LANES], sum = total[r / LANES][r % LANES];
        inverse[r] = sum == 0 ? 0 : 1 / sum;
        normaliser[r] = sum == 0 ? NEGATIVE_INFINITY : most + (real)log(sum);
    }
    give_block(y + batch * p->y[0] + head * p->y[1] + query * p->y[2], p->y[2], rows, p->value_width, room->sums, inverse, room->row);
}

struct forward {
    const struct problem *p;
    struct inputs in;
    element *y;
    real *normaliser;
    int64_t blocks, items, next;
    int failed;
};

/* Items as they come, in memory of its own. */
static void forward_part(void *work, int number, int count) {
    (void)number, (void)count;
    struct forward *f = work;
    const struct problem *p = f->p;
    struct forward_room room;
    if (forward_room(p, &room))
        __atomic_store_n(&f->failed, 1, __ATOMIC_RELAXED);
    else
        for (int64_t item; (item = __atomic_fetch_add(&f->next, 1, __ATOMIC_RELAXED)) < f->items;) {
            /* the longest first */
            int64_t query = (f->blocks - 1 - item % f->blocks) * QUERIES, head = item / f->blocks % p->heads, batch = item / f->blocks / p->heads;
            forward_block(p, &f->in, batch, head, query, f->y, f->normaliser + (batch * p->heads + head) * p->queries + query, &room);
        }
    real **places = &room.plain;
    for (int i = 0; i < 7; i++) free(places[i]);
}

/* q, k, v[, mask] → y, normaliser */
int attention(void **buffers, const int64_t *numbers, int64_t threads) {
    const struct problem *p = (const struct problem *)numbers;
    int masked = p->mask_kind != NO_MASK;
    int64_t blocks = (p->queries + QUERIES - 1) / QUERIES;
    struct forward f = {
        p, {buffers[0], buffers[1], buffers[2], masked ? buffers[3] : NULL, scale_of(p)},
        buffers[3 + masked], buffers[4 + masked], blocks, p->batches * p->heads * blocks, 0, 0,
    };
    share(forward_part, &f, threads, parts_of(f.items, threads));
    return f.failed;
}

struct backward_room {
    real *q, *q_turned, *grad, *grad_turned, *weights, *changes, *grad_q, *keys, *values, *row;
};

static int backward_room(const struct problem *p, struct backward_room *room) {
    int64_t width = up_to_lanes(p->width), value_width = up_to_lanes(p->value_width), widest = width > value_width ? width : value_width;
    int64_t counts[] = {QUERIES * width, QUERIES * width, QUERIES * value_width, QUERIES * value_width, QUERIES * KEYS,
                        QUERIES * KEYS, QUERIES * width, KEYS * width, KEYS * value_width, widest};
    real **places = &room->q;
    int missing = 0;
    for (int i = 0; i < 10; i++) missing |= !(places[i] = memory(counts[i], sizeof(real)));
    return missing;
}

struct gradients {
    const element *y, *grad;
    const real *normaliser;
    element *q, *k, *v;
    real *sums_k, *sums_v; /* for each item: keys × whole vectors */
};

static void backward_block(const struct problem *p, const struct inputs *in, const struct gradients *g, int64_t batch, int64_t head,
                           int64_t query, real *sums_k, real *sums_v, const struct backward_room *room) {
    int64_t rows = p->queries - query < QUERIES ? p->queries - query : QUERIES, other = head / p->shared;
    int64_t width = up_to_lanes(p->width), value_width = up_to_lanes(p->value_width), step;
    const element *k = in->k + batch * p->k[0] + other * p->k[1], *v = in->v + batch * p->v[0] + other * p->v[1];
    const element *y = g->y + batch * p->y[0] + head * p->y[1] + query * p->y[2];
    int64_t at = batch * p->q[0] + head * p->q[1] + query * p->q[2];
    real base[QUERIES], mean[QUERIES], scales[QUERIES];
    take_block(in->q + at, p->q[2], rows, p->width, in->scale, room->q, room->q_turned);
    take_block(g->grad + (y - g->y), p->y[2], rows, p->value_width, 1, room->grad, room->grad_turned);
    for (int64_t r = 0; r < QUERIES; r++) {
        real found = r < rows ? g->normaliser[(batch * p->heads + head) * p->queries + query + r] : 0, sum = 0;
        base[r] = found == NEGATIVE_INFINITY ? -NEGATIVE_INFINITY : found; /* no keys: all weights 0 */
        if (r < rows) {
            numbers_of(room->row, y + r * p->y[2], p->value_width);
            for (int64_t d = 0; d < p->value_width; d++) sum += room->row[d] * room->grad[r * value_width + d];
        }
        mean[r] = sum;
        scales[r] = in->scale;
    }
    memset(room->grad_q, 0, (size_t)(p->width * QUERIES) * sizeof(real));
    int64_t end = keys_until(p, query + rows - 1);
    for (int64_t key = 0; key < end; key += KEYS) {
        int64_t keys = end - key < KEYS ? end - key : KEYS, value_step;
        const real *some = rows_of(k + key * p->k[2], p->k[2], keys, p->width, room->keys, &step);
        const real *their = rows_of(v + key * p->v[2], p->v[2], keys, p->value_width, room->values, &value_step);
        product(keys, QUERIES, p->width, some, step, 1, room->q_turned, QUERIES, room->weights, QUERIES, 0);
        apply_mask(p, in->mask, batch, head, query, rows, key, keys, room->weights);
        product(keys, QUERIES, p->value_width, their, value_step, 1, room->grad_turned, QUERIES, room->changes, QUERIES, 0);
        for (int64_t c = 0; c < keys; c++)
            for (int j = 0; j < VECTORS; j++) {
                int64_t place = c * QUERIES + j * LANES;
                realv weight = REAL(exp)(REAL(load)(room->weights + place) - REAL(load)(base + j * LANES));
                REAL(store)(room->weights + place, weight);
                REAL(store)(room->changes + place, weight * (REAL(load)(room->changes + place) - REAL(load)(mean + j * LANES)));
            }
        product(keys, value_width, rows, room->weights, QUERIES, 1, room->grad, value_width, sums_v + key * value_width, value_width, 1);
        product(keys, width, rows, room->changes, QUERIES, 1, room->q, width, sums_k + key * width, width, 1);
        product(p->width, QUERIES, keys, some, 1, step, room->changes, QUERIES, room->grad_q, QUERIES, 1);
    }
    give_block(g->q + at, p->q[2], rows, p->width, room->grad_q, scales, room->row);
}

struct backward {
    const struct problem *p;
    struct inputs in;
    struct gradients g;
    int64_t width, value_width, groups, blocks, parts, items, next;
    int failed;
};

/* Items as they come, in memory of its own: the sums of each. */
static void backward_part(void *work, int number, int count) {
    (void)number, (void)count;
    struct backward *b = work;
    const struct problem *p = b->p;
    struct backward_room room;
    if (backward_room(p, &room))
        __atomic_store_n(&b->failed, 1, __ATOMIC_RELAXED);
    else
        for (int64_t item; (item = __atomic_fetch_add(&b->next, 1, __ATOMIC_RELAXED)) < b->items;) {
            int64_t group = item / b->parts, batch = group * p->shared / p->heads, first = group * p->shared % p->heads;
            real *sums_k = b->g.sums_k + item * p->keys * b->width, *sums_v = b->g.sums_v + item * p->keys * b->value_width;
            memset(sums_k, 0, (size_t)(p->keys * b->width) * sizeof(real));
            memset(sums_v, 0, (size_t)(p->keys * b->value_width) * sizeof(real));
            for (int64_t head = first; head < first + p->shared; head++)
                for (int64_t block = item % b->parts; block < b->blocks; block += b->parts)
                    backward_block(p, &b->in, &b->g, batch, head, block * QUERIES, sums_k, sums_v, &room);
        }
    real **places = &room.q;
    for (int i = 0; i < 10; i++) free(places[i]);
}

/* The sums of a group's items, put together: some rows. */
static void sums_part(void *work, int number, int count) {
    struct backward *b = work;
    const struct problem *p = b->p;
    int64_t rows = b->groups * p->keys;
    for (int64_t row = rows * number / count; row < rows * (number + 1) / count; row++) {
        int64_t group = row / p->keys, key = row % p->keys, batch = group * p->shared / p->heads;
        int64_t other = group % (p->heads / p->shared);
        for (int value = 0; value < 2; value++) {
            int64_t size = value ? b->value_width : b->width, each = p->keys * size;
            real *sums = (value ? b->g.sums_v : b->g.sums_k) + group * b->parts * each + key * size;
            for (int64_t part = 1; part < b->parts; part++)
                for (int64_t d = 0; d < size; d++) sums[d] += sums[part * each + d];
            const int64_t *steps = value ? p->v : p->k;
            elements_of((value ? b->g.v : b->g.k) + batch * steps[0] + other * steps[1] + key * steps[2], sums, value ? p->value_width : p->width);
        }
    }
}

/* q, k, v[, mask], y, normaliser, grad → grad_q, grad_k, grad_v */
int attention_backward(void **buffers, const int64_t *numbers, int64_t threads) {
    const struct problem *p = (const struct problem *)numbers;
    int masked = p->mask_kind != NO_MASK;
    void **rest = buffers + 3 + masked;
    int64_t width = up_to_lanes(p->width), value_width = up_to_lanes(p->value_width);
    /* a group is the heads that share keys; where there are fewer groups than threads, several share one, each with sums of
     * its own */
    int64_t groups = p->batches * (p->heads / p->shared), blocks = (p->queries + QUERIES - 1) / QUERIES;
    int64_t parts = groups < threads ? (threads + groups - 1) / (groups > 0 ? groups : 1) : 1;
    if (parts > blocks) parts = blocks > 0 ? blocks : 1;
    int64_t items = groups * parts;
    struct backward b = {
        p, {buffers[0], buffers[1], buffers[2], masked ? buffers[3] : NULL, scale_of(p)},
        {rest[0], rest[2], rest[1], rest[3], rest[4], rest[5],
         memory(items * p->keys * width, sizeof(real)), memory(items * p->keys * value_width, sizeof(real))},
        width, value_width, groups, blocks, parts, items, 0, 0,
    };
    if (!b.g.sums_k || !b.g.sums_v) b.failed = 1;
    if (!b.failed) share(backward_part, &b, threads, parts_of(items, threads));
    if (!b.failed) share(sums_part, &b, threads, parts_of(items, threads));
    free(b.g.sums_k);
    free(b.g.sums_v);
    return b.failed;
}
