// The metadata that PyTorch's exporter (dynamo=True) writes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

inline constexpr std::string_view kind_key = "pkg.torch.export.graph_signature.InputSpec.kind";
inline constexpr std::string_view folded_key = "pkg.onnxscript.optimizer.folded_from";

// The text under `key`, which may be the last part of the name after a dot; "" if there is none.
std::string_view property(const Properties& properties, std::string_view key);

// a and b of "['a', 'b']".
std::vector<std::string_view> listed_names(std::string_view text);

// Metadata that the exporter writes for an initializer of this kind ("PARAMETER", "BUFFER",
// "CONSTANT_TENSOR"), and for one that it folded from a parameter.
Properties kind_metadata(std::string kind);
Properties folded_metadata(const std::string& parameter);

}  // namespace ondine::graph
