/* A kernel as an operator of a session: its description, and how it learns its sizes. */
#ifndef MS_FUSION_OPERATOR_KERNEL_H
#define MS_FUSION_OPERATOR_KERNEL_H

#include <stdint.h>

enum { AXES_MAX = 8, TENSORS_MAX = 64, SIZES_MAX = 64 };

struct tensor_kind {
  int dtype; /* ONNX's number of the element type */
  int rank;
};

struct operator_kernel {
  const char *name;
  int input_count, output_count;
  const struct tensor_kind *inputs, *outputs;
  /* Fills in the sizes that `run` takes and the sizes of the outputs. `given` and `made` hold
   * AXES_MAX sizes for each tensor. Returns the number of the first input whose sizes do not fit,
   * or -1. */
  int (*sizes_of)(const int64_t *given, int64_t *sizes, int64_t *made);
  /* Computes the outputs. `buffers` holds the inputs, then the outputs. Returns 0, or 1 when out
   * of memory. */
  int (*run)(void **buffers, const int64_t *sizes, int64_t threads);
};

/* Quotients of sizes, rounded down; 0 for a divisor of 0, which only an odd shape can cause. */
static inline __attribute__((unused)) int64_t quotient(int64_t a, int64_t b) {
  return b ? a / b - (a % b && (a < 0) != (b < 0)) : 0;
}
static inline __attribute__((unused)) int64_t remainder_of(int64_t a, int64_t b) { return a - quotient(a, b) * b; }
static inline __attribute__((unused)) int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static inline __attribute__((unused)) int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

#endif
