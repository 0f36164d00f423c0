// Factors of a product on their way into the cache.
#pragma once

#include "kernels/math/isa/simd.h"

namespace ondine::math::ONDINE_ISA {

// Part of a matrix that is brought into the second cache line by line while others are worked with.
class Ahead {
 public:
  Ahead() = default;
  // Rows of `bytes`, `stride` bytes apart.
  Ahead(const void* first, std::int64_t rows, std::int64_t bytes, std::int64_t stride)
      : row_(static_cast<const char*>(first)), stride_(stride), rows_(rows), bytes_(bytes) {}
  // i x j elements with these strides, of which one is 1.
  template <class T>
  static Ahead of(const T* x, std::int64_t i, std::int64_t row, std::int64_t j, std::int64_t col) {
    constexpr std::int64_t size{sizeof(T)};
    return col == 1 ? Ahead(x, i, j * size, row * size) : Ahead(x, j, i * size, col * size);
  }

  // To have it all after `times` calls of `some`.
  void spread(std::int64_t times) {
    share_ = (rows_ * ((bytes_ + line - 1) / line) + times - 1) / times;
  }
  void some() {
    for (std::int64_t n = share_; n > 0 && rows_ > 0; --n) {
      __builtin_prefetch(row_ + at_, 0, 2);
      at_ += line;
      if (at_ >= bytes_) {
        at_ = 0;
        row_ += stride_;
        --rows_;
      }
    }
  }

 private:
  static constexpr std::int64_t line = 64;
  const char* row_ = nullptr;
  std::int64_t stride_ = 0, rows_ = 0, bytes_ = 0, at_ = 0, share_ = 0;
};

}  // namespace ondine::math::ONDINE_ISA
