// Checks that infer rules share.
#pragma once

#include <initializer_list>

#include "graph/contract/infer.h"

namespace ondine::kernels {

// Rejects inputs (those that are there) whose dtypes differ.
inline void require_same_dtype(const graph::InferContext& context,
                               std::initializer_list<std::size_t> inputs) {
  const DType* first = nullptr;
  std::size_t first_index = 0;
  for (const std::size_t i : inputs) {
    if (!context.has_input(i)) continue;
    const graph::Type& type = context.input(i);
    if (first == nullptr) {
      first = &type.dtype;
      first_index = i;
    } else if (type.dtype != *first) {
      context.reject("inputs ", first_index, " and ", i, " differ in dtype: ", *first, " and ",
                     type.dtype);
    }
  }
}

// Element-wise without broadcasting: output 0 has the one type that all inputs must have.
inline void infer_equal_inputs(graph::InferContext& context) {
  graph::Type type = context.input(0);
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (!compatible(type, context.input(i))) {
      context.reject("input ", i, " is ", to_string(context.input(i)),
                     ", needed: ", to_string(type), " as those before");
    }
    type = merge(type, context.input(i));
  }
  context.set_output(0, std::move(type));
}

// The dims of input i, which must have this rank; open dims while its rank is open.
inline graph::Dims dims_of_rank(const graph::InferContext& context, std::size_t i, std::size_t rank,
                                std::string_view what) {
  if (!context.ranked(i)) return graph::Dims(rank);
  if (context.rank(i) != rank) {
    context.reject(what, " must have rank ", rank, ", found ", graph::to_string(context.dims(i)));
  }
  return context.dims(i);
}

// The shape that input i, an int64 vector, spells; absent when its length is not known either.
inline std::optional<graph::Dims> spelled_dims(const graph::InferContext& context, std::size_t i) {
  if (auto known = context.known_dims(i)) return known;
  if (context.constant(i) != nullptr) context.reject("input ", i, " must hold extents >= 0");
  if (context.ranked(i) && context.rank(i) == 1 && context.dims(i)[0].known()) {
    const auto rank = context.dims(i)[0].size();
    if (rank > static_cast<std::int64_t>(Shape::max_rank)) {
      fail(ErrorCode::limit, "rank ", rank, " is above ", Shape::max_rank);
    }
    return graph::Dims(static_cast<std::size_t>(rank));
  }
  return std::nullopt;
}

}  // namespace ondine::kernels
