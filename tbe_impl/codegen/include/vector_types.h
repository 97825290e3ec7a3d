/* Vectors of LANES elements: types, loads and stores, blends, shuffles.
 *
 * One source for AVX-512, AVX2, SSE2 and NEON, in the compiler's generic vectors. The intrinsics'
 * own header takes longer to parse than a kernel takes to compile, so the few instructions without
 * a generic form are called as builtins. VECTOR_GENERIC disables those too.
 *
 * A type wider than the machine's registers (mostly float64) is split into PARTS of register width:
 * compilers spill wider types to the stack at every builtin call.
 */
#ifndef VECTOR_TYPES_H
#define VECTOR_TYPES_H

#include <stdint.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif
#pragma GCC diagnostic ignored "-Wunused-function"

#define VECTOR_FUNCTION static inline __attribute__((always_inline, unused))
#define VF VECTOR_FUNCTION

#if defined(__AVX512F__) && defined(__AVX512VL__) && defined(__AVX512DQ__) && defined(__AVX512BW__)
#define VECTOR_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define VECTOR_REGISTER_BYTES 32
#else
#define VECTOR_REGISTER_BYTES 16
#endif
/* Whether loops over rows are software-pipelined. */
#if VECTOR_REGISTER_BYTES >= 32
#define SOFTWARE_PIPELINING 1
#else
#define SOFTWARE_PIPELINING 0
#endif
#ifndef LANES
#define LANES (VECTOR_REGISTER_BYTES / 4)
#endif
#if LANES != 4 && LANES != 8 && LANES != 16
#error "LANES is 4, 8 or 16"
#endif

/* GCC's builtins; clang compiles its generic vector forms to the same instructions. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__SSE2__) && !defined(VECTOR_GENERIC)
#define VECTOR_X86 1
#else
#define VECTOR_X86 0
#endif
/* Number of vectors per strip of a loop after fission, where fission is profitable. Not measured on
 * Zen 4 and 5. */
#if LANES == 16 || defined(__znver3__)
#define STRIP 8
#else
#define STRIP 4
#endif
#if VECTOR_X86 && LANES * 4 == VECTOR_REGISTER_BYTES && (LANES == 8 || (LANES == 16 && !defined(__znver4__) && !defined(__znver5__)))
#define LOOP_FISSION 1
#else
#define LOOP_FISSION 0
#endif
#if defined(__FMA__) || defined(__AVX512F__) || defined(__ARM_FEATURE_FMA) || defined(__aarch64__)
#define VECTOR_FMA 1
#else
#define VECTOR_FMA 0
#endif
#ifdef __has_builtin
#if __has_builtin(__builtin_shufflevector)
#define VECTOR_SHUFFLE 1
#endif
#if __has_builtin(__builtin_elementwise_fma) && __has_builtin(__builtin_elementwise_rint) && \
    __has_builtin(__builtin_elementwise_sqrt) && !defined(VECTOR_GENERIC)
#define VECTOR_ELEMENTWISE 1
#endif
#endif
#ifndef VECTOR_ELEMENTWISE
#define VECTOR_ELEMENTWISE 0
#endif
#ifndef VECTOR_SHUFFLE
#define VECTOR_SHUFFLE 0
#endif

#define VECTOR_PARTS(bytes) ((bytes) <= VECTOR_REGISTER_BYTES ? 1 : (bytes) / VECTOR_REGISTER_BYTES)
#define PARTS32 VECTOR_PARTS(LANES * 4)
#define PARTS64 VECTOR_PARTS(LANES * 8)
#define PART32_BYTES (LANES * 4 / PARTS32)
#define PART64_BYTES (LANES * 8 / PARTS64)

