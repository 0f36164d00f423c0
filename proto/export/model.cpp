#include "onnx_schema.pb.h"
#include "proto/export/parts.h"

namespace ondine {
namespace {

void export_opset(const graph::OpsetImport& opset, onnx::OperatorSetIdProto& out) {
  out.set_domain(opset.domain);
  out.set_version(opset.version);
}

void export_training(const graph::TrainingInfoDef& training, Exporter& exporter,
                     onnx::TrainingInfoProto& out) {
  if (training.initialization) {
    export_graph(*training.initialization, exporter, *out.mutable_initialization());
  }
  if (training.algorithm) export_graph(*training.algorithm, exporter, *out.mutable_algorithm());
  put_properties(training.initialization_binding, out.mutable_initialization_binding());
  put_properties(training.update_binding, out.mutable_update_binding());
}

void export_function(const graph::FunctionDef& function, Exporter& exporter,
                     onnx::FunctionProto& out) {
  out.set_name(function.name);
  out.set_domain(function.domain);
  if (!function.overload.empty()) out.set_overload(function.overload);
  put_all(function.inputs, out.mutable_input());
  put_all(function.outputs, out.mutable_output());
  put_all(function.attributes, out.mutable_attribute());
  put_each(function.defaults, out.mutable_attribute_proto(), export_attribute, exporter);
  put_each(function.nodes, out.mutable_node(), export_node, exporter);
  put_each(function.opsets, out.mutable_opset_import(), export_opset);
  put_each(function.value_infos, out.mutable_value_info(), export_value_info);
  if (!function.doc.empty()) out.set_doc_string(function.doc);
  put_properties(function.metadata, out.mutable_metadata_props());
}

}  // namespace

void export_model(const graph::ModelDef& model, Exporter& exporter, onnx::ModelProto& out) {
  out.set_ir_version(model.ir_version);
  put_each(model.opsets, out.mutable_opset_import(), export_opset);
  if (!model.producer_name.empty()) out.set_producer_name(model.producer_name);
  if (!model.producer_version.empty()) out.set_producer_version(model.producer_version);
  if (!model.domain.empty()) out.set_domain(model.domain);
  if (model.model_version != 0) out.set_model_version(model.model_version);
  if (!model.doc.empty()) out.set_doc_string(model.doc);
  export_graph(model.graph, exporter, *out.mutable_graph());
  put_each(model.training, out.mutable_training_info(), export_training, exporter);
  put_each(model.functions, out.mutable_functions(), export_function, exporter);
  put_each(model.device_configurations, out.mutable_configuration(), export_device_configuration);
  put_properties(model.metadata, out.mutable_metadata_props());
}

}  // namespace ondine
