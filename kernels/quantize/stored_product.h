// Products of few rows by a constant matrix of few bits, which is read where it lies: a pass of
// memory over the bits, where dequantized pieces cost one over eight times as many.
#pragma once

#include <array>
#include <optional>

#include "graph/contract/kernel.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/quantize/stored_product_table.h"

namespace ondine::kernels {

// Product of DequantizeMatMul, whose inputs it reads. Every element is summed in the same way for
// any number of threads.
class StoredProduct {
 public:
  // nullopt if another way costs less. Also nullopt for elements and scales that it does not read:
  // one scale for each term, or nibbles that begin within a byte.
  static std::optional<StoredProduct> of(const graph::BindContext& context,
                                         const math::GemmShape& shape);

  void operator()(graph::KernelContext& call) const;

  static constexpr std::string_view name = "stored";

 private:
  bool take_elements(const graph::BindContext& context);
  bool take_scales(const graph::BindContext& context);

  math::GemmShape shape_;
  math::StoredMatrix b_;  // without pointers
  std::array<float, 16> levels_ = {};
  bool has_zero_points_ = false;
  bool has_bias_ = false;
};

}  // namespace ondine::kernels
