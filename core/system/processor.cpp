#include "core/system/processor.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif

namespace ondine {
namespace {

#ifdef __x86_64__
// Whether the operating system keeps the registers of these bits of XCR0.
bool saves(unsigned bits) noexcept {
  unsigned low = 0;
  unsigned high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low & bits) == bits;
}

constexpr bool has(unsigned flags, unsigned bit) noexcept { return (flags >> bit & 1) != 0; }

// Bits as in Intel's manual, volume 2A, instruction CPUID.
Processor detect() noexcept {
  Processor found;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return found;
  found.sse42 = has(c, 20);
  const bool fma = has(c, 12);
  const bool avx = has(c, 27) && has(c, 28) && saves(0x6);
  if (!avx || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return found;
  const unsigned subleaves = a;
  found.avx2 = fma && has(b, 5) && has(b, 8);
  found.avx512 = found.avx2 && saves(0xe6) && has(b, 16) && has(b, 17) && has(b, 30) && has(b, 31);
  found.avx512_vnni = found.avx512 && has(c, 11);
  if (subleaves >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    found.avx512_bf16 = found.avx512 && has(a, 5);
  }
  return found;
}
#else
Processor detect() noexcept { return {}; }
#endif

}  // namespace

const Processor& processor() noexcept {
  static const Processor found = detect();
  return found;
}

}  // namespace ondine
