/* Registers the kernels as operators of the domain ms_fusion in a session of ONNX Runtime.
 *
 * This file is compiled for every processor of the architecture. It calls no kernel before it has
 * checked the processor. Every failure is a status with a sentence, which the runtime raises. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "operator_kernel.h"
#include "runtime_interface.h"
#include "thread_pool.h"

#define DOMAIN_NAME "ms_fusion"
#define PARTS_MAX 64
#define EXPORTED __attribute__((visibility("default")))

/* Ends with NULL. */
extern const struct operator_kernel *const ms_fusion_kernels[];
extern const char *const ms_fusion_needed_features[];

struct feature {
  const char *name;
  int present;
};

/* Returns the first needed feature that the processor lacks; NULL if it has all of them. */
static const char *missing_feature(void) {
#if defined(__x86_64__)
  __builtin_cpu_init();
#define HAS(name) {name, __builtin_cpu_supports(name)}
  const struct feature known[] = {
      HAS("avx"), HAS("avx2"), HAS("fma"), HAS("bmi"), HAS("bmi2"), HAS("fma4"), HAS("xop"), HAS("avx512f"),
      HAS("avx512bw"), HAS("avx512cd"), HAS("avx512dq"), HAS("avx512vl"),
  };
  for (const char *const *needed = ms_fusion_needed_features; *needed; needed++)
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
      if (!strcmp(known[i].name, *needed) && !known[i].present) return *needed;
#endif
  return NULL;
}

static _Thread_local const OrtApi *session_api;
static _Thread_local const OrtKernelContext *session_context;

struct shared_task {
  part_of_work *part;
  void *work;
  int count;
};

static void run_part_of_task(void *data, size_t number) {
  const struct shared_task *task = data;
  task->part(task->work, (int)number, task->count);
}

/* Runs the parts of a nest on the threads of the session, each part on the first thread that is free. */
void tbe_impl_share(part_of_work *part, void *work, int threads, int count) {
  (void)threads;
  struct shared_task task = {part, work, count};
  if (session_context) {
    OrtStatus *failed = parallel_for(session_api)(session_context, run_part_of_task, (size_t)count, (size_t)count, &task);
    if (!failed) return;
    release_status(session_api)(failed);
  }
  for (int number = 0; number < count; number++) part(work, number, count);
}

int tbe_impl_is_awake(void) { return session_context != NULL; }

struct registered_operator {
  OrtCustomOp op; /* the first field: the runtime passes its address */
  const struct operator_kernel *kernel;
};

struct created_kernel {
  const OrtApi *api;
  const struct operator_kernel *kernel;
  int64_t parts;
};

static const struct operator_kernel *kernel_of(const OrtCustomOp *op) {
  return ((const struct registered_operator *)op)->kernel;
}

static const char *name_of(const OrtCustomOp *op) { return kernel_of(op)->name; }
static const char *provider_of(const OrtCustomOp *op) { return (void)op, NULL; }
static int input_type(const OrtCustomOp *op, size_t number) { return kernel_of(op)->inputs[number].dtype; }
static int output_type(const OrtCustomOp *op, size_t number) { return kernel_of(op)->outputs[number].dtype; }
static size_t input_count(const OrtCustomOp *op) { return (size_t)kernel_of(op)->input_count; }
static size_t output_count(const OrtCustomOp *op) { return (size_t)kernel_of(op)->output_count; }
static int required(const OrtCustomOp *op, size_t number) { return (void)op, (void)number, 0; }
static int default_memory(const OrtCustomOp *op, size_t number) { return (void)op, (void)number, 0; }
static int one(const OrtCustomOp *op) { return (void)op, 1; }
static int any_version(const OrtCustomOp *op) { return (void)op, INT32_MAX; }
static size_t no_pairs(int **inputs, int **outputs) { return (void)inputs, (void)outputs, 0; }
static void release_no_pairs(int *inputs, int *outputs) { (void)inputs, (void)outputs; }

