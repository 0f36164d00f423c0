#include "proto/decode.h"

#include <google/protobuf/io/coded_stream.h>

#include <algorithm>
#include <limits>

#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/recognize.h"
#include "proto/wire_scan.h"

namespace ondine {

namespace {

void require_size(std::span<const std::byte> bytes) {
  constexpr std::size_t largest = std::numeric_limits<int>::max();
  if (bytes.size() > largest) {
    fail(ErrorCode::limit, "a message of ", bytes.size(), " bytes: the format ends at ", largest,
         "; keep weights as external data");
  }
}

void require_allowed(std::span<const std::byte> bytes, const char* what, const Limits& limits) {
  if (bytes.size() > limits.model_bytes) {
    fail(ErrorCode::limit, what, " has ", bytes.size(), " bytes, more than ", limits.model_bytes);
  }
}

// Parses bytes that were scanned.
void parse(std::span<const std::byte> bytes, MessageId id, const Limits& limits,
           google::protobuf::MessageLite& message) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetTotalBytesLimit(static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(std::min(limits.message_depth, deepest_message));
  if (!message.ParseFromCodedStream(&stream) || !stream.ConsumedEntireMessage()) {
    fail(ErrorCode::invalid_model, "not a ", wire_message(id).name, ": the wire format is damaged");
  }
}

}  // namespace

void decode(std::span<const std::byte> bytes, MessageId id, const Limits& limits,
            google::protobuf::MessageLite& message) {
  require_size(bytes);
  scan_wire(bytes, id, limits);
  parse(bytes, id, limits, message);
}

std::optional<DetachedModel> decode_model(std::span<const std::byte> bytes, const Limits& limits,
                                          onnx::ModelProto& model, bool detach) {
  require_allowed(bytes, "the model", limits);
  if (bytes.empty()) fail(ErrorCode::invalid_model, "not an ONNX model: there are no bytes");
  try {
    require_size(bytes);
    scan_wire(bytes, MessageId::model, limits);
    std::optional<DetachedModel> detached;
    if (detach) detached = DetachedModel::make(bytes);
    parse(detached ? detached->rest() : bytes, MessageId::model, limits, model);
    if (!model.has_graph()) fail(ErrorCode::invalid_model, "not an ONNX model: there is no graph");
    return detached;
  } catch (const Error& error) {
    const char* other = error.code() == ErrorCode::invalid_model ? other_format(bytes) : nullptr;
    if (other == nullptr) throw;
    fail(ErrorCode::invalid_model, "not an ONNX model but ", other);
  }
}

void decode_operator_set(std::span<const std::byte> bytes, const Limits& limits,
                         onnx::OperatorSetProto& set) {
  require_allowed(bytes, "the operator set", limits);
  if (bytes.empty()) fail(ErrorCode::invalid_model, "not an ONNX operator set: there are no bytes");
  try {
    decode(bytes, MessageId::operator_set, limits, set);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_model || is_operator_set(bytes)) throw;
    const char* other = is_model(bytes) ? "an ONNX model" : other_format(bytes);
    if (other == nullptr) throw;
    fail(ErrorCode::invalid_model, "not an ONNX operator set but ", other);
  }
}

}  // namespace ondine
