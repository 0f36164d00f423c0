#include "onnx_schema.pb.h"
#include "proto/export/parts.h"

namespace ondine {
namespace {

void export_initializer(const graph::InitializerDef& initializer, Exporter& exporter,
                        onnx::TensorProto& out) {
  export_tensor(initializer.name, initializer.value, exporter, out);
  if (!initializer.doc->empty()) out.set_doc_string(initializer.doc);
  put_properties(initializer.metadata, out.mutable_metadata_props());
}

void export_annotation(const graph::QuantizationDef& quantization, onnx::TensorAnnotation& out) {
  out.set_tensor_name(quantization.tensor);
  put_properties(quantization.parameters, out.mutable_quant_parameter_tensor_names());
}

}  // namespace

void export_node(const graph::NodeDef& node, Exporter& exporter, onnx::NodeProto& out) {
  put_all(node.inputs, out.mutable_input());
  put_all(node.outputs, out.mutable_output());
  if (!node.name.empty()) out.set_name(node.name);
  out.set_op_type(node.op);
  if (!node.domain.empty()) out.set_domain(node.domain);
  if (!node.overload->empty()) out.set_overload(node.overload);
  put_each(node.attributes, out.mutable_attribute(), export_attribute, exporter);
  if (!node.doc->empty()) out.set_doc_string(node.doc);
  put_properties(node.metadata, out.mutable_metadata_props());
  put_each(*node.devices, out.mutable_device_configurations(), export_node_devices);
}

void export_graph(const graph::GraphDef& graph, Exporter& exporter, onnx::GraphProto& out) {
  put_each(graph.nodes, out.mutable_node(), export_node, exporter);
  out.set_name(graph.name);
  put_each(graph.initializers, out.mutable_initializer(), export_initializer, exporter);
  put_each(graph.sparse_initializers, out.mutable_sparse_initializer(), export_sparse, exporter);
  if (!graph.doc.empty()) out.set_doc_string(graph.doc);
  put_each(graph.inputs, out.mutable_input(), export_value_info);
  put_each(graph.outputs, out.mutable_output(), export_value_info);
  put_each(graph.value_infos, out.mutable_value_info(), export_value_info);
  put_each(graph.quantization, out.mutable_quantization_annotation(), export_annotation);
  put_properties(graph.metadata, out.mutable_metadata_props());
}

}  // namespace ondine
