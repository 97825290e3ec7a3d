// The kernel's assert stays the model's, also where a kernel includes <cassert> after it.
#include_next <assert.h>
#ifdef HOST_MODEL_ASSERT
#undef assert
#define assert(...) HOST_MODEL_ASSERT(__VA_ARGS__)
#endif
