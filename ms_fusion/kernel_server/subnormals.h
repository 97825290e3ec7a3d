/* Disables flush-to-zero and denormals-are-zero during a kernel. A framework may set these modes in
   some of its threads, but results must not depend on the calling thread. */
#if defined(__SSE__)
enum { FLUSHED = 0x8040 };
static inline unsigned keep_subnormals(void) {
  const unsigned before = __builtin_ia32_stmxcsr();
  if (before & FLUSHED) __builtin_ia32_ldmxcsr(before & ~FLUSHED);
  return before;
}
static inline void restore_subnormals(unsigned before) {
  if (before & FLUSHED) __builtin_ia32_ldmxcsr(before);
}
#elif defined(__aarch64__)
#define FLUSHED (1ul << 24)
static inline unsigned long keep_subnormals(void) {
  unsigned long before;
  __asm__ volatile("mrs %0, fpcr" : "=r"(before));
  if (before & FLUSHED) __asm__ volatile("msr fpcr, %0" : : "r"(before & ~FLUSHED));
  return before;
}
static inline void restore_subnormals(unsigned long before) {
  if (before & FLUSHED) __asm__ volatile("msr fpcr, %0" : : "r"(before));
}
#else
static inline unsigned keep_subnormals(void) { return 0; }
static inline void restore_subnormals(unsigned before) { (void)before; }
#endif
