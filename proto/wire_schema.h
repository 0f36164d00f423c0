// The message schema as tables, for checking and measuring a message before protobuf parses it. A
// test compares them with onnx.proto.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ondine {

enum class WireKind : std::uint8_t {
  integer,      // varint
  enumeration,  // varint, below `bound`
  fixed32,
  fixed64,
  name,   // UTF-8, of bounded length
  text,   // UTF-8
  bytes,  // anything
  message,
};

enum class MessageId : std::uint8_t {
  model,
  opset,
  entry,
  training,
  function,
  graph,
  node,
  attribute,
  value_info,
  annotation,
  tensor,
  segment,
  sparse_tensor,
  shape,
  dimension,
  type,
  tensor_type,
  sequence_type,
  map_type,
  optional_type,
  sparse_tensor_type,
  opaque_type,
  device_configuration,
  node_devices,
  sharding,
  sharded_dim,
  simple_sharded_dim,
  int_entry,
  sequence,
  map,
  optional,
  operator_declaration,
  operator_set,
};
inline constexpr std::size_t message_count = 33;

struct WireField {
  std::uint32_t number;
  const char* name;
  WireKind kind;
  bool repeated = false;
  std::uint8_t width = 0;                // bytes of one repeated number in memory
  std::uint8_t bound = 0;                // of an enumeration
  MessageId message = MessageId::model;  // of a message
};

struct WireMessage {
  const char* name;  // "TypeProto.Tensor"
  std::size_t size;  // of the object that protobuf allocates
  std::span<const WireField> fields;

  // nullptr when the message has no such field.
  const WireField* find(std::uint32_t number) const noexcept;
};

const WireMessage& wire_message(MessageId id) noexcept;

}  // namespace ondine
