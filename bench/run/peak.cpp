#include "bench/run/peak.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace bench {
namespace {

constexpr std::int64_t rounds = 200'000;
constexpr int chains = 12;  // enough to hide the latency of a multiply-add

template <int bytes>
struct Lanes {
  using Type [[gnu::vector_size(bytes)]] = float;
};

// Independent chains of multiply-adds that never leave the registers.
template <int bytes>
[[gnu::always_inline]] inline float multiply_add() {
  using Vector = typename Lanes<bytes>::Type;
  Vector sum[chains] = {};
  const Vector a = Vector{} + 0.999F;
  const Vector b = Vector{} + 0.001F;
  for (std::int64_t i = 0; i < rounds; ++i) {
#pragma GCC unroll 12
    for (int c = 0; c < chains; ++c) {
#ifdef __x86_64__
      if constexpr (bytes > 16) {
        asm volatile("vfmadd213ps %2, %1, %0" : "+v"(sum[c]) : "v"(a), "v"(b));
        continue;
      }
#endif
      sum[c] = sum[c] * a + b;
    }
  }
  float total = 0;
  for (const Vector& one : sum) total += one[0];
  return total;
}

template <int bytes, class Body>
double best_rate(Body&& body) {
  using Clock = std::chrono::steady_clock;
  double best = 0;
  for (int round = 0; round < 20; ++round) {
    const auto start = Clock::now();
    volatile float result = body();
    (void)result;
    const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const double operations = 2.0 * static_cast<double>(rounds) * chains * bytes / sizeof(float);
    best = std::max(best, operations / seconds * 1e-9);
  }
  return best;
}

#ifdef __x86_64__
[[gnu::target("avx512f,fma,prefer-vector-width=512")]] float with_avx512() {
  return multiply_add<64>();
}
[[gnu::target("avx2,fma")]] float with_avx2() { return multiply_add<32>(); }
#endif

}  // namespace

double peak_gflops() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx512f")) return best_rate<64>(with_avx512);
  if (__builtin_cpu_supports("avx2")) return best_rate<32>(with_avx2);
#endif
  return best_rate<16>([] { return multiply_add<16>(); });
}

}  // namespace bench
