#include <algorithm>
#include <limits>

#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/value_parts.h"

namespace ondine {
namespace {

// `elem_type` of a sequence or optional must name the one field that holds elements.
void check_element_type(int elem_type, std::initializer_list<int> counts) {
  if (elem_type < 0 || elem_type > onnx::SequenceProto::OPTIONAL) {
    reject("element type ", elem_type, " is unknown");
  }
  int kind = 0;
  for (const int count : counts) {
    ++kind;
    if (count > 0 && kind != elem_type) {
      reject("element type is ", elem_type, ", but there are elements of type ", kind);
    }
  }
}

template <class Messages>
void append(Messages* messages, Importer& importer, std::vector<Value>& out) {
  for (auto& message : *messages) out.push_back(import_value(message, importer));
}

template <class T>
Tensor integer_keys(const onnx::MapProto& proto) {
  std::vector<T> keys;
  for (const std::int64_t key : proto.keys()) {
    // uint64 keys are stored as the int64 with the same bits.
    if (!std::is_same_v<T, std::uint64_t> && !std::in_range<T>(key)) {
      reject("key ", key, " is outside the range of ", dtype_of<T>);
    }
    keys.push_back(static_cast<T>(key));
  }
  return Tensor::of(Shape{static_cast<std::int64_t>(keys.size())}, keys);
}

template <class Keys>
void check_unique(const Keys& keys) {
  std::vector sorted(keys.begin(), keys.end());
  std::sort(sorted.begin(), sorted.end());
  if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end()) {
    reject("a map has the same key twice");
  }
}

Tensor import_keys(onnx::MapProto& proto) {
  const DType dtype = import_dtype(proto.key_type());
  const bool text = dtype == DType::string;
  if (text ? proto.keys_size() > 0 : proto.string_keys_size() > 0) {
    reject("a map with keys of type ", dtype, " has others");
  }
  if (text) {
    check_unique(proto.string_keys());
    const auto keys = take_strings(proto.mutable_string_keys());
    return Tensor::of(Shape{static_cast<std::int64_t>(keys.size())}, keys);
  }
  check_unique(proto.keys());
  switch (dtype) {
    case DType::int8:
      return integer_keys<std::int8_t>(proto);
    case DType::int16:
      return integer_keys<std::int16_t>(proto);
    case DType::int32:
      return integer_keys<std::int32_t>(proto);
    case DType::int64:
      return integer_keys<std::int64_t>(proto);
    case DType::uint8:
      return integer_keys<std::uint8_t>(proto);
    case DType::uint16:
      return integer_keys<std::uint16_t>(proto);
    case DType::uint32:
      return integer_keys<std::uint32_t>(proto);
    case DType::uint64:
      return integer_keys<std::uint64_t>(proto);
    default:
      reject("a map cannot have keys of type ", dtype);
  }
}

}  // namespace

Value import_value(onnx::TensorProto& proto, Importer& importer) {
  return import_tensor(proto, importer);
}

Value import_value(onnx::SparseTensorProto& proto, Importer& importer) {
  auto sparse = import_sparse(proto, importer);
  return Value::sparse(std::move(sparse.values), std::move(sparse.indices), sparse.dims);
}

Value import_value(onnx::SequenceProto& proto, Importer& importer) {
  check_element_type(
      proto.elem_type(),
      {proto.tensor_values_size(), proto.sparse_tensor_values_size(), proto.sequence_values_size(),
       proto.map_values_size(), proto.optional_values_size()});
  std::vector<Value> elements;
  append(proto.mutable_tensor_values(), importer, elements);
  append(proto.mutable_sparse_tensor_values(), importer, elements);
  append(proto.mutable_sequence_values(), importer, elements);
  append(proto.mutable_map_values(), importer, elements);
  append(proto.mutable_optional_values(), importer, elements);
  return Value::sequence(std::move(elements));
}

Value import_value(onnx::MapProto& proto, Importer& importer) {
  Tensor keys = import_keys(proto);
  const Value values = import_value(*proto.mutable_values(), importer);
  if (std::cmp_not_equal(keys.size(), values.elements().size())) {
    reject("a map has ", keys.size(), " keys and ", values.elements().size(), " values");
  }
  return Value::map(std::move(keys), values.elements());
}

Value import_value(onnx::OptionalProto& proto, Importer& importer) {
  check_element_type(proto.elem_type(), {proto.has_tensor_value(), proto.has_sparse_tensor_value(),
                                         proto.has_sequence_value(), proto.has_map_value(),
                                         proto.has_optional_value()});
  if (proto.has_tensor_value()) {
    return Value::optional(import_value(*proto.mutable_tensor_value(), importer));
  }
  if (proto.has_sparse_tensor_value()) {
    return Value::optional(import_value(*proto.mutable_sparse_tensor_value(), importer));
  }
  if (proto.has_sequence_value()) {
    return Value::optional(import_value(*proto.mutable_sequence_value(), importer));
  }
  if (proto.has_map_value()) {
    return Value::optional(import_value(*proto.mutable_map_value(), importer));
  }
  if (proto.has_optional_value()) {
    return Value::optional(import_value(*proto.mutable_optional_value(), importer));
  }
  return Value::optional();
}

}  // namespace ondine
