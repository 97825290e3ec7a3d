/* The part of ONNX Runtime's C interface that a library of custom operators needs.
 *
 * OrtApi is a table of functions that only grows: the position of a function never changes. Each
 * SLOT below is such a position. The declarations are ours; they describe version 23 of the
 * interface, which ONNX Runtime 1.23 and every later 1.x provides. */
#ifndef MS_FUSION_RUNTIME_INTERFACE_H
#define MS_FUSION_RUNTIME_INTERFACE_H

#include <stddef.h>
#include <stdint.h>

#define INTERFACE_VERSION 23
#define FIRST_RUNTIME "1.23"
#define SLOT_COUNT 288

typedef struct OrtStatus OrtStatus; /* NULL is success */
typedef struct OrtValue OrtValue;
typedef struct OrtKernelInfo OrtKernelInfo;
typedef struct OrtKernelContext OrtKernelContext;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtCustomOpDomain OrtCustomOpDomain;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;

typedef struct OrtApi {
  void (*slots[SLOT_COUNT])(void);
} OrtApi;

typedef struct OrtApiBase {
  const OrtApi *(*GetApi)(uint32_t version); /* NULL if the runtime lacks this version */
  const char *(*GetVersionString)(void);
} OrtApiBase;

enum { FAIL = 1, INVALID_ARGUMENT = 2, NOT_IMPLEMENTED = 9 }; /* OrtErrorCode */

#define SLOT(number, result, name, ...)                                  \
  static inline __attribute__((unused)) result (*name(const OrtApi *api))(__VA_ARGS__) { \
    return (result (*)(__VA_ARGS__))api->slots[number];                  \
  }
SLOT(0, OrtStatus *, create_status, int code, const char *message)
SLOT(26, OrtStatus *, create_domain, const char *name, OrtCustomOpDomain **made)
SLOT(27, OrtStatus *, add_operator, OrtCustomOpDomain *domain, const struct OrtCustomOp *op)
SLOT(28, OrtStatus *, add_domain, OrtSessionOptions *options, OrtCustomOpDomain *domain)
SLOT(51, OrtStatus *, tensor_data, OrtValue *value, void **data)
SLOT(61, OrtStatus *, tensor_rank, const OrtTensorTypeAndShapeInfo *shape, size_t *rank)
SLOT(62, OrtStatus *, tensor_sizes, const OrtTensorTypeAndShapeInfo *shape, int64_t *sizes, size_t rank)
SLOT(65, OrtStatus *, tensor_shape, const OrtValue *value, OrtTensorTypeAndShapeInfo **shape)
SLOT(90, OrtStatus *, kernel_input, const OrtKernelContext *context, size_t number, const OrtValue **value)
SLOT(91, OrtStatus *, kernel_output, OrtKernelContext *context, size_t number, const int64_t *sizes, size_t rank, OrtValue **value)
SLOT(93, void, release_status, OrtStatus *status)
SLOT(99, void, release_shape, OrtTensorTypeAndShapeInfo *shape)
SLOT(101, void, release_domain, OrtCustomOpDomain *domain)
SLOT(274, OrtStatus *, parallel_for, const OrtKernelContext *context, void (*run)(void *, size_t), size_t count, size_t batches, void *data)
#undef SLOT

/* What the runtime asks of an operator. It reads the fields up to those of `version`. */
typedef struct OrtCustomOp {
  uint32_t version;
  void *(*CreateKernel)(const struct OrtCustomOp *, const OrtApi *, const OrtKernelInfo *);
  const char *(*GetName)(const struct OrtCustomOp *);
  const char *(*GetExecutionProviderType)(const struct OrtCustomOp *);
  int (*GetInputType)(const struct OrtCustomOp *, size_t);
  size_t (*GetInputTypeCount)(const struct OrtCustomOp *);
  int (*GetOutputType)(const struct OrtCustomOp *, size_t);
  size_t (*GetOutputTypeCount)(const struct OrtCustomOp *);
  void (*KernelCompute)(void *, OrtKernelContext *);
  void (*KernelDestroy)(void *);
  int (*GetInputCharacteristic)(const struct OrtCustomOp *, size_t);
  int (*GetOutputCharacteristic)(const struct OrtCustomOp *, size_t);
  int (*GetInputMemoryType)(const struct OrtCustomOp *, size_t);
  int (*GetVariadicInputMinArity)(const struct OrtCustomOp *);
  int (*GetVariadicInputHomogeneity)(const struct OrtCustomOp *);
  int (*GetVariadicOutputMinArity)(const struct OrtCustomOp *);
  int (*GetVariadicOutputHomogeneity)(const struct OrtCustomOp *);
  OrtStatus *(*CreateKernelV2)(const struct OrtCustomOp *, const OrtApi *, const OrtKernelInfo *, void **);
  OrtStatus *(*KernelComputeV2)(void *, OrtKernelContext *);
  OrtStatus *(*InferOutputShape)(const struct OrtCustomOp *, void *);
  int (*GetStartVersion)(const struct OrtCustomOp *);
  int (*GetEndVersion)(const struct OrtCustomOp *);
  size_t (*GetMayInplace)(int **, int **);
  void (*ReleaseMayInplace)(int *, int *);
  size_t (*GetAliasMap)(int **, int **);
  void (*ReleaseAliasMap)(int *, int *);
} OrtCustomOp;

#endif
