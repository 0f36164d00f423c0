// The processor's peak arithmetic rate, measured now.
#pragma once

#include <string_view>

namespace bench {

// 10^9 single-precision operations a second of one thread, a multiply-add counting as two. `isa`:
// "avx512", "avx2" or any other for the vectors that every processor has; without it the widest.
double peak_gflops(std::string_view isa = {});

}  // namespace bench
