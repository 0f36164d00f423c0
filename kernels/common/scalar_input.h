#pragma once

#include <string_view>

#include "core/message.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels {

// Throws Error(mismatch) unless input i has exactly one element.
inline void require_one_element(const graph::BindContext& context, std::size_t i,
                                std::string_view what) {
  if (context.shape(i).size() != 1) {
    fail(ErrorCode::mismatch, what, " has shape ", context.shape(i), ", not one element");
  }
}

}  // namespace ondine::kernels
