// Several inputs and outputs of one shape, element by element, in chunks that stay in a first
// cache.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/common/compute_type.h"
#include "kernels/common/grain.h"
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {

// The first `Inputs` inputs and `Outputs` outputs of a node, computed in C; other float formats are
// converted by chunks. Inputs have the shape of input 0.
template <class C, std::size_t Inputs, std::size_t Outputs>
class RowChunks {
 public:
  explicit RowChunks(const graph::BindContext& context) : count_(context.shape(0).size()) {
    for (std::size_t i = 0; i < Inputs; ++i) {
      read_[i] = read_row<C>(context.dtype(i));
      read_size_[i] = element_size(context.dtype(i));
    }
    for (std::size_t i = 0; i < Outputs; ++i) {
      if (!context.has_output(i)) continue;
      write_[i] = write_row<C>(context.output_dtype(i));
      written_size_[i] = element_size(context.output_dtype(i));
    }
  }

  // Calls body(in, out, n) for each chunk with arrays of pointers. An output may lie where an input
  // does; an omitted one is null.
  template <class Body>
  void run(graph::KernelContext& call, Body&& body) const {
    call.pool().for_chunks(count_, math::elementwise_grain,
                           [&](std::int64_t first, std::int64_t last) {
                             for (std::int64_t at = first; at < last; at += row_chunk) {
                               run_chunk(call, at, std::min(row_chunk, last - at), body);
                             }
                           });
  }

 private:
  static std::int64_t element_size(DType dtype) {
    return static_cast<std::int64_t>(size_of(dtype));
  }

  template <class Body>
  void run_chunk(graph::KernelContext& call, std::int64_t at, std::int64_t n,
                 const Body& body) const {
    alignas(64) C wide[Inputs + Outputs][row_chunk];
    std::array<const C*, Inputs> in;
    std::array<C*, Outputs> out{};
    std::array<std::byte*, Outputs> stored{};
    for (std::size_t i = 0; i < Inputs; ++i) {
      const std::byte* const from = call.in<std::byte>(i) + at * read_size_[i];
      if (read_[i] != nullptr) read_[i](wide[i], from, n);
      in[i] = read_[i] != nullptr ? wide[i] : reinterpret_cast<const C*>(from);
    }
    for (std::size_t i = 0; i < Outputs; ++i) {
      if (written_size_[i] == 0) continue;
      stored[i] = call.out<std::byte>(i) + at * written_size_[i];
      out[i] = write_[i] != nullptr ? wide[Inputs + i] : reinterpret_cast<C*>(stored[i]);
    }
    body(in, out, n);
    for (std::size_t i = 0; i < Outputs; ++i) {
      if (write_[i] != nullptr) write_[i](stored[i], out[i], n);
    }
  }

  std::int64_t count_;
  std::array<ReadRow<C>, Inputs> read_{};
  std::array<WriteRow<C>, Outputs> write_{};
  std::array<std::int64_t, Inputs> read_size_{};
  std::array<std::int64_t, Outputs> written_size_{};  // 0: omitted
};

}  // namespace ondine::kernels::ops
