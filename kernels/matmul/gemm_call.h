// The call of a kernel for a product of given sizes and strides.
#pragma once

#include "kernels/matmul/gemm_primitive.h"
#include "kernels/simd/tables.h"

namespace ondine::math {

// Everything but the layout of op(B), which may be packed, and the pointers.
template <class T>
GemmCall<T> call_without_b(const GemmShape& s, const GemmOptions<T>& o) {
  GemmCall<T> call{};
  call.m = s.m;
  call.n = s.n;
  call.k = s.k;
  const std::int64_t lda = s.lda ? s.lda : s.trans_a ? s.m : s.k;
  call.a_row = s.trans_a ? 1 : lda;
  call.a_col = s.trans_a ? lda : 1;
  call.ldc = s.ldc ? s.ldc : s.n;
  call.alpha = o.alpha;
  call.beta = o.beta;
  call.col_bias = o.col_bias;
  call.row_bias = o.row_bias;
  call.activation = o.activation;
  call.addend = o.addend;
  return call;
}

// Dense rows of A that hold bfloat16 are read by pairs. To be called once A is there.
template <class T>
void pair_rows(GemmCall<T>& call) {
  if (!call.a.is_bf16() || call.k % 2 != 0) return;
  call.a = call.a.pairs();
  call.a_paired = true;
  call.a_row /= 2;
}

}  // namespace ondine::math
