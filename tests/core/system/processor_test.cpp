#include "core/system/processor.h"

#include <catch2/catch.hpp>

using namespace ondine;

TEST_CASE("an instruction set comes with those that it builds on") {
  const Processor& found = processor();
  CHECK((!found.avx512 || found.avx2));
  CHECK((!found.avx512_bf16 || found.avx512));
  CHECK((!found.avx512_vnni || found.avx512));
  CHECK((!found.avx2 || found.sse42));
}

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
TEST_CASE("the processor has what the compiler's own check finds") {
  const Processor& found = processor();
  CHECK(found.sse42 == static_cast<bool>(__builtin_cpu_supports("sse4.2")));
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi2");
  CHECK(found.avx2 == avx2);
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") &&
                      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  CHECK(found.avx512 == avx512);
  CHECK(found.avx512_bf16 == (avx512 && __builtin_cpu_supports("avx512bf16")));
  CHECK(found.avx512_vnni == (avx512 && __builtin_cpu_supports("avx512vnni")));
}
#endif
