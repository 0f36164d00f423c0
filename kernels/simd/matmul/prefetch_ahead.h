// Memory that is read soon, asked for a little at a time between multiplications: a burst of
// requests would make their loads wait.
#pragma once

#include "kernels/simd/matmul/gemm_table.h"
#include "kernels/simd/vector/simd.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr bool has_short_vectors = vector_bytes < 64;

class PrefetchAhead {
 public:
  // Asks for nothing.
  PrefetchAhead() = default;
  // `rows` of `bytes` each, `stride` bytes apart, within `steps` steps.
  PrefetchAhead(const void* from, std::int64_t rows, std::int64_t bytes, std::int64_t stride,
                std::int64_t steps)
      : at_(static_cast<const char*>(from)),
        rows_(rows),
        bytes_(bytes),
        stride_(stride),
        each_((rows * ((bytes + line - 1) / line) + steps - 1) / steps) {}

  PrefetchAhead(const RowsAhead& next, std::int64_t steps)
      : PrefetchAhead(next.first, next.rows, next.bytes, next.stride, steps) {}

  // k x n elements of `size` bytes, `row` and `col` of them apart, one of which is 1.
  static PrefetchAhead matrix(const void* from, std::int64_t size, std::int64_t k, std::int64_t n,
                              std::int64_t row, std::int64_t col, std::int64_t steps) {
    const bool by_rows = col == 1;
    return {from, by_rows ? k : n, (by_rows ? n : k) * size, (by_rows ? row : col) * size, steps};
  }

  // A micro kernel takes a step before every `terms` of its terms.
  static constexpr std::int64_t terms = has_short_vectors ? 32 : 16;  // takes about as long
  static constexpr std::int64_t steps(std::int64_t k) { return (k + terms - 1) / terms; }

  ONDINE_MEMBER bool is_done() const { return rows_ <= 0; }
  ONDINE_MEMBER void step() {
    for (std::int64_t i = 0; i < each_ && rows_ > 0; ++i) {
      __builtin_prefetch(at_ + byte_, 0, 2);
      byte_ += line;
      if (byte_ < bytes_) continue;
      byte_ = 0;
      at_ += stride_;
      --rows_;
    }
  }

 private:
  static constexpr std::int64_t line = 64;

  const char* at_ = nullptr;
  std::int64_t rows_ = 0, bytes_ = 0, stride_ = 0, each_ = 0, byte_ = 0;
};

// Elements of both factors of a product that are packed next.
struct NextFactors {
  PrefetchAhead a, b;

  ONDINE_MEMBER bool is_done() const { return a.is_done() && b.is_done(); }
  ONDINE_MEMBER void step() {
    a.step();
    b.step();
  }
};

}  // namespace ondine::math::ONDINE_ISA
