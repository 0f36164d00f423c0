// Stored values (the .pb files of test data): TensorProto, SparseTensorProto, SequenceProto,
// MapProto and OptionalProto. The bytes do not tell which; the type of the graph input or output
// does.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ondine/limits.h>
#include <ondine/value.h>

#include "graph/ir/document.h"

namespace ondine {

// Throws Error(invalid_model) for bytes that are not such a message or are inconsistent,
// Error(mismatch) for elements that differ from `type`, Error(limit).
Value load_value(std::span<const std::byte> bytes, const graph::TypeDef& type,
                 const Limits& limits = {});

// A TensorProto with its name.
std::pair<std::string, Tensor> load_named_tensor(std::span<const std::byte> bytes,
                                                 const Limits& limits = {});

// The inverse; the kind of the value determines the message. An empty sequence or optional is
// stored without element type.
std::vector<std::byte> export_value(const std::string& name, const Value& value);

}  // namespace ondine
