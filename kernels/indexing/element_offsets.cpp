#include "kernels/indexing/element_offsets.h"

#include <algorithm>

#include "core/stop.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/kernel_scratch.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

void request_offsets(BindContext& context, std::int64_t count) {
  Scratch scratch;
  scratch.add<std::int64_t>(count);
  scratch.request(context);
}

}  // namespace

ElementOffsets::ElementOffsets(BindContext& context, std::size_t input)
    : input_(input), dtype_(context.dtype(input)) {
  if (dtype_ != DType::int32 && dtype_ != DType::int64) {
    fail(ErrorCode::unsupported, "indices of dtype ", dtype_);
  }
}

ElementOffsets ElementOffsets::of_elements(BindContext& context, std::size_t input,
                                           const Shape& tensor, std::int64_t axis) {
  ElementOffsets out(context, input);
  const Shape indices = context.shape(input);
  const std::size_t at = NodeView::normalize_axis(axis, tensor.rank());
  if (indices.rank() != tensor.rank()) {
    fail(ErrorCode::mismatch, "indices of rank ", indices.rank(), " for a tensor of rank ",
         tensor.rank());
  }
  const auto strides = row_major(tensor);
  for (std::size_t a = 0; a < tensor.rank(); ++a) {
    if (a != at && indices[a] > tensor[a]) {
      fail(ErrorCode::mismatch, "indices of shape ", indices, " for a tensor of shape ", tensor,
           " along axis ", at);
    }
    out.axes_.push_back({indices[a], a == at ? 0 : strides[a]});
  }
  out.count_ = indices.size();
  out.dims_ = {tensor[at]};
  out.strides_ = {strides[at]};
  request_offsets(context, out.count_);
  return out;
}

ElementOffsets ElementOffsets::of_slices(BindContext& context, std::size_t input,
                                         const Shape& tensor, std::size_t batch_dims) {
  ElementOffsets out(context, input);
  const Shape indices = context.shape(input);
  if (indices.rank() <= batch_dims || tensor.rank() <= batch_dims) {
    fail(ErrorCode::mismatch, batch_dims, " batch axes for indices of shape ", indices,
         " and a tensor of shape ", tensor);
  }
  out.coordinates_ = indices.back();
  const auto k = static_cast<std::size_t>(out.coordinates_);
  if (k > tensor.rank() - batch_dims) {
    fail(ErrorCode::mismatch, k, " coordinates for a tensor of shape ", tensor, " with ",
         batch_dims, " batch axes");
  }
  const auto strides = row_major(tensor);
  for (std::size_t a = 0; a + 1 < indices.rank(); ++a) {
    if (a < batch_dims && indices[a] != tensor[a]) {
      fail(ErrorCode::mismatch, "batch axis ", a, ": dims ", indices[a], " of the indices and ",
           tensor[a], " of the tensor");
    }
    out.axes_.push_back({indices[a], a < batch_dims ? strides[a] : 0});
  }
  for (std::size_t a = batch_dims; a < batch_dims + k; ++a) {
    out.dims_.push_back(tensor[a]);
    out.strides_.push_back(strides[a]);
  }
  out.count_ = indices.size(0, indices.rank() - 1);
  out.length_ = tensor.size(batch_dims + k, tensor.rank());
  request_offsets(context, out.count_);
  return out;
}

const std::int64_t* ElementOffsets::read(KernelContext& call) const {
  auto* out = call.workspace<std::int64_t>();
  visit(dtype_, Types<std::int32_t, std::int64_t>{}, [&]<class I>() {
    const I* indices = call.in<I>(input_);
    call.pool().for_chunks(count_, 8192, [&](std::int64_t first, std::int64_t last) {
      BoxWalk walk(axes_, first);
      for (auto p = first; p < last; ++p, walk.next()) {
        std::int64_t offset = walk.from;
        for (std::size_t c = 0; c < dims_.size(); ++c) {
          const I index = indices[p * coordinates_ + static_cast<std::int64_t>(c)];
          offset += checked_index(index, dims_[c]) * strides_[c];
        }
        out[p] = offset;
      }
    });
  });
  return out;
}

