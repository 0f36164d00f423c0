#include "proto/wire_schema.h"

#include <array>

#include "onnx_schema.pb.h"

namespace ondine {
namespace {

using Id = MessageId;
using enum WireKind;

constexpr WireField one(std::uint32_t number, const char* name, WireKind kind) {
  return {number, name, kind};
}
constexpr WireField many(std::uint32_t number, const char* name, WireKind kind,
                         std::uint8_t width = 0) {
  return {number, name, kind, true, width};
}
constexpr WireField choice(std::uint32_t number, const char* name, std::uint8_t bound) {
  return {number, name, enumeration, false, 0, bound};
}
constexpr WireField one(std::uint32_t number, const char* name, Id id) {
  return {number, name, message, false, 0, 0, id};
}
constexpr WireField many(std::uint32_t number, const char* name, Id id) {
  return {number, name, message, true, 0, 0, id};
}

constexpr std::array model_fields{
    one(1, "ir_version", integer),
    many(8, "opset_import", Id::opset),
    one(2, "producer_name", name),
    one(3, "producer_version", name),
    one(4, "domain", name),
    one(5, "model_version", integer),
    one(6, "doc_string", text),
    one(7, "graph", Id::graph),
    many(14, "metadata_props", Id::entry),
    many(20, "training_info", Id::training),
    many(25, "functions", Id::function),
    many(26, "configuration", Id::device_configuration),
};
constexpr std::array opset_fields{one(1, "domain", name), one(2, "version", integer)};
constexpr std::array entry_fields{one(1, "key", name), one(2, "value", text)};
constexpr std::array training_fields{
    one(1, "initialization", Id::graph),
    one(2, "algorithm", Id::graph),
    many(3, "initialization_binding", Id::entry),
    many(4, "update_binding", Id::entry),
};
constexpr std::array function_fields{
    one(1, "name", name),
    many(4, "input", name),
    many(5, "output", name),
    many(6, "attribute", name),
    many(11, "attribute_proto", Id::attribute),
    many(7, "node", Id::node),
    one(8, "doc_string", text),
    many(9, "opset_import", Id::opset),
    one(10, "domain", name),
    one(13, "overload", name),
    many(12, "value_info", Id::value_info),
    many(14, "metadata_props", Id::entry),
};
constexpr std::array graph_fields{
    many(1, "node", Id::node),
    one(2, "name", name),
    many(5, "initializer", Id::tensor),
    many(15, "sparse_initializer", Id::sparse_tensor),
    one(10, "doc_string", text),
    many(11, "input", Id::value_info),
    many(12, "output", Id::value_info),
    many(13, "value_info", Id::value_info),
    many(14, "quantization_annotation", Id::annotation),
    many(16, "metadata_props", Id::entry),
};
constexpr std::array node_fields{
    many(1, "input", name),
    many(2, "output", name),
    one(3, "name", name),
    one(4, "op_type", name),
    one(7, "domain", name),
    one(8, "overload", name),
    many(5, "attribute", Id::attribute),
    one(6, "doc_string", text),
    many(9, "metadata_props", Id::entry),
    many(10, "device_configurations", Id::node_devices),
};
constexpr std::array attribute_fields{
    one(1, "name", name),
    one(21, "ref_attr_name", name),
    one(13, "doc_string", text),
    choice(20, "type", 15),
    one(2, "f", fixed32),
    one(3, "i", integer),
    one(4, "s", bytes),
    one(5, "t", Id::tensor),
    one(6, "g", Id::graph),
    one(22, "sparse_tensor", Id::sparse_tensor),
    one(14, "tp", Id::type),
    many(7, "floats", fixed32, 4),
    many(8, "ints", integer, 8),
    many(9, "strings", bytes),
    many(10, "tensors", Id::tensor),
    many(11, "graphs", Id::graph),
    many(23, "sparse_tensors", Id::sparse_tensor),
    many(15, "type_protos", Id::type),
};
constexpr std::array value_info_fields{
    one(1, "name", name),
    one(2, "type", Id::type),
    one(3, "doc_string", text),
    many(4, "metadata_props", Id::entry),
};
constexpr std::array annotation_fields{
    one(1, "tensor_name", name),
    many(2, "quant_parameter_tensor_names", Id::entry),
};
constexpr std::array tensor_fields{
    many(1, "dims", integer, 8),
    one(2, "data_type", integer),
    one(3, "segment", Id::segment),
    many(4, "float_data", fixed32, 4),
    many(5, "int32_data", integer, 4),
    many(6, "string_data", bytes),
    many(7, "int64_data", integer, 8),
    many(10, "double_data", fixed64, 8),
    many(11, "uint64_data", integer, 8),
    one(9, "raw_data", bytes),
    one(8, "name", name),
    one(12, "doc_string", text),
    many(13, "external_data", Id::entry),
    choice(14, "data_location", 2),
    many(16, "metadata_props", Id::entry),
};
constexpr std::array segment_fields{one(1, "begin", integer), one(2, "end", integer)};
constexpr std::array sparse_tensor_fields{
    one(1, "values", Id::tensor),
    one(2, "indices", Id::tensor),
    many(3, "dims", integer, 8),
};
constexpr std::array shape_fields{many(1, "dim", Id::dimension)};
constexpr std::array dimension_fields{
    one(1, "dim_value", integer),
    one(2, "dim_param", name),
    one(3, "denotation", name),
};
constexpr std::array type_fields{
    one(1, "tensor_type", Id::tensor_type),
    one(4, "sequence_type", Id::sequence_type),
    one(5, "map_type", Id::map_type),
    one(9, "optional_type", Id::optional_type),
    one(8, "sparse_tensor_type", Id::sparse_tensor_type),
    one(7, "opaque_type", Id::opaque_type),
    one(6, "denotation", name),
};
constexpr std::array tensor_type_fields{one(1, "elem_type", integer), one(2, "shape", Id::shape)};
constexpr std::array nested_type_fields{one(1, "elem_type", Id::type)};
constexpr std::array map_type_fields{one(1, "key_type", integer), one(2, "value_type", Id::type)};
constexpr std::array opaque_fields{one(1, "domain", name), one(2, "name", name)};
constexpr std::array device_configuration_fields{
    one(1, "name", name),
    one(2, "num_devices", integer),
    many(3, "device", name),
};
constexpr std::array node_devices_fields{
    one(1, "configuration_id", name),
    many(2, "sharding_spec", Id::sharding),
    one(3, "pipeline_stage", integer),
};
constexpr std::array sharding_fields{
    one(1, "tensor_name", name),
    many(2, "device", integer, 8),
    many(3, "index_to_device_group_map", Id::int_entry),
    many(4, "sharded_dim", Id::sharded_dim),
};
constexpr std::array sharded_dim_fields{
    one(1, "axis", integer),
    many(2, "simple_sharding", Id::simple_sharded_dim),
};
constexpr std::array simple_sharded_dim_fields{
    one(1, "dim_value", integer),
    one(2, "dim_param", name),
    one(3, "num_shards", integer),
};
constexpr std::array int_entry_fields{one(1, "key", integer), many(2, "value", integer, 8)};
constexpr std::array sequence_fields{
    one(1, "name", name),
    one(2, "elem_type", integer),
    many(3, "tensor_values", Id::tensor),
    many(4, "sparse_tensor_values", Id::sparse_tensor),
    many(5, "sequence_values", Id::sequence),
    many(6, "map_values", Id::map),
    many(7, "optional_values", Id::optional),
};
constexpr std::array map_fields{
    one(1, "name", name),          one(2, "key_type", integer),    many(3, "keys", integer, 8),
    many(4, "string_keys", bytes), one(5, "values", Id::sequence),
};
constexpr std::array optional_fields{
    one(1, "name", name),
    one(2, "elem_type", integer),
    one(3, "tensor_value", Id::tensor),
    one(4, "sparse_tensor_value", Id::sparse_tensor),
    one(5, "sequence_value", Id::sequence),
    one(6, "map_value", Id::map),
    one(7, "optional_value", Id::optional),
};
constexpr std::array operator_fields{
    one(1, "op_type", name),
    one(2, "since_version", integer),
    choice(3, "status", 2),
    one(10, "doc_string", text),
};
constexpr std::array operator_set_fields{
    one(1, "magic", name),
    one(2, "ir_version", integer),
    one(3, "ir_version_prerelease", name),
    one(4, "domain", name),
    one(5, "opset_version", integer),
    one(6, "doc_string", text),
    one(7, "ir_build_metadata", name),
    many(8, "operator", Id::operator_declaration),
    many(9, "functions", Id::function),
};

// Indexed by MessageId.
const std::array<WireMessage, message_count> messages{{
    {"ModelProto", sizeof(onnx::ModelProto), model_fields},
    {"OperatorSetIdProto", sizeof(onnx::OperatorSetIdProto), opset_fields},
    {"StringStringEntryProto", sizeof(onnx::StringStringEntryProto), entry_fields},
    {"TrainingInfoProto", sizeof(onnx::TrainingInfoProto), training_fields},
    {"FunctionProto", sizeof(onnx::FunctionProto), function_fields},
    {"GraphProto", sizeof(onnx::GraphProto), graph_fields},
    {"NodeProto", sizeof(onnx::NodeProto), node_fields},
    {"AttributeProto", sizeof(onnx::AttributeProto), attribute_fields},
    {"ValueInfoProto", sizeof(onnx::ValueInfoProto), value_info_fields},
    {"TensorAnnotation", sizeof(onnx::TensorAnnotation), annotation_fields},
    {"TensorProto", sizeof(onnx::TensorProto), tensor_fields},
    {"TensorProto.Segment", sizeof(onnx::TensorProto::Segment), segment_fields},
    {"SparseTensorProto", sizeof(onnx::SparseTensorProto), sparse_tensor_fields},
    {"TensorShapeProto", sizeof(onnx::TensorShapeProto), shape_fields},
    {"TensorShapeProto.Dimension", sizeof(onnx::TensorShapeProto::Dimension), dimension_fields},
    {"TypeProto", sizeof(onnx::TypeProto), type_fields},
    {"TypeProto.Tensor", sizeof(onnx::TypeProto::Tensor), tensor_type_fields},
    {"TypeProto.Sequence", sizeof(onnx::TypeProto::Sequence), nested_type_fields},
    {"TypeProto.Map", sizeof(onnx::TypeProto::Map), map_type_fields},
    {"TypeProto.Optional", sizeof(onnx::TypeProto::Optional), nested_type_fields},
    {"TypeProto.SparseTensor", sizeof(onnx::TypeProto::SparseTensor), tensor_type_fields},
    {"TypeProto.Opaque", sizeof(onnx::TypeProto::Opaque), opaque_fields},
    {"DeviceConfigurationProto", sizeof(onnx::DeviceConfigurationProto),
     device_configuration_fields},
    {"NodeDeviceConfigurationProto", sizeof(onnx::NodeDeviceConfigurationProto),
     node_devices_fields},
    {"ShardingSpecProto", sizeof(onnx::ShardingSpecProto), sharding_fields},
    {"ShardedDimProto", sizeof(onnx::ShardedDimProto), sharded_dim_fields},
    {"SimpleShardedDimProto", sizeof(onnx::SimpleShardedDimProto), simple_sharded_dim_fields},
    {"IntIntListEntryProto", sizeof(onnx::IntIntListEntryProto), int_entry_fields},
    {"SequenceProto", sizeof(onnx::SequenceProto), sequence_fields},
    {"MapProto", sizeof(onnx::MapProto), map_fields},
    {"OptionalProto", sizeof(onnx::OptionalProto), optional_fields},
    {"OperatorProto", sizeof(onnx::OperatorProto), operator_fields},
    {"OperatorSetProto", sizeof(onnx::OperatorSetProto), operator_set_fields},
}};

}  // namespace

const WireField* WireMessage::find(std::uint32_t number) const noexcept {
  for (const auto& field : fields) {
    if (field.number == number) return &field;
  }
  return nullptr;
}

const WireMessage& wire_message(MessageId id) noexcept {
  return messages[static_cast<std::size_t>(id)];
}

}  // namespace ondine
