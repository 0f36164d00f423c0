#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/value_parts.h"

namespace ondine {
namespace {

// The enumerator of SequenceProto.DataType and OptionalProto.DataType.
int element_type(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::tensor:
      return onnx::SequenceProto::TENSOR;
    case Value::Kind::sparse_tensor:
      return onnx::SequenceProto::SPARSE_TENSOR;
    case Value::Kind::sequence:
      return onnx::SequenceProto::SEQUENCE;
    case Value::Kind::map:
      return onnx::SequenceProto::MAP;
    case Value::Kind::optional:
      return onnx::SequenceProto::OPTIONAL;
    case Value::Kind::none:
      break;
  }
  fail(ErrorCode::mismatch, "an element without a value cannot be stored");
}

template <class T>
void put_keys(const Tensor& keys, onnx::MapProto& out) {
  for (const T key : keys.values<T>()) out.add_keys(static_cast<std::int64_t>(key));
}

void export_keys(const Tensor& keys, onnx::MapProto& out) {
  out.set_key_type(static_cast<std::int32_t>(keys.dtype()));
  switch (keys.dtype()) {
    case DType::string:
      for (const auto& key : keys.values<std::string>()) out.add_string_keys(key);
      return;
    case DType::int8:
      return put_keys<std::int8_t>(keys, out);
    case DType::int16:
      return put_keys<std::int16_t>(keys, out);
    case DType::int32:
      return put_keys<std::int32_t>(keys, out);
    case DType::int64:
      return put_keys<std::int64_t>(keys, out);
    case DType::uint8:
      return put_keys<std::uint8_t>(keys, out);
    case DType::uint16:
      return put_keys<std::uint16_t>(keys, out);
    case DType::uint32:
      return put_keys<std::uint32_t>(keys, out);
    case DType::uint64:
      return put_keys<std::uint64_t>(keys, out);
    default:
      fail(ErrorCode::mismatch, "a map cannot have keys of type ", keys.dtype());
  }
}

void export_elements(const std::vector<Value>& elements, onnx::SequenceProto& out) {
  for (const auto& element : elements) {
    const int type = element_type(element);
    if (out.elem_type() != 0 && out.elem_type() != type) {
      fail(ErrorCode::mismatch, "a sequence of different kinds of values cannot be stored");
    }
    out.set_elem_type(type);
    switch (type) {
      case onnx::SequenceProto::TENSOR:
        export_value(element, *out.add_tensor_values());
        break;
      case onnx::SequenceProto::SPARSE_TENSOR:
        export_value(element, *out.add_sparse_tensor_values());
        break;
      case onnx::SequenceProto::SEQUENCE:
        export_value(element, *out.add_sequence_values());
        break;
      case onnx::SequenceProto::MAP:
        export_value(element, *out.add_map_values());
        break;
      default:
        export_value(element, *out.add_optional_values());
        break;
    }
  }
}

}  // namespace

void export_value(const Value& value, onnx::TensorProto& out) {
  Exporter exporter;
  export_tensor("", value.tensor(), exporter, out);
}

void export_value(const Value& value, onnx::SparseTensorProto& out) {
  Exporter exporter;
  export_sparse({"", value.tensor(), value.keys(), value.dense_shape()}, exporter, out);
}

void export_value(const Value& value, onnx::SequenceProto& out) {
  out.set_elem_type(onnx::SequenceProto::UNDEFINED);
  export_elements(value.elements(), out);
}

void export_value(const Value& value, onnx::MapProto& out) {
  export_keys(value.keys(), out);
  export_elements(value.elements(), *out.mutable_values());
}

void export_value(const Value& value, onnx::OptionalProto& out) {
  out.set_elem_type(onnx::OptionalProto::UNDEFINED);
  if (!value.has_element()) return;
  const Value& element = value.elements()[0];
  out.set_elem_type(element_type(element));
  switch (out.elem_type()) {
    case onnx::OptionalProto::TENSOR:
      return export_value(element, *out.mutable_tensor_value());
    case onnx::OptionalProto::SPARSE_TENSOR:
      return export_value(element, *out.mutable_sparse_tensor_value());
    case onnx::OptionalProto::SEQUENCE:
      return export_value(element, *out.mutable_sequence_value());
    case onnx::OptionalProto::MAP:
      return export_value(element, *out.mutable_map_value());
    default:
      return export_value(element, *out.mutable_optional_value());
  }
}

}  // namespace ondine