#if LANES == 16
#define VECTOR_EACH 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define VECTOR_LOW 0, 1, 2, 3, 4, 5, 6, 7
#define VECTOR_HIGH 8, 9, 10, 11, 12, 13, 14, 15
#define VECTOR_SWAP_8 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7
#define VECTOR_SWAP_4 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11
#define VECTOR_SWAP_2 2, 3, 0, 1, 6, 7, 4, 5, 10, 11, 8, 9, 14, 15, 12, 13
#define VECTOR_SWAP_1 1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14
#elif LANES == 8
#define VECTOR_EACH 0, 1, 2, 3, 4, 5, 6, 7
#define VECTOR_LOW 0, 1, 2, 3
#define VECTOR_HIGH 4, 5, 6, 7
#define VECTOR_SWAP_4 4, 5, 6, 7, 0, 1, 2, 3
#define VECTOR_SWAP_2 2, 3, 0, 1, 6, 7, 4, 5
#define VECTOR_SWAP_1 1, 0, 3, 2, 5, 4, 7, 6
#else
#define VECTOR_EACH 0, 1, 2, 3
#define VECTOR_LOW 0, 1
#define VECTOR_HIGH 2, 3
#define VECTOR_SWAP_2 2, 3, 0, 1
#define VECTOR_SWAP_1 1, 0, 3, 2
#endif

/* Every element type: short name, C type, bytes. */
#define VECTOR_TYPES_8(X) X(i8, int8_t, 1) X(u8, uint8_t, 1)
#define VECTOR_TYPES_16(X) X(i16, int16_t, 2) X(u16, uint16_t, 2)
#define VECTOR_TYPES_32(X) X(f32, float, 4) X(i32, int32_t, 4) X(u32, uint32_t, 4)
#define VECTOR_TYPES_64(X) X(f64, double, 8) X(i64, int64_t, 8) X(u64, uint64_t, 8)
#define VECTOR_TYPES(X) VECTOR_TYPES_8(X) VECTOR_TYPES_16(X) VECTOR_TYPES_32(X) VECTOR_TYPES_64(X)

#define X(t, c, bytes)                                                 \
    typedef c t##v __attribute__((vector_size(LANES * bytes)));        \
    typedef c t##v_at __attribute__((vector_size(LANES * bytes), aligned(bytes), may_alias));
VECTOR_TYPES(X)
#undef X

/* Register-sized parts of vectors: f32p holds float32, f64p holds float64. f32q and all other types
 * in q have as many lanes as f64p. */
#define X(t, c, bytes)                                                                \
    typedef c t##p __attribute__((vector_size(PART##32_BYTES)));                      \
    typedef union {                                                                   \
        t##v v;                                                                       \
        t##p p[PARTS32];                                                              \
        c e[LANES];                                                                   \
    } t##_parts;
VECTOR_TYPES_32(X)
#undef X
#define X(t, c, bytes)                                                                \
    typedef c t##p __attribute__((vector_size(PART64_BYTES)));                        \
    typedef c t##p_at __attribute__((vector_size(PART64_BYTES), aligned(8), may_alias)); \
    typedef union {                                                                   \
        t##v v;                                                                       \
        t##p p[PARTS64];                                                              \
        c e[LANES];                                                                   \
    } t##_parts;
VECTOR_TYPES_64(X)
#undef X
#define X(t, c, bytes)                                                                \
    typedef c t##q __attribute__((vector_size(PART64_BYTES / 8 * bytes)));            \
    typedef union {                                                                   \
        t##v v;                                                                       \
        t##q q[PARTS64];                                                              \
    } t##_pieces;
VECTOR_TYPES(X)
#undef X

/* t_join: joins the PARTS64 pieces of a vector. Wide vectors never fit one register and go through
 * memory, piece by piece. Halves of a register are joined in the register, because a wide load
 * would wait for both narrow stores. */
#if VECTOR_SHUFFLE && LANES * 8 == 2 * VECTOR_REGISTER_BYTES
#define X(t, c, bytes) \
    VF t##v t##_join(const t##q *q) { return __builtin_shufflevector(q[0], q[1], VECTOR_EACH); }
VECTOR_TYPES_8(X)
VECTOR_TYPES_16(X)
VECTOR_TYPES_32(X)
#undef X
#define VECTOR_TYPES_JOIN(X) VECTOR_TYPES_64(X)
#else
#define VECTOR_TYPES_JOIN(X) VECTOR_TYPES(X)
#endif
#define X(t, c, bytes)                                            \
    VF t##v t##_join(const t##q *q) {                             \
        t##_pieces all;                                           \
        for (int i = 0; i < PARTS64; i++) all.q[i] = q[i];        \
        return all.v;                                             \
    }
VECTOR_TYPES_JOIN(X)
#undef X

