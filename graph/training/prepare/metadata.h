// The metadata that PyTorch's exporter (dynamo=True) writes.
#pragma once

#include <string_view>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// The text under `key`, which may be the last part of the name after a dot; "" if there is none.
std::string_view property(const Properties& properties, std::string_view key);

// a and b of "['a', 'b']".
std::vector<std::string_view> listed_names(std::string_view text);

}  // namespace ondine::graph
