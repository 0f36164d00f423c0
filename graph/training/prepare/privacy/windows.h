// The windows of a convolution's input.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "graph/training/prepare/privacy/batch_values.h"

namespace ondine::graph {

// [rows, channels, elements of the kernel, positions]: what each weight of the Conv `node` is
// multiplied with. weight: its dims; in, out: those of the input and of the result, where they are
// known; like: a value of the result's shape. Throws Error(unsupported) for padding that depends on
// sizes which are unknown.
std::string write_windows(const BatchValues& batch, const NodeDef& node,
                          const std::vector<std::int64_t>& weight,
                          const std::vector<std::optional<std::int64_t>>& in,
                          const std::vector<std::optional<std::int64_t>>& out,
                          const std::string& like);

}  // namespace ondine::graph
