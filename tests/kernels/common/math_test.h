// Kernels, random numbers and scratch memory for the tests of the numerics.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include <catch2/catch.hpp>

#include "core/parallel.h"
#include "kernels/common/workspace.h"
#include "kernels/simd/isa.h"

namespace ondine::math::test {

inline std::vector<const SimdTables*> all_kernels() {
  std::vector<const SimdTables*> all;
  for (const Isa isa : {Isa::baseline, Isa::avx2, Isa::avx512, Isa::amx}) {
    if (const auto* kernels = simd_tables_for(isa)) all.push_back(kernels);
  }
  return all;
}

// Kernels that compute products in vectors alone, without tiles.
inline std::vector<const SimdTables*> vector_kernels() {
  std::vector<const SimdTables*> all = all_kernels();
  std::erase(all, simd_tables_for(Isa::amx));
  return all;
}

// Numbers in [-1, 1), the same in every run.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  double next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1.0;
  }
  template <class T>
  std::vector<T> row(std::int64_t n) {
    std::vector<T> values(static_cast<std::size_t>(n));
    for (auto& value : values) value = static_cast<T>(next());
    return values;
  }

 private:
  std::uint64_t state_;
};

// Scratch memory with canaries after it.
class Scratch {
 public:
  explicit Scratch(std::size_t bytes) : bytes_(bytes) {
    data_ = static_cast<std::byte*>(::operator new (bytes + guard, std::align_val_t{64}));
    std::memset(data_, 0x5a, bytes + guard);
  }
  ~Scratch() { ::operator delete (data_, std::align_val_t{64}); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  operator Workspace() const { return {data_, bytes_}; }
  bool intact() const {
    for (std::size_t i = 0; i < guard; ++i) {
      if (data_[bytes_ + i] != std::byte{0x5a}) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard = 256;
  std::byte* data_;
  std::size_t bytes_;
};

template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

// The largest |actual - expected| over the largest |expected| (at least 1).
template <class T>
double worst_error(const std::vector<T>& actual, const std::vector<double>& expected) {
  if (actual.size() != expected.size()) return INFINITY;
  double scale = 1;
  double worst = 0;
  for (std::size_t i = 0; i < actual.size(); ++i) {
    const double error = std::abs(static_cast<double>(actual[i]) - expected[i]);
    if (std::isnan(error)) return INFINITY;
    scale = std::max(scale, std::abs(expected[i]));
    worst = std::max(worst, error);
  }
  return worst / scale;
}

template <class T>
constexpr double tolerance = sizeof(T) == 4 ? 2e-6 : 1e-14;

}  // namespace ondine::math::test
