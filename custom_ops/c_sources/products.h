/* Small matrix products whose operands lie in the caches: the register tiles of attention. */
#ifndef PRODUCTS_H
#define PRODUCTS_H

#include "real.h"

/* A tile of C is TILE_ROWS rows of TILE_VECTORS vectors: as many sums as the machine has registers for. */
#if VECTOR_REGISTER_BYTES == 64
#define TILE_VECTORS 4
#else
#define TILE_VECTORS 2
#endif
#define TILE_ROWS 6

/* sums[i][j] (+)= a(i, k) b[k][j] */
VF void tile(int rows, int vectors, int64_t depth, const real *a, int64_t a_row, int64_t a_step, const real *b,
             int64_t b_row, real *c, int64_t c_row, int add) {
    realv sums[TILE_ROWS][TILE_VECTORS];
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int j = 0; j < vectors; j++)
            sums[i][j] = add ? REAL(load)(c + i * c_row + j * LANES) : REAL(splat)(0);
    for (int64_t k = 0; k < depth; k++) {
        realv column[TILE_VECTORS];
#pragma GCC unroll 8
        for (int j = 0; j < vectors; j++) column[j] = REAL(load)(b + k * b_row + j * LANES);
#pragma GCC unroll 8
        for (int i = 0; i < rows; i++) {
            realv one = REAL(splat)(a[i * a_row + k * a_step]);
#pragma GCC unroll 8
            for (int j = 0; j < vectors; j++) sums[i][j] = REAL(fma)(one, column[j], sums[i][j]);
        }
    }
#pragma GCC unroll 8
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 8
        for (int j = 0; j < vectors; j++) REAL(store)(c + i * c_row + j * LANES, sums[i][j]);
}

#define TILE(m, v) tile(m, v, depth, a, a_row, a_step, b, b_row, c, c_row, add)
#define TILES(m)                    \
    if (vectors == TILE_VECTORS)    \
        TILE(m, TILE_VECTORS);      \
    else                            \
        for (int j = 0; j < vectors; j++, b += LANES, c += LANES) TILE(m, 1);

/* c[i][j] (+)= sum over k < depth of a(i, k) b[k][j], with a(i, k) = a[i a_row + k a_step]; `columns` is a multiple of
 * LANES. */
static __attribute__((noinline)) void product(int64_t rows, int64_t columns, int64_t depth, const real *a0, int64_t a_row, int64_t a_step,
                    const real *b0, int64_t b_row, real *c0, int64_t c_row, int add) {
    for (int64_t j = 0; j < columns; j += TILE_VECTORS * LANES) {
        int64_t left = (columns - j) / LANES;
        int vectors = left < TILE_VECTORS ? (int)left : TILE_VECTORS;
        for (int64_t i = 0; i < rows; i += TILE_ROWS) {
            const real *a = a0 + i * a_row, *b = b0 + j;
            real *c = c0 + i * c_row + j;
            switch (rows - i) {
            case 1: TILES(1) break;
            case 2: TILES(2) break;
            case 3: TILES(3) break;
            case 4: TILES(4) break;
            case 5: TILES(5) break;
            default: TILES(TILE_ROWS) break;
            }
        }
    }
}

#endif
