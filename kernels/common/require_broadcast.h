// The check that an input broadcasts to given dims.
#pragma once

#include "graph/contract/infer.h"

namespace ondine::kernels {

// Whether a tensor of these dims broadcasts to `target` and leaves its dims as they are. Dims that
// are not known may fit.
inline bool broadcasts_to(const graph::Dims& dims, const graph::Dims& target) {
  if (dims.size() > target.size()) return false;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const graph::Dim want = target[target.size() - dims.size() + i];
    if (dims[i].known() && want.known() && !dims[i].same(1) && !dims[i].same(want)) return false;
  }
  return true;
}

// Rejects input i where it is there and does not broadcast to `target`.
inline void require_broadcast(const graph::InferContext& context, std::size_t i,
                              const graph::Dims& target, std::string_view what) {
  if (!context.has_input(i) || !context.ranked(i)) return;
  if (broadcasts_to(context.dims(i), target)) return;
  context.reject(what, " of shape ", graph::to_string(context.dims(i)), " does not broadcast to ",
                 graph::to_string(target));
}

}  // namespace ondine::kernels
