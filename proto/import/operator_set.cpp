#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/import/parts.h"

namespace ondine {
namespace {

graph::OperatorDef import_operator(onnx::OperatorProto& proto) {
  return {std::move(*proto.mutable_op_type()), proto.since_version(),
          proto.status() == onnx::STABLE, std::move(*proto.mutable_doc_string())};
}

}  // namespace

graph::OperatorSetDef import_operator_set(onnx::OperatorSetProto& proto, Importer& importer) {
  if (static_cast<std::size_t>(proto.functions_size()) > importer.limits.functions) {
    fail(ErrorCode::limit, "the operator set has ", proto.functions_size(),
         " functions, more than ", importer.limits.functions);
  }
  graph::OperatorSetDef out;
  out.magic = std::move(*proto.mutable_magic());
  out.ir_version = proto.ir_version();
  out.ir_prerelease = std::move(*proto.mutable_ir_version_prerelease());
  out.ir_build_metadata = std::move(*proto.mutable_ir_build_metadata());
  out.domain = import_domain(std::move(*proto.mutable_domain()));
  out.version = proto.opset_version();
  out.doc = std::move(*proto.mutable_doc_string());
  out.operators = take_all(proto.mutable_operator_(), import_operator);
  out.functions = take_all(proto.mutable_functions(), import_function, importer);
  return out;
}

}  // namespace ondine
