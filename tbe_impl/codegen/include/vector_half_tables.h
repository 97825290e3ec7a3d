/* Table lookups for functions of one float16 value, 32 at once; see half_precision_tables.py.
 *
 * A loop runs in chunks. Values outside all cells (far from 0, or NaN) are always computed by the
 * full formula, and values inside a cell never are. Thus the result of a value does not depend on
 * the other values in its vector. */
#ifndef VECTOR_HALF_CELLS_H
#define VECTOR_HALF_CELLS_H

#include "vector_convert.h"

#if VECTOR_X86 && defined(__AVX512FP16__) && defined(__AVX512VBMI__) && LANES == 16 && VECTOR_REGISTER_BYTES == 64
#define FLOAT16_TABLES 1
#define HALVES 32
#define HALVES_CHUNK 128

typedef _Float16 f16h __attribute__((vector_size(64)));
typedef int16_t i16h __attribute__((vector_size(64)));
typedef char i8h __attribute__((vector_size(64), may_alias));
typedef i16h i16h_in_memory __attribute__((may_alias, aligned(2)));

VF f16h f16h_splat(float number) { return (f16h){0} + (_Float16)number; }
VF f16h f16h_fma(f16h a, f16h b, f16h c) { return __builtin_ia32_vfmaddph512_mask(a, b, c, (uint32_t)-1, 4); }
/* A table: a row of the leading parts, then rows of coefficients from power 0 to the degree. Each
 * row has the high bytes of all cells, then the low bytes, because the lookup instruction permutes
 * bytes. */
typedef struct {
    const uint8_t (*rows)[2 * HALVES];
    int degree, of_product;
    float step;
} f16_cells;
VF f16h f16h_of_cell(const uint8_t *row, i16h bytes) {
    i8h all = *(const i8h *)row;
    return (f16h)__builtin_ia32_permvarqi512_mask(all, (i8h)bytes, all, (uint64_t)-1);
}
/* Near 528 the spacing of float16 is one half, so the lowest five bits are the cell number. Other
 * upper bits than those of 528 (0x6020) mean that no cell contains the value. A product turns
 * 0x6020 into 0x8020 with the cell number in both bytes: the positions of its low and high byte in
 * a row.
 * */
VF i16h f16_in_cells(i16h bits, const f16_cells cells, i16h *astray) {
    const f16h first = f16h_splat(528.0f), middle = f16h_splat(536.0f);
    f16h x = (f16h)bits, cell = f16h_fma(x, f16h_splat(0.5f / cells.step), middle);
    f16h away = f16h_fma(cell - middle, f16h_splat(-2.0f * cells.step), x);
    i16h bytes = (i16h)cell * 0x0101;
    f16h high = f16h_of_cell(cells.rows[0], bytes), y = f16h_of_cell(cells.rows[cells.degree + 1], bytes);
    for (int row = cells.degree; row > 0; row--) y = f16h_fma(y, away, f16h_of_cell(cells.rows[row], bytes));
    *astray |= ((i16h)cell ^ (i16h)first) & ~31;
    return (i16h)(cells.of_product ? f16h_fma(high, x, y) : high + y);
}
VF uint32_t f16_any_astray(i16h astray) { return __builtin_ia32_ptestmw512(astray, astray, (uint32_t)-1); }
VF uint32_t f16_mask(int64_t count) { return count >= HALVES ? (uint32_t)-1 : count <= 0 ? 0 : (1u << count) - 1; }
VF i16h f16_some(const uint16_t *from, uint32_t mask) {
    return __builtin_ia32_loaddquhi512_mask((const short *)from, (i16h){0}, mask);
}
/* Size of the next chunk; non-temporal stores start at a cache line. */
VF int64_t f16_chunk_size(const uint16_t *to, int64_t left, int stream) {
    int64_t head = stream ? (int64_t)((0 - (uintptr_t)to) % 64 / 2) : 0, size = head ? head : HALVES_CHUNK;
    return size < left ? size : left;
}
/* Computes and stores a chunk. If a value is in no cell, it stores nothing and returns 0. */
VF int f16_chunk_write(
    const uint16_t *from, uint16_t *to, int64_t size, const f16_cells cells, int stream) {
    i16h y[HALVES_CHUNK / HALVES], astray = {0};
    if (__builtin_expect(size == HALVES_CHUNK, 1)) {
        for (int at = 0; at < HALVES_CHUNK / HALVES; at++)
            y[at] = f16_in_cells(((const i16h_in_memory *)from)[at], cells, &astray);
        if (__builtin_expect(f16_any_astray(astray) != 0, 0)) return 0;
        for (int at = 0; at < HALVES_CHUNK / HALVES; at++)
            if (stream) VECTOR_STREAM_64(to + at * HALVES, &y[at]);
            else ((i16h_in_memory *)to)[at] = y[at];
        return 1;
    }
    for (int at = 0; at < HALVES_CHUNK / HALVES; at++)
        y[at] = f16_in_cells(f16_some(from + at * HALVES, f16_mask(size - at * HALVES)), cells, &astray);
    if (f16_any_astray(astray)) return 0;
    for (int at = 0; at < HALVES_CHUNK / HALVES; at++)
        __builtin_ia32_storedquhi512_mask((short *)(to + at * HALVES), y[at], f16_mask(size - at * HALVES));
    return 1;
}
/* The same for up to LANES values, except the values in no cell; computing and storing are
 * separate. */
typedef struct {
    i16h y;
    uint32_t near;
} f16_part;
VF f16_part f16_part_of(const uint16_t *from, int count, const f16_cells cells) {
    i16h astray = {0}, y = f16_in_cells(f16_some(from, f16_mask(count)), cells, &astray);
    return (f16_part){y, f16_mask(count) & ~f16_any_astray(astray)};
}
VF void f16_part_write(uint16_t *to, f16_part part) { __builtin_ia32_storedquhi512_mask((short *)to, part.y, part.near); }
#else
#define FLOAT16_TABLES 0
#endif

#endif
