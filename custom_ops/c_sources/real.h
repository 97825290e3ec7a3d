/* The number that a kernel computes in, its vectors, and how elements of memory become such numbers.
 *
 * ELEMENT says what the arrays hold: ELEMENT_FLOAT16, _BFLOAT16, _FLOAT32 or _FLOAT64. Float64 is computed in itself, all
 * others in float32; what is narrower is rounded when it is written. */
#ifndef REAL_H
#define REAL_H

#define ELEMENT_FLOAT16 0
#define ELEMENT_BFLOAT16 1
#define ELEMENT_FLOAT32 2
#define ELEMENT_FLOAT64 3

#if ELEMENT == ELEMENT_FLOAT64 && defined(__AVX512F__)
#define LANES 8 /* an f64v is one register */
#endif
#include "vector_math.h"
#include "thread_pool.h"

#if ELEMENT == ELEMENT_FLOAT64
typedef double real, element;
typedef f64v realv;
#define REAL(f) f64_##f
#define REAL_ANY(mask) i64_any(mask)
#define FROM(f) f64_##f
#else
typedef float real;
typedef f32v realv;
#define REAL(f) f32_##f
#define REAL_ANY(mask) i32_any(mask)
#if ELEMENT == ELEMENT_FLOAT32
typedef float element;
#define FROM(f) f32_##f
#elif ELEMENT == ELEMENT_FLOAT16
typedef uint16_t element;
#define FROM(f) f16_##f
#else
typedef uint16_t element;
#define FROM(f) bf16_##f
#endif
#endif

#define NEGATIVE_INFINITY ((real)-__builtin_inf())
VF int64_t up_to_lanes(int64_t n) { return (n + LANES - 1) / LANES * LANES; }

/* n numbers in a row; the memory of numbers has room up to whole vectors, which become 0 */
VF void numbers_of(real *to, const element *from, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) REAL(store)(to + i, FROM(load)(from + i));
    if (i < n) REAL(store)(to + i, FROM(load_part)(from + i, (int)(n - i)));
}
VF void elements_of(element *to, const real *from, int64_t n) {
    int64_t i = 0;
    for (; i + LANES <= n; i += LANES) FROM(store)(to + i, REAL(load)(from + i));
    if (i < n) FROM(store_part)(to + i, REAL(load)(from + i), (int)(n - i));
}
VF real number_of(const element *from) {
#if ELEMENT >= ELEMENT_FLOAT32
    return *from;
#else
    return FROM(load_part)(from, 1)[0];
#endif
}

#endif
