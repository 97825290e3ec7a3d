/* Forwards MindSpore's own entry of the kernel NAME to the library that MindSpore's generator
   built. That library lies beside this one and has the suffix ".own". */
#define JOIN_(name, end) name##end
#define JOIN(name, end) JOIN_(name, end)
#define KERNEL JOIN(NAME, _kernel)

static _Atomic(void *) own;

void KERNEL(void **all) {
  void *function = atomic_load(&own);
  if (!function) {
    Dl_info here;
    char path[4096];
    if (!dladdr((void *)KERNEL, &here) || (size_t)snprintf(path, sizeof path, "%s", here.dli_fname) >= sizeof path) give_up("does not find itself");
    char *end = strrchr(path, '.');
    if (!end || end + sizeof ".own" > path + sizeof path) give_up("does not find itself");
    memcpy(end, ".own", sizeof ".own");
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    function = library ? dlsym(library, TEXT(KERNEL)) : NULL;
    if (!function) give_up("is gone from beside its library");
    atomic_store(&own, function);
  }
  ((void (*)(void **))function)(all);
}
