#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/import/parts.h"

namespace ondine {
namespace {

graph::OpsetImport import_opset(onnx::OperatorSetIdProto& proto) {
  return {import_domain(std::move(*proto.mutable_domain())), proto.version()};
}

graph::TrainingInfoDef import_training(onnx::TrainingInfoProto& proto, Importer& importer) {
  graph::TrainingInfoDef out;
  if (proto.has_initialization()) {
    out.initialization = import_graph(*proto.mutable_initialization(), importer);
  }
  if (proto.has_algorithm()) out.algorithm = import_graph(*proto.mutable_algorithm(), importer);
  out.initialization_binding = take_properties(proto.mutable_initialization_binding());
  out.update_binding = take_properties(proto.mutable_update_binding());
  return out;
}

}  // namespace

graph::FunctionDef import_function(onnx::FunctionProto& proto, Importer& importer) {
  return within(
      importer,
      [&] {
        graph::FunctionDef out;
        out.defaults = take_all(proto.mutable_attribute_proto(), import_attribute, importer);
        out.nodes = take_all(proto.mutable_node(), import_node, importer);
        out.value_infos = take_all(proto.mutable_value_info(), import_value_info, importer);
        out.name = proto.name();
        out.domain = import_domain(std::move(*proto.mutable_domain()));
        out.overload = std::move(*proto.mutable_overload());
        out.inputs = take_strings(proto.mutable_input());
        out.outputs = take_strings(proto.mutable_output());
        out.attributes = take_strings(proto.mutable_attribute());
        out.opsets = take_all(proto.mutable_opset_import(), import_opset);
        out.doc = std::move(*proto.mutable_doc_string());
        out.metadata = take_properties(proto.mutable_metadata_props());
        return out;
      },
      [&] { return "function " + quoted(proto.name()); });
}

graph::ModelDef import_model(onnx::ModelProto& proto, Importer& importer) {
  if (static_cast<std::size_t>(proto.functions_size()) > importer.limits.functions) {
    fail(ErrorCode::limit, "the model has ", proto.functions_size(), " functions, more than ",
         importer.limits.functions);
  }
  graph::ModelDef out;
  out.ir_version = proto.ir_version();
  out.opsets = take_all(proto.mutable_opset_import(), import_opset);
  out.producer_name = std::move(*proto.mutable_producer_name());
  out.producer_version = std::move(*proto.mutable_producer_version());
  out.domain = std::move(*proto.mutable_domain());
  out.model_version = proto.model_version();
  out.doc = std::move(*proto.mutable_doc_string());
  out.graph = import_graph(*proto.mutable_graph(), importer);
  out.training = take_all(proto.mutable_training_info(), import_training, importer);
  out.functions = take_all(proto.mutable_functions(), import_function, importer);
  out.device_configurations = take_all(proto.mutable_configuration(), import_device_configuration);
  out.metadata = take_properties(proto.mutable_metadata_props());
  return out;
}

}  // namespace ondine
