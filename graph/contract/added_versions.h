// Operators that onnxruntime has in ai.onnx in versions of the operator set that do not define
// them. Its optimizer writes LayerNormalization into models of any version; the others it keeps
// from the time before they were part of the standard.
#pragma once

#include <cstdint>
#include <string_view>

namespace ondine::graph {

// Whether onnxruntime adds the operator to this version of the standard's operator set.
bool is_added(std::string_view domain, std::string_view name, std::int64_t version) noexcept;

// The version whose definition a node of operator set `version` follows: for an added operator the
// first version of the standard that means the same, else `version`.
std::int64_t defining_version(std::string_view domain, std::string_view name,
                              std::int64_t version) noexcept;

}  // namespace ondine::graph
