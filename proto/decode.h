// Decodes bytes into protobuf messages, within limits.
#pragma once

#include <cstddef>
#include <span>

#include <ondine/limits.h>

#include "proto/wire_schema.h"

namespace google::protobuf {
class MessageLite;
}

namespace ondine {

namespace onnx {
class ModelProto;
}

// Parses `bytes` into the empty `message` of type `id` after checking them with scan_wire. Throws
// what scan_wire throws, and Error(limit) for 2 GiB or more.
void decode(std::span<const std::byte> bytes, MessageId id, const Limits& limits,
            google::protobuf::MessageLite& message);

// The same for a model. Throws Error(invalid_model) for a model without a graph, Error(limit) above
// Limits::model_bytes.
void decode_model(std::span<const std::byte> bytes, const Limits& limits, onnx::ModelProto& model);

}  // namespace ondine
