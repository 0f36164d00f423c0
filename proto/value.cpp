#include "proto/value.h"

#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/arena_message.h"
#include "proto/decode.h"
#include "proto/encode.h"
#include "proto/external_data.h"
#include "proto/value_parts.h"

namespace ondine {
namespace {

using graph::TypeKind;

template <class Message>
Value load(std::span<const std::byte> bytes, MessageId id, const Limits& limits) {
  const ArenaMessage<Message> proto;
  decode(bytes, id, limits, *proto);
  ExternalData none(ExternalDataReader(), limits);
  Importer importer{limits, none};
  return import_value(*proto, importer);
}

template <class Message>
std::vector<std::byte> store(const std::string& name, const Value& value) {
  const ArenaMessage<Message> proto;
  export_value(value, *proto);
  if constexpr (std::is_same_v<Message, onnx::SparseTensorProto>) {
    proto->mutable_values()->set_name(name);
  } else {
    proto->set_name(name);
  }
  return encode(*proto);
}

TypeKind kind_of(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::tensor:
      return TypeKind::tensor;
    case Value::Kind::sparse_tensor:
      return TypeKind::sparse_tensor;
    case Value::Kind::sequence:
      return TypeKind::sequence;
    case Value::Kind::map:
      return TypeKind::map;
    case Value::Kind::optional:
      return TypeKind::optional;
    case Value::Kind::none:
      break;
  }
  return TypeKind::unknown;
}

void check_type(const Value& value, const graph::TypeDef& type) {
  if (type.kind == TypeKind::unknown) return;
  if (kind_of(value) != type.kind) {
    fail(ErrorCode::mismatch, "a stored ", to_string(value.kind()), " is not of the type declared");
  }
  const bool typed = type.dtype != DType::undefined;
  if (typed &&
      (value.kind() == Value::Kind::tensor || value.kind() == Value::Kind::sparse_tensor) &&
      value.tensor().dtype() != type.dtype) {
    fail(ErrorCode::mismatch, "a stored tensor of ", value.tensor().dtype(), ", declared as ",
         type.dtype);
  }
  if (typed && value.kind() == Value::Kind::map && value.keys().dtype() != type.dtype) {
    fail(ErrorCode::mismatch, "a stored map with keys of type ", value.keys().dtype(),
         ", declared as ", type.dtype);
  }
  if (!type.element) return;
  for (const auto& element : value.elements()) check_type(element, *type.element);
}

Value load_kind(std::span<const std::byte> bytes, TypeKind kind, const Limits& limits) {
  switch (kind) {
    case TypeKind::sparse_tensor:
      return load<onnx::SparseTensorProto>(bytes, MessageId::sparse_tensor, limits);
    case TypeKind::sequence:
      return load<onnx::SequenceProto>(bytes, MessageId::sequence, limits);
    case TypeKind::map:
      return load<onnx::MapProto>(bytes, MessageId::map, limits);
    case TypeKind::optional:
      return load<onnx::OptionalProto>(bytes, MessageId::optional, limits);
    case TypeKind::tensor:
    case TypeKind::unknown:
      break;
  }
  return load<onnx::TensorProto>(bytes, MessageId::tensor, limits);
}

}  // namespace

Value load_value(std::span<const std::byte> bytes, const graph::TypeDef& type,
                 const Limits& limits) {
  Value value = load_kind(bytes, type.kind, limits);
  check_type(value, type);
  return value;
}

std::pair<std::string, Tensor> load_named_tensor(std::span<const std::byte> bytes,
                                                 const Limits& limits) {
  const ArenaMessage<onnx::TensorProto> proto;
  decode(bytes, MessageId::tensor, limits, *proto);
  ExternalData none(ExternalDataReader(), limits);
  Importer importer{limits, none};
  Tensor tensor = import_tensor(*proto, importer);
  return {proto->name(), std::move(tensor)};
}

std::vector<std::byte> export_value(const std::string& name, const Value& value) {
  switch (value.kind()) {
    case Value::Kind::tensor:
      return store<onnx::TensorProto>(name, value);
    case Value::Kind::sparse_tensor:
      return store<onnx::SparseTensorProto>(name, value);
    case Value::Kind::sequence:
      return store<onnx::SequenceProto>(name, value);
    case Value::Kind::map:
      return store<onnx::MapProto>(name, value);
    case Value::Kind::optional:
      return store<onnx::OptionalProto>(name, value);
    case Value::Kind::none:
      break;
  }
  fail(ErrorCode::mismatch, "value ", quoted(name), " is nothing that could be stored");
}

}  // namespace ondine
