#include <memory>
#include <vector>

#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/import/parts.h"

namespace ondine {
namespace {

using Type = onnx::AttributeProto;
using graph::AttributeKind;

// Indexed by AttributeProto.AttributeType.
constexpr std::array kinds{
    AttributeKind::undefined,      AttributeKind::real,     AttributeKind::integer,
    AttributeKind::string,         AttributeKind::tensor,   AttributeKind::graph,
    AttributeKind::reals,          AttributeKind::integers, AttributeKind::strings,
    AttributeKind::tensors,        AttributeKind::graphs,   AttributeKind::sparse_tensor,
    AttributeKind::sparse_tensors, AttributeKind::type,     AttributeKind::types};

std::vector<AttributeKind> used_kinds(const onnx::AttributeProto& proto) {
  std::vector<AttributeKind> used;
  const auto note = [&](bool is_used, AttributeKind kind) {
    if (is_used) used.push_back(kind);
  };
  note(proto.has_f(), AttributeKind::real);
  note(proto.has_i(), AttributeKind::integer);
  note(proto.has_s(), AttributeKind::string);
  note(proto.has_t(), AttributeKind::tensor);
  note(proto.has_g(), AttributeKind::graph);
  note(proto.has_sparse_tensor(), AttributeKind::sparse_tensor);
  note(proto.has_tp(), AttributeKind::type);
  note(proto.floats_size() > 0, AttributeKind::reals);
  note(proto.ints_size() > 0, AttributeKind::integers);
  note(proto.strings_size() > 0, AttributeKind::strings);
  note(proto.tensors_size() > 0, AttributeKind::tensors);
  note(proto.graphs_size() > 0, AttributeKind::graphs);
  note(proto.sparse_tensors_size() > 0, AttributeKind::sparse_tensors);
  note(proto.type_protos_size() > 0, AttributeKind::types);
  return used;
}

std::shared_ptr<const graph::GraphDef> import_shared(onnx::GraphProto& proto, Importer& importer) {
  return std::make_shared<const graph::GraphDef>(import_graph(proto, importer));
}

graph::Attribute::Data import_data(AttributeKind kind, onnx::AttributeProto& proto,
                                   Importer& importer) {
  switch (kind) {
    case AttributeKind::undefined:
      return {};
    case AttributeKind::real:
      return proto.f();
    case AttributeKind::integer:
      return std::int64_t{proto.i()};
    case AttributeKind::string:
      return std::move(*proto.mutable_s());
    case AttributeKind::tensor:
      return import_tensor(*proto.mutable_t(), importer);
    case AttributeKind::graph:
      return import_shared(*proto.mutable_g(), importer);
    case AttributeKind::sparse_tensor:
      return import_sparse(*proto.mutable_sparse_tensor(), importer);
    case AttributeKind::type:
      return import_type(proto.tp());
    case AttributeKind::reals:
      return std::vector<float>(proto.floats().begin(), proto.floats().end());
    case AttributeKind::integers:
      return std::vector<std::int64_t>(proto.ints().begin(), proto.ints().end());
    case AttributeKind::strings:
      return take_strings(proto.mutable_strings());
    case AttributeKind::tensors:
      return take_all(proto.mutable_tensors(), import_tensor, importer);
    case AttributeKind::graphs:
      return take_all(proto.mutable_graphs(), import_shared, importer);
    case AttributeKind::sparse_tensors:
      return take_all(proto.mutable_sparse_tensors(), import_sparse, importer);
    case AttributeKind::types:
      return take_all(proto.mutable_type_protos(), import_type);
  }
  fail(ErrorCode::internal, "no such attribute type");
}

// proto3 writers omit the field of a number or string that is zero or empty.
bool may_be_absent(AttributeKind kind) {
  return kind != AttributeKind::tensor && kind != AttributeKind::graph &&
         kind != AttributeKind::sparse_tensor && kind != AttributeKind::type;
}

void check_fields(AttributeKind kind, const onnx::AttributeProto& proto) {
  const auto used = used_kinds(proto);
  const auto reject = [](const auto&... parts) { fail(ErrorCode::invalid_model, parts...); };
  if (kind == AttributeKind::undefined) reject("there is no type");
  if (!proto.ref_attr_name().empty()) {
    if (!used.empty()) reject("there is both a value and a reference to another attribute");
    return;
  }
  if (used.size() > 1) {
    reject("there are two values, ", to_string(used[0]), " and ", to_string(used[1]));
  }
  if (used.empty() && !may_be_absent(kind))
    reject("the type is ", to_string(kind), ", but there is no value");
  if (!used.empty() && used[0] != kind) {
    reject("the type is ", to_string(kind), ", but the value is ", to_string(used[0]));
  }
}

}  // namespace

graph::Attribute import_attribute(onnx::AttributeProto& proto, Importer& importer) {
  return within(
      importer,
      [&] {
        graph::Attribute out;
        out.kind = kinds[static_cast<std::size_t>(proto.type())];
        check_fields(out.kind, proto);
        out.ref = proto.ref_attr_name();
        if (out.ref->empty()) out.data = import_data(out.kind, proto, importer);
        out.name = proto.name();
        out.doc = std::move(*proto.mutable_doc_string());
        return out;
      },
      [&] { return "attribute " + quoted(proto.name()); });
}

}  // namespace ondine
