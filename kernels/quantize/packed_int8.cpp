#include "kernels/quantize/packed_int8.h"

#include <algorithm>

#include "kernels/common/rounding.h"
#include "kernels/common/workspace.h"

namespace ondine::kernels {

PackedInt8::PackedInt8(const math::Int8GemmKernels& gemm, std::int64_t k, std::int64_t n,
                       std::uint8_t flip)
    : gemm_(&gemm),
      k_(k),
      n_(n),
      width_(math::round_up(n + gemm.nr, 64)),
      flip_(flip),
      panel_bytes_(math::bytes_of<std::byte>(gemm.packed_bytes(k, n))) {}

std::size_t PackedInt8::bytes() const {
  return panel_bytes_ + math::bytes_of<std::int32_t>(width_);
}

const std::int32_t* PackedInt8::sums(const std::byte* packed) const {
  return reinterpret_cast<const std::int32_t*>(packed + panel_bytes_);
}

const std::byte* PackedInt8::panels(const std::byte* packed, std::int64_t j) const {
  return packed + j / gemm_->nr * gemm_->packed_bytes(k_, gemm_->nr);
}

void PackedInt8::pack(std::byte* to, const std::uint8_t* b, std::int64_t row,
                      std::int64_t column) const {
  gemm_->pack_b(to, b, row, column, k_, n_, flip_);
  auto* const sums = reinterpret_cast<std::int32_t*>(to + panel_bytes_);
  constexpr std::int64_t piece = 1024;
  if (k_ <= piece) {  // the product with ones
    std::int8_t ones[piece];
    std::fill_n(ones, piece, std::int8_t{1});
    return gemm_->run({1, n_, k_, ones, 0, to, sums, width_});
  }
  std::fill_n(sums, n_, 0);
  for (std::int64_t p = 0; p < k_; ++p) {
    for (std::int64_t j = 0; j < n_; ++j) {
      const std::uint8_t element = b[p * row + j * column] ^ flip_;
      sums[j] = static_cast<std::int32_t>(std::int64_t{sums[j]} + element);
    }
  }
}

}  // namespace ondine::kernels