/* Parts of a parallel nest: one for each processor that the process may use. The session decides
 * how many of its threads run them. */
static int64_t count_parts(void) {
  cpu_set_t allowed;
  const int count = sched_getaffinity(0, sizeof allowed, &allowed) ? 1 : CPU_COUNT(&allowed);
  return count < 1 ? 1 : count > PARTS_MAX ? PARTS_MAX : count;
}

static OrtStatus *create_kernel(const OrtCustomOp *op, const OrtApi *api, const OrtKernelInfo *info, void **made) {
  (void)info;
  struct created_kernel *kernel = malloc(sizeof *kernel);
  if (!kernel) return create_status(api)(FAIL, "ms_fusion: out of memory");
  *kernel = (struct created_kernel){api, kernel_of(op), count_parts()};
  *made = kernel;
  return NULL;
}

static OrtStatus *read_input(const OrtApi *api, const OrtValue *value, int rank, int64_t *sizes, void **data, int *fits) {
  OrtTensorTypeAndShapeInfo *shape;
  size_t found = 0;
  OrtStatus *failed = tensor_shape(api)(value, &shape);
  if (failed) return failed;
  failed = tensor_rank(api)(shape, &found);
  *fits = found == (size_t)rank;
  if (!failed && *fits && rank) failed = tensor_sizes(api)(shape, sizes, found);
  release_shape(api)(shape);
  return failed ? failed : tensor_data(api)((OrtValue *)value, data);
}

static OrtStatus *refuse_input(const OrtApi *api, const struct operator_kernel *kernel, int number) {
  char message[256];
  snprintf(message, sizeof message,
           "ms_fusion: input %d of %s does not have the shape for which the kernel was built; "
           "fuse the model again",
           number, kernel->name);
  return create_status(api)(INVALID_ARGUMENT, message);
}

static OrtStatus *compute(void *created, OrtKernelContext *context) {
  const struct created_kernel *self = created;
  const struct operator_kernel *kernel = self->kernel;
  const OrtApi *api = self->api;
  int64_t given[TENSORS_MAX * AXES_MAX], made[TENSORS_MAX * AXES_MAX], sizes[SIZES_MAX];
  void *buffers[TENSORS_MAX];
  for (int i = 0; i < kernel->input_count; i++) {
    const OrtValue *value;
    int fits;
    OrtStatus *failed = kernel_input(api)(context, (size_t)i, &value);
    if (!failed) failed = read_input(api, value, kernel->inputs[i].rank, given + i * AXES_MAX, buffers + i, &fits);
    if (failed) return failed;
    if (!fits) return refuse_input(api, kernel, i);
  }
  const int wrong = kernel->sizes_of(given, sizes, made);
  if (wrong >= 0) return refuse_input(api, kernel, wrong);
  int64_t elements = 0;
  for (int i = 0; i < kernel->output_count; i++) {
    OrtValue *value;
    const int64_t *shape = made + i * AXES_MAX;
    int64_t own = 1;
    for (int axis = 0; axis < kernel->outputs[i].rank; axis++) own *= shape[axis];
    elements += own;
    OrtStatus *failed = kernel_output(api)(context, (size_t)i, shape, (size_t)kernel->outputs[i].rank, &value);
    if (!failed) failed = tensor_data(api)(value, buffers + kernel->input_count + i);
    if (failed) return failed;
  }
  if (!elements) return NULL;
  session_api = api;
  session_context = context;
  const int failed = kernel->run(buffers, sizes, self->parts);
  session_context = NULL;
  return failed ? create_status(api)(FAIL, "ms_fusion: a kernel ran out of memory") : NULL;
}