/* t_splat(c): every lane c. Subtracting +0 changes no value, not even -0. */
#define X(t, c, bytes) \
    VF t##v t##_splat(c value) { return value - (t##v){0}; }
VECTOR_TYPES(X)
#undef X
VF f32p f32p_splat(float value) { return value - (f32p){0}; }
VF f64p f64p_splat(double value) { return value - (f64p){0}; }

/* t_load, t_store: any address with the alignment of the element. */
#define X(t, c, bytes)                                                \
    VF t##v t##_load(const c *from) { return *(const t##v_at *)from; } \
    VF void t##_store(c *to, t##v value) { *(t##v_at *)to = value; }
VECTOR_TYPES_8(X)
VECTOR_TYPES_16(X)
VECTOR_TYPES_32(X)
#undef X
#define X(t, c, bytes)                                                                          \
    VF t##v t##_load(const c *from) {                                                           \
        t##p p[PARTS64];                                                                        \
        for (int i = 0; i < PARTS64; i++) p[i] = *(const t##p_at *)(from + i * (LANES / PARTS64)); \
        return t##_join(p);                                                                     \
    }                                                                                           \
    VF void t##_store(c *to, t##v value) {                                                      \
        t##_parts all = {.v = value};                                                           \
        for (int i = 0; i < PARTS64; i++) *(t##p_at *)(to + i * (LANES / PARTS64)) = all.p[i];  \
    }
VECTOR_TYPES_64(X)
#undef X

/* t_load_part, t_store_part: the first n lanes, 0 <= n <= LANES; missing lanes are 0, and no
 * element from the n-th on is read or written. */
#if VECTOR_X86 && VECTOR_REGISTER_BYTES == 64
#define VECTOR_BITS_OF(n) ((1u << (n)) - 1u)
#if LANES == 16
#define VECTOR_LOAD_32 __builtin_ia32_loadups512_mask
#define VECTOR_MASK_32 uint16_t
#elif LANES == 8
#define VECTOR_LOAD_32 __builtin_ia32_loadups256_mask
#define VECTOR_MASK_32 uint8_t
#else
#define VECTOR_LOAD_32 __builtin_ia32_loadups128_mask
#define VECTOR_MASK_32 uint8_t
#endif
/* Stores in pieces, because some processors execute masked stores lane by lane. */
VF void vector_store_32(void *to, const void *from, int n) {
    int done = 0;
    if (n == LANES) {
        __builtin_memcpy(to, from, 4 * LANES);
        return;
    }
    for (int lanes = LANES / 2; lanes; lanes /= 2)
        if (n & lanes) {
            __builtin_memcpy((char *)to + 4 * done, (const char *)from + 4 * done, 4 * lanes);
            done += lanes;
        }
}
#define X(t, c, bytes)                                                                                           \
    VF t##v t##_load_part(const c *from, int n) {                                                                \
        return (t##v)VECTOR_LOAD_32((const float *)from, (f32v){0}, (VECTOR_MASK_32)VECTOR_BITS_OF(n));          \
    }                                                                                                            \
    VF void t##_store_part(c *to, t##v value, int n) { vector_store_32(to, &value, n); }
VECTOR_TYPES_32(X)
#undef X
#define VECTOR_TYPES_PART(X) VECTOR_TYPES_8(X) VECTOR_TYPES_16(X) VECTOR_TYPES_64(X)
#else
#define VECTOR_TYPES_PART(X) VECTOR_TYPES(X)
#endif
#define X(t, c, bytes)                                               \
    VF t##v t##_load_part(const c *from, int n) {                    \
        union {                                                      \
            t##v v;                                                  \
            c e[LANES];                                              \
        } all = {.v = {0}};                                          \
        for (int i = 0; i < LANES; i++)                              \
            if (i < n) all.e[i] = from[i];                           \
        return all.v;                                                \
    }                                                                \
    VF void t##_store_part(c *to, t##v value, int n) {               \
        union {                                                      \
            t##v v;                                                  \
            c e[LANES];                                              \
        } all = {.v = value};                                        \
        for (int i = 0; i < LANES; i++)                              \
            if (i < n) to[i] = all.e[i];                             \
    }
VECTOR_TYPES_PART(X)
#undef X

