/* Runtime support of generated kernels: integer arithmetic, gathers, rounding to half precision. */
#pragma once
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "thread_pool.h"

/* Subtracting +0 converts a scalar to a vector and keeps −0; adding +0 would lose the sign of
 * −0. */
#define SPLAT(type, number) ((__typeof__(((type){0})[0]))(number) - ((type){0}))
#define INLINE static inline __attribute__((always_inline, unused))

typedef char i8_lanes_check[sizeof(i32v) / 4 == LANES ? 1 : -1];

/* Returns the index of each lane. */
INLINE i32v i32_iota(void) {
  i32v v;
  for (int l = 0; l < LANES; l++) v[l] = l;
  return v;
}
INLINE i64v i64_iota(void) {
  i64v v;
  for (int l = 0; l < LANES; l++) v[l] = l;
  return v;
}
INLINE i32v lanes_below(int64_t n) { return i32_iota() < SPLAT(i32v, (int32_t)n); }

/* Returns a float64 scalar argument, whose bits are passed among the sizes. */
INLINE double scalar_of(int64_t bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Integer division: division by 0 gives 0, and the minimum divided by -1 wraps around. */
#define WHOLE_DIVISIONS(T, S, M, ZERO_OR_SIGN)                                                    \
  INLINE T##v T##_truncdiv(T##v a, T##v b) {                                                      \
    T##v none = (T##v)(b == 0), least = (T##v)(ZERO_OR_SIGN);                                     \
    T##v q = a / ((b | (none & 1)) ^ (least & (b ^ 1)));                                          \
    return ((q & ~least) | ((0 - a) & least)) & ~none;                                            \
  }                                                                                               \
  INLINE T##v T##_truncmod(T##v a, T##v b) { return (a - T##_truncdiv(a, b) * b) & ~(T##v)(b == 0); }
#define SIGNED(T)                                                                                 \
  WHOLE_DIVISIONS(T, 1, 1, b == -1)                                                               \
  INLINE T##v T##_floordiv(T##v a, T##v b) {                                                      \
    T##v q = T##_truncdiv(a, b), r = a - q * b;                                                   \
    return (q + ((r != 0) & ((r ^ b) < 0))) & ~(T##v)(b == 0);                                    \
  }                                                                                               \
  INLINE T##v T##_floormod(T##v a, T##v b) {                                                      \
    return (a - T##_floordiv(a, b) * b) & ~(T##v)(b == 0);                                        \
  }                                                                                               \
  INLINE T##v T##_abs(T##v a) { return ((a ^ (a < 0)) - (a < 0)); }                               \
  INLINE T##v T##_sign(T##v a) { return (a < 0) - (a > 0); }                                      \
  COMMON(T, T)
#define UNSIGNED(T, S)                                                                            \
  WHOLE_DIVISIONS(T, 0, 0, SPLAT(T##v, 0))                                                        \
  INLINE T##v T##_floordiv(T##v a, T##v b) { return T##_truncdiv(a, b); }                         \
  INLINE T##v T##_floormod(T##v a, T##v b) { return T##_truncmod(a, b); }                         \
  INLINE T##v T##_abs(T##v a) { return a; }                                                       \
  INLINE T##v T##_sign(T##v a) { return (T##v)(a != 0) & 1; }                                     \
  COMMON(T, S)
#define COMMON(T, S)                                                                              \
  INLINE T##v T##_shl(T##v a, T##v b) { return a << (b & (T##v)SPLAT(T##v, sizeof(a[0]) * 8 - 1)); } \
  INLINE T##v T##_shr(T##v a, T##v b) { return a >> (b & (T##v)SPLAT(T##v, sizeof(a[0]) * 8 - 1)); } \
  INLINE T##v T##_neg(T##v a) { return 0 - a; }                                                   \
  INLINE T##v T##_relu(T##v a) { return a & (T##v)(a > 0); }                                      \
  INLINE T##v T##_fmod(T##v a, T##v b) { return T##_truncmod(a, b); }                             \
  INLINE T##v T##_gcd(T##v a, T##v b) {                                                           \
    for (int l = 0; l < LANES; l++) {                                                             \
      uint64_t x = a[l] < 1 ? 0 - (uint64_t)a[l] : (uint64_t)a[l];                                \
      uint64_t y = b[l] < 1 ? 0 - (uint64_t)b[l] : (uint64_t)b[l];                                \
      while (y) {                                                                                 \
        uint64_t rest = x % y;                                                                    \
        x = y;                                                                                    \
        y = rest;                                                                                 \
      }                                                                                           \
      a[l] = x;                                                                                   \
    }                                                                                             \
    return a;                                                                                     \
  }                                                                                               \
  INLINE T##v T##_pow(T##v a, T##v n) {                                                           \
    T##v r = SPLAT(T##v, 1);                                                                      \
    for (int l = 0; l < LANES; l++) {                                                             \
      uint64_t base = (uint64_t)a[l], result = 1, e = (uint64_t)n[l];                             \
      if (n[l] < 1 && n[l] != 0) {                                                                \
        r[l] = a[l] == 1 ? 1 : a[l] + 1 == 0 ? (e & 1 ? a[l] : 1) : 0;                            \
        continue;                                                                                 \
      }                                                                                           \
      for (; e; e >>= 1, base *= base)                                                            \
        if (e & 1) result *= base;                                                                \
      r[l] = result;                                                                              \
    }                                                                                             \
    return r;                                                                                     \
  }