static const OrtCustomOp PROTOTYPE = {
    .version = INTERFACE_VERSION,
    .GetName = name_of,
    .GetExecutionProviderType = provider_of,
    .GetInputType = input_type,
    .GetInputTypeCount = input_count,
    .GetOutputType = output_type,
    .GetOutputTypeCount = output_count,
    .KernelDestroy = free,
    .GetInputCharacteristic = required,
    .GetOutputCharacteristic = required,
    .GetInputMemoryType = default_memory,
    .GetVariadicInputMinArity = one,
    .GetVariadicInputHomogeneity = one,
    .GetVariadicOutputMinArity = one,
    .GetVariadicOutputHomogeneity = one,
    .CreateKernelV2 = create_kernel,
    .KernelComputeV2 = compute,
    .GetStartVersion = one,
    .GetEndVersion = any_version,
    .GetMayInplace = no_pairs,
    .ReleaseMayInplace = release_no_pairs,
    .GetAliasMap = no_pairs,
    .ReleaseAliasMap = release_no_pairs,
};

/* Returns a status with the message. A runtime without any known version of the interface cannot
 * make one; the message then goes to standard error and the session fails at the first operator. */
static OrtStatus *refuse(const OrtApiBase *base, const char *message) {
  const OrtApi *oldest = base->GetApi(1);
  if (oldest) return create_status(oldest)(NOT_IMPLEMENTED, message);
  fprintf(stderr, "%s\n", message);
  return NULL;
}

/* The operators of the library, which all sessions of the process share. */
static struct registered_operator *prepare_operators(void) {
  static struct registered_operator *prepared;
  struct registered_operator *found = __atomic_load_n(&prepared, __ATOMIC_ACQUIRE);
  if (found) return found;
  size_t count = 0;
  while (ms_fusion_kernels[count]) count++;
  found = malloc((count + 1) * sizeof *found);
  if (!found) return NULL;
  for (size_t i = 0; i < count; i++) found[i] = (struct registered_operator){PROTOTYPE, ms_fusion_kernels[i]};
  struct registered_operator *expected = NULL;
  if (__atomic_compare_exchange_n(&prepared, &expected, found, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) return found;
  free(found);
  return expected;
}

/* Makes and releases a status and a domain, so that every function of the failure paths is called in
 * every session. */
static OrtStatus *probe_interface(const OrtApi *api) {
  OrtCustomOpDomain *domain;
  release_status(api)(create_status(api)(FAIL, "ms_fusion: probe"));
  OrtStatus *failed = create_domain(api)(DOMAIN_NAME, &domain);
  if (!failed) release_domain(api)(domain);
  return failed;
}

EXPORTED OrtStatus *RegisterCustomOps(OrtSessionOptions *options, const OrtApiBase *base) {
  char message[256];
  const char *version = base->GetVersionString(), *missing = missing_feature();
  const OrtApi *api = base->GetApi(INTERFACE_VERSION);
  if (!api) {
    snprintf(message, sizeof message,
             "ms_fusion: these kernels need ONNX Runtime " FIRST_RUNTIME
             " or a later 1.x, and this is %s; install such a version, or run the original model", version);
    return refuse(base, message);
  }
  if (missing) {
    snprintf(message, sizeof message,
             "ms_fusion: these kernels need a processor with %s, and this one lacks it; "
             "fuse the model on this machine, or run the original model", missing);
    return create_status(api)(NOT_IMPLEMENTED, message);
  }
  struct registered_operator *operators = prepare_operators();
  if (!operators) return create_status(api)(FAIL, "ms_fusion: out of memory");
  OrtCustomOpDomain *domain;
  OrtStatus *failed = probe_interface(api);
  if (!failed) failed = create_domain(api)(DOMAIN_NAME, &domain);
  if (failed) return failed;
  for (size_t i = 0; ms_fusion_kernels[i] && !failed; i++) failed = add_operator(api)(domain, &operators[i].op);
  if (!failed) failed = add_domain(api)(options, domain);
  if (failed) release_domain(api)(domain);
  return failed;
}