/* t_joined: the first LANES - n lanes of one vector, then the first n lanes of another. */
#if VECTOR_X86 && defined(__GNUC__) && !defined(__clang__)
#define VECTOR_TYPES_JOINED(X) VECTOR_TYPES_8(X) VECTOR_TYPES_16(X) VECTOR_TYPES_64(X)
#define X(t, c, bytes)                                                                        \
    VF t##v t##_joined(t##v before, t##v value, int n) {                                      \
        union {                                                                               \
            i32v v;                                                                           \
            int32_t e[LANES];                                                                 \
        } at;                                                                                 \
        for (int i = 0; i < LANES; i++) at.e[i] = i;                                          \
        return __builtin_shuffle(before, value, at.v + ((at.v >= LANES - n) & n));            \
    }
VECTOR_TYPES_32(X)
#undef X
#else
#define VECTOR_TYPES_JOINED(X) VECTOR_TYPES(X)
#endif
#define X(t, c, bytes)                                                       \
    VF t##v t##_joined(t##v before, t##v value, int n) {                     \
        union {                                                              \
            t##v v;                                                          \
            c e[LANES];                                                      \
        } all = {.v = before}, own = {.v = value};                           \
        for (int i = 0; i < n; i++) all.e[LANES - n + i] = own.e[i];         \
        return all.v;                                                        \
    }
VECTOR_TYPES_JOINED(X)
#undef X

/* A page walk takes as long as a cache miss, so the first bytes of a page prefetch the next page.
 * On Zen 4 and 5, non-temporal stores wait for a page walk, so the prefetch precedes those stores.
 * On other processors, loaded lines delay such stores (a copy by a seventh, swish by a quarter), so
 * the prefetch precedes loads only. Zen 3 has no such prefetch, which would cost 3 to 10 %. */
VF void page_after(const void *at, uintptr_t bytes) {
    if (((uintptr_t)at & 4095) < bytes) __builtin_prefetch((const char *)at + 4096);
}
/* fetch: prefetches a cache line. The hardware prefetchers of Zen 4 and 5 cross pages, and software
 * prefetches cost 5 to 10 % there. The hardware prefetchers of Zen 3 do not cross pages: without
 * software prefetches softmax takes half as long again. */
#if defined(__znver4__) || defined(__znver5__)
VF void fetch(const void *from) { (void)from; }
VF void before_stream(const void *to, uintptr_t bytes) { page_after(to, bytes); }
#else
VF void fetch(const void *from) {
    __builtin_prefetch(from);
#if !defined(__znver3__)
    page_after(from, 64);
#endif
}
VF void before_stream(const void *to, uintptr_t bytes) { (void)to, (void)bytes; }
#endif
/* fetch for one of several vectors of an iteration; only the first vector of a cache line
 * prefetches. */
#define fetch_of(place, from) ((place) * LANES * (int)sizeof *(from) % 64 ? (void)0 : fetch(from))

/* t_stream: non-temporal store to an address aligned to min(vector, 64) bytes; an ordinary store
 * without such an instruction. Call stream_fence() after the last one, before other threads are
 * notified. */
#if VECTOR_X86
typedef float vector_4f __attribute__((vector_size(16), may_alias));
typedef float vector_8f __attribute__((vector_size(32), may_alias));
typedef float vector_16f __attribute__((vector_size(64), may_alias));
#if VECTOR_REGISTER_BYTES == 64
#define VECTOR_STREAM_64(to, from) __builtin_ia32_movntps512((float *)(to), *(const vector_16f *)(from))
#else
#define VECTOR_STREAM_64(to, from) \
    (VECTOR_STREAM_32(to, from), VECTOR_STREAM_32((char *)(to) + 32, (const char *)(from) + 32))
#endif
#if VECTOR_REGISTER_BYTES >= 32
#define VECTOR_STREAM_32(to, from) __builtin_ia32_movntps256((float *)(to), *(const vector_8f *)(from))
#else
#define VECTOR_STREAM_32(to, from) \
    (VECTOR_STREAM_16(to, from), VECTOR_STREAM_16((char *)(to) + 16, (const char *)(from) + 16))