Kernel gather_kernel(DType dtype, const ElementOffsets& offsets) {
  const std::int64_t length = offsets.length();
  const auto grain = std::max<std::int64_t>(1, 16384 / std::max<std::int64_t>(1, length));
  return visit_size(dtype, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const std::int64_t* at = offsets.read(call);
      const T* x = call.in<T>(0);
      T* y = call.out<T>(0);
      call.pool().for_chunks(offsets.count(), grain, [&](std::int64_t first, std::int64_t last) {
        for (auto p = first; p < last; ++p) std::copy_n(x + at[p], length, y + p * length);
      });
    };
  });
}

ScatterReduction scatter_reduction(const NodeView& node) {
  const std::string word = node.attr_string("reduction", "none");
  if (word == "none") return ScatterReduction::none;
  if (word == "add") return ScatterReduction::add;
  if (word == "mul") return ScatterReduction::mul;
  if (word == "max") return ScatterReduction::max;
  if (word == "min") return ScatterReduction::min;
  fail(ErrorCode::invalid_model, "unknown reduction ", quoted(word));
}

namespace {

template <class T, class Combine>
void scatter_rows(const ElementOffsets& offsets, const std::int64_t* at, const T* updates, T* y,
                  Combine combine) {
  const std::int64_t length = offsets.length();
  for (std::int64_t p = 0; p < offsets.count(); ++p, updates += length) {
    checkpoint(4 + length);
    T* row = y + at[p];
    for (std::int64_t i = 0; i < length; ++i) row[i] = combine(row[i], updates[i]);
  }
}

template <class T>
T combined(ScatterReduction reduction, const T& a, const T& b) {
  const compute_t<T> x = load(a);
  const compute_t<T> y = load(b);
  switch (reduction) {
    case ScatterReduction::add:
      return store<T>(static_cast<compute_t<T>>(x + y));
    case ScatterReduction::mul:
      return store<T>(static_cast<compute_t<T>>(x * y));
    case ScatterReduction::max:
      return y > x || y != y ? b : a;
    default:
      return y < x || y != y ? b : a;
  }
}

// Integers wrap around.
template <class T>
T combined_any(ScatterReduction reduction, const T& a, const T& b) {
  if constexpr (std::is_integral_v<T>) {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    if (reduction == ScatterReduction::add) return static_cast<T>(x + y);
    if (reduction == ScatterReduction::mul) return static_cast<T>(x * y);
    return (reduction == ScatterReduction::max ? b > a : b < a) ? b : a;
  } else {
    return combined(reduction, a, b);
  }
}

}  // namespace

Kernel scatter_kernel(DType dtype, std::int64_t size, const ElementOffsets& offsets,
                      ScatterReduction reduction, std::optional<std::size_t> x,
                      std::size_t updates) {
  const auto start = [=](KernelContext& call) {
    if (x) {
      copy_elements(call.pool(), dtype, size, call.in<void>(*x), call.out<void>(0));
    } else {
      fill_elements(call.pool(), dtype, size, nullptr, call.out<void>(0));
    }
  };
  if (reduction == ScatterReduction::none) {
    return visit_size(dtype, [&]<class T>() -> Kernel {
      return [=](KernelContext& call) {
        const std::int64_t* at = offsets.read(call);
        start(call);
        scatter_rows(offsets, at, call.in<T>(updates), call.out<T>(0),
                     [](const T&, const T& b) { return b; });
      };
    });
  }
  return visit(dtype, Numbers{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const std::int64_t* at = offsets.read(call);
      start(call);
      scatter_rows(offsets, at, call.in<T>(updates), call.out<T>(0),
                   [reduction](const T& a, const T& b) { return combined_any(reduction, a, b); });
    };
  });
}

}  // namespace ondine::kernels
