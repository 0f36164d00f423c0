#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/import/parts.h"

namespace ondine {
namespace {

graph::InitializerDef import_initializer(onnx::TensorProto& proto, Importer& importer) {
  graph::InitializerDef out;
  out.value = import_tensor(proto, importer);
  out.name = std::move(*proto.mutable_name());
  out.doc = std::move(*proto.mutable_doc_string());
  out.metadata = take_properties(proto.mutable_metadata_props());
  return out;
}

graph::QuantizationDef import_annotation(onnx::TensorAnnotation& proto) {
  return {std::move(*proto.mutable_tensor_name()),
          take_properties(proto.mutable_quant_parameter_tensor_names())};
}

class Deeper {
 public:
  explicit Deeper(Importer& importer) : depth_(importer.depth) { ++depth_; }
  ~Deeper() { --depth_; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  int& depth_;
};

std::string describe(const onnx::NodeProto& node) {
  std::string name = node.name();
  if (name.empty() && node.output_size() > 0) name = node.output(0);
  return "node " + quoted(name) + " (" + node.op_type() + ")";
}

}  // namespace

std::string import_domain(std::string domain) {
  return domain == "ai.onnx" ? std::string() : std::move(domain);
}

graph::NodeDef import_node(onnx::NodeProto& proto, Importer& importer) {
  return within(
      importer,
      [&] {
        if (++importer.nodes > importer.limits.nodes) {
          fail(ErrorCode::limit, "the model has more than ", importer.limits.nodes, " nodes");
        }
        if (proto.op_type().empty()) fail(ErrorCode::invalid_model, "there is no operator");
        graph::NodeDef out;
        out.attributes = take_all(proto.mutable_attribute(), import_attribute, importer);
        out.op = proto.op_type();
        out.domain = import_domain(std::move(*proto.mutable_domain()));
        out.overload = std::move(*proto.mutable_overload());
        out.name = proto.name();
        out.inputs = take_strings(proto.mutable_input());
        out.outputs = take_strings(proto.mutable_output());
        out.doc = std::move(*proto.mutable_doc_string());
        out.metadata = take_properties(proto.mutable_metadata_props());
        out.devices = take_all(proto.mutable_device_configurations(), import_node_devices);
        return out;
      },
      [&] { return describe(proto); });
}

graph::GraphDef import_graph(onnx::GraphProto& proto, Importer& importer) {
  return within(
      importer,
      [&] {
        if (importer.depth > importer.limits.subgraph_depth) {
          fail(ErrorCode::limit, "graphs are nested deeper than ", importer.limits.subgraph_depth);
        }
        const Deeper deeper(importer);
        graph::GraphDef out;
        out.nodes = take_all(proto.mutable_node(), import_node, importer);
        out.initializers = take_all(proto.mutable_initializer(), import_initializer, importer);
        out.sparse_initializers =
            take_all(proto.mutable_sparse_initializer(), import_sparse, importer);
        out.inputs = take_all(proto.mutable_input(), import_value_info, importer);
        out.outputs = take_all(proto.mutable_output(), import_value_info, importer);
        out.value_infos = take_all(proto.mutable_value_info(), import_value_info, importer);
        out.quantization = take_all(proto.mutable_quantization_annotation(), import_annotation);
        out.name = proto.name();
        out.doc = std::move(*proto.mutable_doc_string());
        out.metadata = take_properties(proto.mutable_metadata_props());
        return out;
      },
      [&] { return "graph " + quoted(proto.name()); });
}

}  // namespace ondine
