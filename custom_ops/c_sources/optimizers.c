/* One step of an optimizer over a list of tensors, in place: whatever their number and sizes, one loop over pieces of them
 * that the threads share. */
#include "real.h"
#include <stdlib.h>
#include <string.h>

#define PIECE 8192 /* elements */
#define SHARED_FROM (1 << 17)

enum { ADAM, ADAM_WEIGHT_DECAY, MOMENTUM };

struct tensor {
    int64_t size, decayed;
};

struct problem {
    int64_t rule, count, rates, decays, nesterov;
    double beta1, beta2, epsilon, scale;
    struct tensor tensors[];
};

struct step {
    realv rate, decay, beta1, beta2, rest1, rest2, epsilon, scale, momentum;
    int has_decay, has_scale, nesterov;
};

VF realv load_from(const element *from, int n) { return n == LANES ? FROM(load)(from) : FROM(load_part)(from, n); }
VF void store_to(element *to, realv x, int n) {
    if (n == LANES)
        FROM(store)(to, x);
    else
        FROM(store_part)(to, x, n);
}

/* grad = (grad + decay w) scale */
VF realv changed(const struct step *s, realv grad, realv w) {
    if (s->has_decay) grad += s->decay * w;
    return s->has_scale ? grad * s->scale : grad;
}

VF void averages(const struct step *s, realv grad, element *m, element *v, int n, realv *mean, realv *square) {
    *mean = s->beta1 * load_from(m, n) + s->rest1 * grad;
    *square = s->beta2 * load_from(v, n) + s->rest2 * grad * grad;
    store_to(m, *mean, n);
    store_to(v, *square, n);
}

VF void adam(const struct step *s, const element *g, element *w, element *m, element *v, int n) {
    realv weight = load_from(w, n), grad = changed(s, load_from(g, n), weight), mean, square;
    averages(s, grad, m, v, n, &mean, &square);
    if (s->nesterov) mean = s->beta1 * mean + s->rest1 * grad;
    store_to(w, weight - s->rate * mean / (REAL(sqrt)(square) + s->epsilon), n);
}

VF void adam_weight_decay(const struct step *s, const element *g, element *w, element *m, element *v, int n) {
    realv weight = load_from(w, n), mean, square;
    averages(s, load_from(g, n), m, v, n, &mean, &square);
    realv change = mean / (REAL(sqrt)(square) + s->epsilon);
    if (s->has_decay) change += s->decay * weight;
    store_to(w, weight - s->rate * change, n);
}

VF void momentum(const struct step *s, const element *g, element *w, element *m, element *v, int n) {
    realv weight = load_from(w, n), grad = changed(s, load_from(g, n), weight);
    realv mean = load_from(m, n) * s->momentum + grad;
    store_to(m, mean, n);
    store_to(w, weight - s->rate * (s->nesterov ? grad + mean * s->momentum : mean), n);
}

#define RULE(name)                                                                                                 \
    static __attribute__((noinline)) void name##_piece(const struct step *s, const element *g, element *w, element *m, \
                                                       element *v, int64_t size) {                                 \
        struct step own = *s;                                                                                      \
        int64_t i = 0;                                                                                             \
        for (; i + LANES <= size; i += LANES) name(&own, g + i, w + i, m + i, v ? v + i : 0, LANES);               \
        if (i < size) name(&own, g + i, w + i, m + i, v ? v + i : 0, (int)(size - i));                             \
    }
RULE(adam)
RULE(adam_weight_decay)
RULE(momentum)

VF double one_of(void **numbers, int64_t place) { return *(const float *)numbers[place]; }

/* All tensors, and where each begins among the pieces. */
struct list {
    const struct problem *p;
    struct step step;
    void **rates, **decays, **grads, **weights, **moments, **squares;
    double correction;
    const int64_t *first;
    int64_t pieces;
};

static void one_piece(const struct list *list, int64_t piece) {
    const struct problem *p = list->p;
    int64_t low = 0, high = p->count;
    while (high - low > 1) {
        int64_t middle = (low + high) / 2;
        if (list->first[middle] <= piece)
            low = middle;
        else
            high = middle;
    }
    /* empty tensors begin where the next one does */
    const struct tensor *tensor = &p->tensors[low];
    int64_t start = (piece - list->first[low]) * PIECE, size = tensor->size - start < PIECE ? tensor->size - start : PIECE;
    struct step s = list->step;
    s.rate = REAL(splat)((real)(one_of(list->rates, p->rates > 1 ? low : 0) * list->correction));
    s.has_decay = p->decays && tensor->decayed;
    if (s.has_decay) s.decay = REAL(splat)((real)one_of(list->decays, p->decays > 1 ? low : 0));
    const element *g = (const element *)list->grads[low] + start;
    element *w = (element *)list->weights[low] + start, *m = (element *)list->moments[low] + start;
    element *v = p->rule == MOMENTUM ? NULL : (element *)list->squares[low] + start;
    if (p->rule == ADAM)
        adam_piece(&s, g, w, m, v, size);
    else if (p->rule == ADAM_WEIGHT_DECAY)
        adam_weight_decay_piece(&s, g, w, m, v, size);
    else
        momentum_piece(&s, g, w, m, v, size);
}

static void pieces_part(void *work, int number, int count) {
    const struct list *list = work;
    for (int64_t piece = list->pieces * number / count; piece < list->pieces * (number + 1) / count; piece++) one_piece(list, piece);
}

/* rates, decays (one each, or one for each tensor; no decays at all where there are none), then the powers of both betas
 * (Adam) or the momentum, all float32; then gradients, parameters, moments and second moments → 0 */
int optimize(void **buffers, const int64_t *numbers, int64_t threads) {
    const struct problem *p = (const struct problem *)numbers;
    int64_t count = p->count, pieces = 0, total = 0;
    void **rates = buffers, **decays = rates + p->rates, **scalars = decays + p->decays;
    void **grads = scalars + (p->rule == ADAM ? 2 : p->rule == MOMENTUM ? 1 : 0);
    void **weights = grads + count, **moments = weights + count, **squares = moments + count;
    *(float *)(p->rule == MOMENTUM ? squares : squares + count)[0] = 0;
    double correction = p->rule == ADAM ? __builtin_sqrt(1 - one_of(scalars, 1)) / (1 - one_of(scalars, 0)) : 1;
    real beta1 = (real)p->beta1, beta2 = (real)p->beta2;
    int64_t *first = malloc((size_t)(count + 1) * sizeof *first);
    if (!first) return 1;
    for (int64_t i = 0; i < count; i++) {
        first[i] = pieces;
        pieces += (p->tensors[i].size + PIECE - 1) / PIECE;
        total += p->tensors[i].size;
    }
    first[count] = pieces;
    struct list list = {
        .p = p, .rates = rates, .decays = decays, .grads = grads, .weights = weights, .moments = moments, .squares = squares,
        .correction = correction, .first = first, .pieces = pieces,
        .step = {
            .beta1 = REAL(splat)(beta1), .beta2 = REAL(splat)(beta2), .rest1 = REAL(splat)(1 - beta1), .rest2 = REAL(splat)(1 - beta2),
            .epsilon = REAL(splat)((real)p->epsilon), .scale = REAL(splat)((real)p->scale), .has_scale = p->scale != 1,
            .momentum = REAL(splat)(p->rule == MOMENTUM ? (real)one_of(scalars, 0) : 0), .nesterov = (int)p->nesterov,
        },
    };
    int64_t together = total < SHARED_FROM || threads < 1 ? 1 : threads;
    share(pieces_part, &list, together, together);
    free(first);
    return 0;
}