#endif
#define VECTOR_STREAM_16(to, from) __builtin_ia32_movntps((float *)(to), *(const vector_4f *)(from))
#define X(t, c, bytes)                                                                       \
    VF void t##_stream(c *to, t##v value) {                                                  \
        before_stream(to, sizeof value);                                                     \
        if (sizeof value >= 64)                                                              \
            for (int i = 0; i < (int)sizeof value; i += 64)                                  \
                VECTOR_STREAM_64((char *)to + i, (char *)&value + i);                        \
        else if (sizeof value == 32)                                                         \
            VECTOR_STREAM_32(to, &value);                                                    \
        else if (sizeof value == 16)                                                         \
            VECTOR_STREAM_16(to, &value);                                                    \
        else                                                                                 \
            t##_store(to, value);                                                            \
    }
VF void stream_fence(void) { __builtin_ia32_sfence(); }
#elif defined(__clang__) && !defined(VECTOR_GENERIC)
#define X(t, c, bytes) \
    VF void t##_stream(c *to, t##v value) { __builtin_nontemporal_store(value, (t##v *)to); }
VF void stream_fence(void) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
#else
#define X(t, c, bytes) \
    VF void t##_stream(c *to, t##v value) { t##_store(to, value); }
VF void stream_fence(void) {}
#endif
VECTOR_TYPES(X)
#undef X

/* t_select(mask, a, b): a where the mask is -1, b where it is 0; the mask has the lane width of the
 * type. */
#define VECTOR_SELECT(t, m, suffix)                                            \
    VF t##suffix t##_select(m##suffix mask, t##suffix a, t##suffix b) {        \
        return (t##suffix)(((m##suffix)a & mask) | ((m##suffix)b & ~mask));    \
    }
VECTOR_SELECT(f32, i32, v)
VECTOR_SELECT(i32, i32, v)
VECTOR_SELECT(u32, i32, v)
VECTOR_SELECT(f64, i64, v)
VECTOR_SELECT(i64, i64, v)
VECTOR_SELECT(u64, i64, v)
VECTOR_SELECT(i16, i16, v)
VECTOR_SELECT(u16, i16, v)
VECTOR_SELECT(i8, i8, v)
VECTOR_SELECT(u8, i8, v)
VF f32p f32p_select(i32p mask, f32p a, f32p b) { return (f32p)(((i32p)a & mask) | ((i32p)b & ~mask)); }
VF f64p f64p_select(i64p mask, f64p a, f64p b) { return (f64p)(((i64p)a & mask) | ((i64p)b & ~mask)); }

/* i32_any(mask), i64_any: whether any lane of a mask is set. */
VF int i64p_any(i64p mask) {
#if VECTOR_X86 && PART64_BYTES == 64
    typedef long long lanes __attribute__((vector_size(64)));
    return __builtin_ia32_cvtq2mask512((lanes)mask) != 0;
#elif VECTOR_X86 && PART64_BYTES == 32
    return __builtin_ia32_movmskpd256((f64p)mask) != 0;
#elif VECTOR_X86
    return __builtin_ia32_movmskpd((f64p)mask) != 0;
#else
    int64_t seen = 0;
    for (int i = 0; i < LANES / PARTS64; i++) seen |= mask[i];
    return seen != 0;
#endif
}
VF int i64_any(i64v mask) {
    i64_parts all = {.v = mask};
    i64p seen = all.p[0];
    for (int i = 1; i < PARTS64; i++) seen |= all.p[i];
    return i64p_any(seen);
}
VF int i32p_any(i32p mask) {
#if VECTOR_X86 && PART32_BYTES == 64
    return __builtin_ia32_cvtd2mask512(mask) != 0;
#elif VECTOR_X86 && PART32_BYTES == 32
    return __builtin_ia32_movmskps256((f32p)mask) != 0;
#elif VECTOR_X86
    return __builtin_ia32_movmskps((f32p)mask) != 0;
#else
    int32_t seen = 0;
    for (int i = 0; i < LANES / PARTS32; i++) seen |= mask[i];
    return seen != 0;
#endif
}
VF int i32_any(i32v mask) {
    i32_parts all = {.v = mask};
    i32p seen = all.p[0];
    for (int i = 1; i < PARTS32; i++) seen |= all.p[i];
    return i32p_any(seen);
}

#endif
