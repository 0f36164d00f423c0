// Checks that infer rules share.
#pragma once

#include <initializer_list>

#include "graph/contract/infer.h"

namespace ondine::kernels {

// Rejects inputs (omitted ones aside) whose dtypes differ.
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
                     ", needed: ", to_string(type), " as the inputs before it");
    }
    type = merge(type, context.input(i));
  }
  context.set_output(0, std::move(type));
}

// The dims of input i, which must have this rank; dynamic dims while its rank is unknown.
inline graph::Dims dims_of_rank(const graph::InferContext& context, std::size_t i, std::size_t rank,
                                std::string_view what) {
  if (!context.ranked(i)) return graph::Dims(rank);
  if (context.rank(i) != rank) {
    context.reject(what, " must have rank ", rank, ", found ", graph::to_string(context.dims(i)));
  }
  return context.dims(i);
}

}  // namespace ondine::kernels
