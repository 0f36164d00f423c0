#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/import/parts.h"

namespace ondine {
namespace {

void import_shape(const onnx::TensorShapeProto& shape, graph::TypeDef& out) {
  auto& dims = out.dims.emplace();
  bool denoted = false;
  for (const auto& dim : shape.dim()) {
    graph::DimDef& size = dims.emplace_back();
    if (dim.has_dim_value()) {
      if (dim.dim_value() < 0) {
        fail(ErrorCode::invalid_model, "dimension ", dim.dim_value(), " is negative");
      }
      size = dim.dim_value();
    } else if (!dim.dim_param().empty()) {
      size = dim.dim_param();
    }
    denoted = denoted || !dim.denotation().empty();
  }
  if (!denoted) return;
  for (const auto& dim : shape.dim()) out.dim_denotations.edit().push_back(dim.denotation());
}

std::shared_ptr<const graph::TypeDef> import_element(bool present, const onnx::TypeProto& type) {
  return present ? std::make_shared<const graph::TypeDef>(import_type(type)) : nullptr;
}

// The messages of tensor and sparse tensor types have the same fields.
template <class Type>
void import_tensor_type(const Type& type, graph::TypeKind kind, graph::TypeDef& out) {
  out.kind = kind;
  if (type.elem_type() != 0) out.dtype = import_dtype(type.elem_type());
  if (type.has_shape()) import_shape(type.shape(), out);
}

}  // namespace

graph::TypeDef import_type(const onnx::TypeProto& type) {
  graph::TypeDef out;
  out.denotation = type.denotation();
  switch (type.value_case()) {
    case onnx::TypeProto::kTensorType:
      import_tensor_type(type.tensor_type(), graph::TypeKind::tensor, out);
      break;
    case onnx::TypeProto::kSparseTensorType:
      import_tensor_type(type.sparse_tensor_type(), graph::TypeKind::sparse_tensor, out);
      break;
    case onnx::TypeProto::kSequenceType:
      out.kind = graph::TypeKind::sequence;
      out.element =
          import_element(type.sequence_type().has_elem_type(), type.sequence_type().elem_type());
      break;
    case onnx::TypeProto::kOptionalType:
      out.kind = graph::TypeKind::optional;
      out.element =
          import_element(type.optional_type().has_elem_type(), type.optional_type().elem_type());
      break;
    case onnx::TypeProto::kMapType:
      out.kind = graph::TypeKind::map;
      if (type.map_type().key_type() != 0) out.dtype = import_dtype(type.map_type().key_type());
      out.element = import_element(type.map_type().has_value_type(), type.map_type().value_type());
      break;
    case onnx::TypeProto::kOpaqueType:
      out.opaque.edit().emplace(type.opaque_type().domain(), type.opaque_type().name());
      break;
    case onnx::TypeProto::VALUE_NOT_SET:
      break;
  }
  return out;
}

namespace {

// Paddle and others write -1 or the name "?" for a dim that they do not know.
template <class Type>
void clear_unknown_dims(Type& type, Importer& importer) {
  if (!type.has_shape()) return;
  for (auto& dim : *type.mutable_shape()->mutable_dim()) {
    if (dim.dim_param() == "?") dim.clear_dim_param();
    if (!dim.has_dim_value() || dim.dim_value() != -1) continue;
    dim.clear_dim_value();
    tolerate(importer, "dimension -1 is negative");
  }
}

void clear_unknown_dims(onnx::TypeProto& type, Importer& importer) {
  if (type.has_tensor_type()) clear_unknown_dims(*type.mutable_tensor_type(), importer);
  if (type.has_sparse_tensor_type()) {
    clear_unknown_dims(*type.mutable_sparse_tensor_type(), importer);
  }
}

}  // namespace

graph::ValueDef import_value_info(onnx::ValueInfoProto& value, Importer& importer) {
  return within(
      importer,
      [&] {
        graph::ValueDef out;
        if (value.has_type()) {
          clear_unknown_dims(*value.mutable_type(), importer);
          out.type = import_type(value.type());
        }
        out.name = value.name();
        out.doc = std::move(*value.mutable_doc_string());
        out.metadata = take_properties(value.mutable_metadata_props());
        return out;
      },
      [&] { return "value " + quoted(value.name()); });
}

}  // namespace ondine
