#include "bench/run/peak.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace bench {
namespace {

constexpr std::int64_t rounds = 200'000;
constexpr std::size_t chains = 12;  // enough to hide the latency of a multiply-add

template <int bytes>
struct Lanes {
  using Type [[gnu::vector_size(bytes)]] = float;
};

template <int bytes, class Vector>
[[gnu::always_inline]] inline void multiply_add(Vector& sum, const Vector& a, const Vector& b) {
#ifdef __x86_64__
  if constexpr (bytes > 16) {
    asm volatile("vfmadd213ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
    return;
  }
#endif
  sum = sum * a + b;
}

// Independent chains of multiply-adds that never leave the registers.
template <int bytes, std::size_t... chain>
[[gnu::always_inline]] inline float run_chains(std::index_sequence<chain...>) {
  using Vector = typename Lanes<bytes>::Type;
  Vector sum[sizeof...(chain)] = {};
  const Vector a = Vector{} + 0.999F;
  const Vector b = Vector{} + 0.001F;
  for (std::int64_t i = 0; i < rounds; ++i) (multiply_add<bytes>(sum[chain], a, b), ...);
  return (sum[chain][0] + ...);
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
    const double operations =
        2.0 * static_cast<double>(rounds) * static_cast<double>(chains * bytes / sizeof(float));
    best = std::max(best, operations / seconds * 1e-9);
  }
  return best;
}

#ifdef __x86_64__
[[gnu::target("avx512f,fma,prefer-vector-width=512")]] float with_avx512() {
  return run_chains<64>(std::make_index_sequence<chains>());
}
[[gnu::target("avx2,fma")]] float with_avx2() {
  return run_chains<32>(std::make_index_sequence<chains>());
}
#endif

}  // namespace

double peak_gflops(std::string_view isa) {
#ifdef __x86_64__
  const auto chosen = [&](std::string_view one) { return isa.empty() || isa == one; };
  if (__builtin_cpu_supports("avx512f") && chosen("avx512")) return best_rate<64>(with_avx512);
  if (__builtin_cpu_supports("avx2") && chosen("avx2")) return best_rate<32>(with_avx2);
#else
  (void)isa;
#endif
  return best_rate<16>([] { return run_chains<16>(std::make_index_sequence<chains>()); });
}

}  // namespace bench
