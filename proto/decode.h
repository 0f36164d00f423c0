// Decodes bytes into protobuf messages, within limits.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include <ondine/limits.h>

#include "proto/detach.h"
#include "proto/wire_schema.h"

namespace google::protobuf {
class MessageLite;
}

namespace ondine {

namespace onnx {
class ModelProto;
class OperatorSetProto;
}  // namespace onnx

// Parses `bytes` into the empty `message` of type `id` after checking them with scan_wire. Throws
// what scan_wire throws, and Error(limit) for 2 GiB or more.
void decode(std::span<const std::byte> bytes, MessageId id, const Limits& limits,
            google::protobuf::MessageLite& message);

// Decodes a model as decode() does. Throws Error(invalid_model) for a model without a graph,
// Error(limit) above Limits::model_bytes. With `detach`, large raw_data stays where it is, if there
// is much of it; the result tells what `model` refers to.
std::optional<DetachedModel> decode_model(std::span<const std::byte> bytes, const Limits& limits,
                                          onnx::ModelProto& model, bool detach);

// Decodes an operator set as decode() does; the set refers to nothing.
void decode_operator_set(std::span<const std::byte> bytes, const Limits& limits,
                         onnx::OperatorSetProto& set);

}  // namespace ondine
