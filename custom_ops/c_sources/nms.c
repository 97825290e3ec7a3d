/* Suppression of boxes that overlap a better one, image by image. Overlaps are computed in float64, so that what is chosen
 * is what the definition chooses. */
#include "real.h"
#include <stdlib.h>

struct problem {
    int64_t images, boxes, classes, room, apart;
    double least_score, most_overlap;
};

/* A box as one class, by its place among (box, class). */
struct candidate {
    real score;
    int64_t place;
};

/* A chosen box, and the one of its class that was chosen before it. */
struct chosen {
    double left, top, right, bottom, area;
    int64_t before;
};

static int comes_first(struct candidate a, struct candidate b) {
    return a.score > b.score || (a.score == b.score && a.place < b.place);
}

static void sink(struct candidate *heap, int64_t count, int64_t at) {
    struct candidate moved = heap[at];
    for (int64_t next; (next = 2 * at + 1) < count; at = next) {
        if (next + 1 < count && comes_first(heap[next + 1], heap[next])) next++;
        if (!comes_first(heap[next], moved)) break;
        heap[at] = heap[next];
    }
    heap[at] = moved;
}

static double extent(double low, double high) { return high < low ? 0 : high - low; }
static double lesser(double a, double b) { return a < b ? a : b; }
static double greater(double a, double b) { return a > b ? a : b; }

static double overlap(const struct chosen *a, const struct chosen *b) {
    double common = extent(greater(a->left, b->left), lesser(a->right, b->right)) * extent(greater(a->top, b->top), lesser(a->bottom, b->bottom));
    double whole = a->area + b->area - common;
    return whole == 0 ? 0 : common / whole;
}

struct results {
    element *boxes, *scores;
    int32_t *classes, *indices;
};

static int32_t one_image(const struct problem *p, const element *boxes, const element *scores, struct candidate *heap,
                         struct chosen *chosen, int64_t *last, const struct results *to) {
    int64_t count = 0, found = 0;
    for (int64_t i = 0; i < p->boxes * p->classes; i++) {
        real score = number_of(scores + i);
        if (score > p->least_score) heap[count++] = (struct candidate){score, i}; /* no NaN */
    }
    for (int64_t i = count / 2 - 1; i >= 0; i--) sink(heap, count, i);
    for (int64_t c = 0; c < (p->apart ? p->classes : 1); c++) last[c] = -1;
    while (count && found < p->room) {
        struct candidate best = heap[0];
        heap[0] = heap[--count];
        if (count) sink(heap, count, 0);
        int64_t box = best.place / p->classes, class = best.place % p->classes, kind = p->apart ? class : 0;
        const element *corners = boxes + box * 4;
        struct chosen *one = &chosen[found];
        *one = (struct chosen){number_of(corners), number_of(corners + 1), number_of(corners + 2), number_of(corners + 3), 0, last[kind]};
        one->area = extent(one->left, one->right) * extent(one->top, one->bottom);
        int64_t other = last[kind];
        while (other >= 0 && !(overlap(one, &chosen[other]) > p->most_overlap)) other = chosen[other].before;
        if (other >= 0) continue;
        last[kind] = found;
        for (int i = 0; i < 4; i++) to->boxes[found * 4 + i] = corners[i];
        to->scores[found] = scores[best.place];
        to->classes[found] = (int32_t)class;
        to->indices[found++] = (int32_t)box;
    }
    for (int64_t i = found; i < p->room; i++) {
        for (int k = 0; k < 4; k++) to->boxes[i * 4 + k] = 0;
        to->scores[i] = 0;
        to->classes[i] = to->indices[i] = -1;
    }
    return (int32_t)found;
}

struct images {
    const struct problem *p;
    void **buffers;
    int64_t next;
    int failed;
};

/* Images as they come, in memory of its own. */
static void images_part(void *work, int number, int count) {
    (void)number, (void)count;
    struct images *all = work;
    const struct problem *p = all->p;
    void **buffers = all->buffers;
    int64_t each = p->boxes * p->classes;
    struct candidate *heap = malloc((size_t)(each + 1) * sizeof *heap);
    struct chosen *chosen = malloc((size_t)(p->room + 1) * sizeof *chosen);
    int64_t *last = malloc((size_t)(p->classes + 1) * sizeof *last);
    if (!heap || !chosen || !last)
        __atomic_store_n(&all->failed, 1, __ATOMIC_RELAXED);
    else
        for (int64_t i; (i = __atomic_fetch_add(&all->next, 1, __ATOMIC_RELAXED)) < p->images;) {
            struct results to = {(element *)buffers[2] + i * p->room * 4, (element *)buffers[3] + i * p->room,
                                 (int32_t *)buffers[4] + i * p->room, (int32_t *)buffers[5] + i * p->room};
            ((int32_t *)buffers[6])[i] = one_image(p, (const element *)buffers[0] + i * p->boxes * 4,
                                                   (const element *)buffers[1] + i * each, heap, chosen, last, &to);
        }
    free(heap);
    free(chosen);
    free(last);
}

/* boxes (images, boxes, 4), scores (images, boxes, classes) → boxes, scores, classes, indices, counts */
int nms(void **buffers, const int64_t *numbers, int64_t threads) {
    const struct problem *p = (const struct problem *)numbers;
    struct images all = {p, buffers, 0, 0};
    share(images_part, &all, threads, parts_of(p->images, threads));
    return all.failed;
}
