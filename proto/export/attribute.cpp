#include <array>
#include <type_traits>

#include "onnx_schema.pb.h"
#include "proto/export/parts.h"

namespace ondine {
namespace {

using onnx::AttributeProto;

// Indexed by AttributeKind.
constexpr std::array types{
    AttributeProto::UNDEFINED,     AttributeProto::FLOAT,          AttributeProto::INT,
    AttributeProto::STRING,        AttributeProto::TENSOR,         AttributeProto::GRAPH,
    AttributeProto::SPARSE_TENSOR, AttributeProto::TYPE_PROTO,     AttributeProto::FLOATS,
    AttributeProto::INTS,          AttributeProto::STRINGS,        AttributeProto::TENSORS,
    AttributeProto::GRAPHS,        AttributeProto::SPARSE_TENSORS, AttributeProto::TYPE_PROTOS};

// Writes the value of the attribute into the field for its kind.
struct Writer {
  Exporter& exporter;
  AttributeProto& out;

  void operator()(std::monostate) const {}
  void operator()(float value) const { out.set_f(value); }
  void operator()(std::int64_t value) const { out.set_i(value); }
  void operator()(const std::string& value) const { out.set_s(value); }
  void operator()(const Tensor& value) const {
    export_tensor("", value, exporter, *out.mutable_t());
  }
  void operator()(const std::shared_ptr<const graph::GraphDef>& value) const {
    export_graph(*value, exporter, *out.mutable_g());
  }
  void operator()(const graph::SparseTensorDef& value) const {
    export_sparse(value, exporter, *out.mutable_sparse_tensor());
  }
  void operator()(const graph::TypeDef& value) const { export_type(value, *out.mutable_tp()); }
  void operator()(const std::vector<float>& values) const {
    out.mutable_floats()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::int64_t>& values) const {
    out.mutable_ints()->Add(values.begin(), values.end());
  }
  void operator()(const std::vector<std::string>& values) const {
    put_all(values, out.mutable_strings());
  }
  void operator()(const std::vector<Tensor>& values) const {
    for (const auto& value : values) export_tensor("", value, exporter, *out.add_tensors());
  }
  void operator()(const std::vector<std::shared_ptr<const graph::GraphDef>>& values) const {
    for (const auto& value : values) export_graph(*value, exporter, *out.add_graphs());
  }
  void operator()(const std::vector<graph::SparseTensorDef>& values) const {
    put_each(values, out.mutable_sparse_tensors(), export_sparse, exporter);
  }
  void operator()(const std::vector<graph::TypeDef>& values) const {
    put_each(values, out.mutable_type_protos(), export_type);
  }
};

}  // namespace

void export_attribute(const graph::Attribute& attribute, Exporter& exporter,
                      onnx::AttributeProto& out) {
  out.set_name(attribute.name);
  out.set_type(types[static_cast<std::size_t>(attribute.kind)]);
  if (!attribute.ref->empty()) out.set_ref_attr_name(attribute.ref);
  if (!attribute.doc->empty()) out.set_doc_string(attribute.doc);
  std::visit(Writer{exporter, out}, attribute.data);
}

}  // namespace ondine
