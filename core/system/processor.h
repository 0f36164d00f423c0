// Features that the processor and the operating system offer. The compiler's __builtin_cpu_supports
// does not serve: it finds nothing in programs that zig links.
#pragma once

namespace ondine {

struct Processor {
  bool sse42 = false;
  bool avx2 = false;    // with FMA and BMI2
  bool avx512 = false;  // F, BW, DQ and VL, and all of avx2
  bool avx512_bf16 = false;
  bool avx512_vnni = false;
};

const Processor& processor() noexcept;

}  // namespace ondine
