#include "onnx_schema.pb.h"
#include "proto/export/parts.h"

namespace ondine {
namespace {

void export_shape(const graph::TypeDef& type, onnx::TensorShapeProto& out) {
  const std::vector<std::string>& denotations = *type.dim_denotations;
  for (std::size_t i = 0; i < type.dims->size(); ++i) {
    auto& dim = *out.add_dim();
    const graph::DimDef& size = (*type.dims)[i];
    if (const auto* known = std::get_if<std::int64_t>(&size)) dim.set_dim_value(*known);
    if (const auto* named = std::get_if<graph::DimName>(&size)) dim.set_dim_param(*named);
    if (!denotations.empty() && !denotations[i].empty()) dim.set_denotation(denotations[i]);
  }
}

template <class Type>
void export_tensor_type(const graph::TypeDef& type, Type& out) {
  if (type.dtype != DType::undefined) out.set_elem_type(static_cast<std::int32_t>(type.dtype));
  if (type.dims) export_shape(type, *out.mutable_shape());
}

}  // namespace

void export_type(const graph::TypeDef& type, onnx::TypeProto& out) {
  if (!type.denotation->empty()) out.set_denotation(type.denotation);
  switch (type.kind) {
    case graph::TypeKind::unknown:
      if (const auto& opaque = *type.opaque) {
        out.mutable_opaque_type()->set_domain(opaque->first);
        out.mutable_opaque_type()->set_name(opaque->second);
      }
      break;
    case graph::TypeKind::tensor:
      export_tensor_type(type, *out.mutable_tensor_type());
      break;
    case graph::TypeKind::sparse_tensor:
      export_tensor_type(type, *out.mutable_sparse_tensor_type());
      break;
    case graph::TypeKind::sequence: {
      auto& sequence = *out.mutable_sequence_type();
      if (type.element) export_type(*type.element, *sequence.mutable_elem_type());
      break;
    }
    case graph::TypeKind::optional: {
      auto& optional = *out.mutable_optional_type();
      if (type.element) export_type(*type.element, *optional.mutable_elem_type());
      break;
    }
    case graph::TypeKind::map: {
      auto& map = *out.mutable_map_type();
      if (type.dtype != DType::undefined) map.set_key_type(static_cast<std::int32_t>(type.dtype));
      if (type.element) export_type(*type.element, *map.mutable_value_type());
      break;
    }
  }
}

void export_value_info(const graph::ValueDef& value, onnx::ValueInfoProto& out) {
  out.set_name(value.name);
  const bool typed = value.type.kind != graph::TypeKind::unknown || *value.type.opaque ||
                     !value.type.denotation->empty();
  if (typed) export_type(value.type, *out.mutable_type());
  if (!value.doc->empty()) out.set_doc_string(value.doc);
  put_properties(value.metadata, out.mutable_metadata_props());
}

}  // namespace ondine