SIGNED(i8) SIGNED(i16) SIGNED(i32) SIGNED(i64)
UNSIGNED(u8, i8) UNSIGNED(u16, i16) UNSIGNED(u32, i32) UNSIGNED(u64, i64)

/* Reductions of narrow integers across lanes; those of wider integers are in vector_math.h. */
#define OVER_LANES(T, E, name, expression)                                                        \
  INLINE E T##_##name(T##v x) {                                                                   \
    E a = x[0];                                                                                   \
    for (int l = 1; l < LANES; l++) {                                                             \
      const E b = x[l];                                                                           \
      a = (E)(expression);                                                                        \
    }                                                                                             \
    return a;                                                                                     \
  }
#define NARROW_OVER_LANES(T, E)                                                                   \
  OVER_LANES(T, E, sum, a + b) OVER_LANES(T, E, prod, (unsigned)a * (unsigned)b)                  \
  OVER_LANES(T, E, max, a > b ? a : b) OVER_LANES(T, E, min, a < b ? a : b)
NARROW_OVER_LANES(i8, int8_t) NARROW_OVER_LANES(u8, uint8_t)
NARROW_OVER_LANES(i16, int16_t) NARROW_OVER_LANES(u16, uint16_t)

/* floats */
INLINE f32v f32_floordiv(f32v a, f32v b) { return f32_floor(a / b); }
INLINE f64v f64_floordiv(f64v a, f64v b) { return f64_floor(a / b); }
INLINE f32v f32_truncdiv(f32v a, f32v b) { return f32_trunc(a / b); }
INLINE f64v f64_truncdiv(f64v a, f64v b) { return f64_trunc(a / b); }
INLINE f32v f32_round_f16(f32v a) { return f16_round(a); }
INLINE f32v f32_round_bf16(f32v a) { return bf16_round(a); }

/* Booleans in memory have one byte each. */
INLINE i32v b8_load(const uint8_t *p) { return __builtin_convertvector(u8_load(p), i32v) != 0; }
INLINE i32v b8_load_part(const uint8_t *p, int n) { return __builtin_convertvector(u8_load_part(p, n), i32v) != 0; }
INLINE void b8_store(uint8_t *p, i32v m) { u8_store(p, __builtin_convertvector(m & 1, u8v)); }
INLINE void b8_stream(uint8_t *p, i32v m) { b8_store(p, m); }
INLINE void b8_store_part(uint8_t *p, i32v m, int n) { u8_store_part(p, __builtin_convertvector(m & 1, u8v), n); }

/* Loads and stores of non-contiguous elements. */
#define GATHERS(M, V, E)                                                                          \
  INLINE V M##_gather(const E *p, int64_t stride, int n) {                                        \
    E one[LANES] = {0};                                                                           \
    for (int l = 0; l < n; l++) one[l] = p[l * stride];                                           \
    return M##_load(one);                                                                         \
  }                                                                                               \
  INLINE V M##_gather_at(const E *p, i64v at) {                                                   \
    E one[LANES];                                                                                 \
    for (int l = 0; l < LANES; l++) one[l] = p[at[l]];                                            \
    return M##_load(one);                                                                         \
  }                                                                                               \
  INLINE V M##_one(const E *p) {                                                                  \
    E one[LANES];                                                                                 \
    for (int l = 0; l < LANES; l++) one[l] = p[0];                                                \
    return M##_load(one);                                                                         \
  }                                                                                               \
  INLINE void M##_scatter(E *p, int64_t stride, V v, int n) {                                     \
    E one[LANES];                                                                                 \
    M##_store(one, v);                                                                            \
    for (int l = 0; l < n; l++) p[l * stride] = one[l];                                           \
  }
GATHERS(f32, f32v, float) GATHERS(f64, f64v, double) GATHERS(f16, f32v, uint16_t) GATHERS(bf16, f32v, uint16_t)
GATHERS(i8, i8v, int8_t) GATHERS(i16, i16v, int16_t) GATHERS(i32, i32v, int32_t) GATHERS(i64, i64v, int64_t)
GATHERS(u8, u8v, uint8_t) GATHERS(u16, u16v, uint16_t) GATHERS(u32, u32v, uint32_t) GATHERS(u64, u64v, uint64_t)
GATHERS(b8, i32v, uint8_t)

/* Minimum and maximum of loop bounds. */
INLINE int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
INLINE int64_t most(int64_t a, int64_t b) { return a > b ? a : b; }

INLINE i64v clip_index(i64v index, int64_t size) {
  i64v high = i64_select(index >= size, SPLAT(i64v, size - 1), index);
  return i64_select(high < 0, SPLAT(i64v, 0), high);
}
