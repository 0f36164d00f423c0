// What the processor's multipliers and memory can do, measured now.
#pragma once

namespace bench {

// 10^9 single-precision operations a second of one thread, a multiply-add counting as two.
double peak_gflops();

}  // namespace bench
