#include "graph/check/types.h"

#include <algorithm>

#include "graph/contract/op_def.h"
#include "graph/ir/declared_type.h"

namespace ondine::graph {
namespace {

class ConstraintCheck {
 public:
  ConstraintCheck(const Signature& signature, const std::string& where, Findings& findings)
      : signature_(signature),
        where_(where),
        findings_(findings),
        bound_(signature.constraints().size()) {}

  // `what` is "input" or "output".
  void run(std::string_view what, std::span<const Type* const> types,
           std::span<const Parameter> parameters) {
    for (std::size_t i = 0; i < types.size() && !parameters.empty(); ++i) {
      if (types[i] != nullptr && types[i]->kind != TypeKind::unknown) {
        check(what, i, *types[i], parameters[std::min(i, parameters.size() - 1)]);
      }
    }
  }

 private:
  struct Bound {
    Type type;  // unknown: none yet
    std::string_view what;
    std::size_t index = 0;
  };

  void check(std::string_view what, std::size_t i, const Type& type, const Parameter& parameter) {
    const TypeConstraint& constraint = signature_.constraints()[parameter.constraint];
    if (!constraint.types().contains(type)) {
      findings_.add(ErrorCode::invalid_model, where_, " has ", what, " ", i, " ('", parameter.name,
                    "') of type ", to_string(without_dims(type)), ", allowed are ",
                    to_string(constraint.types()));
      return;
    }
    if (parameter.option == Option::variadic && !parameter.homogeneous) return;
    Bound& bound = bound_[parameter.constraint];
    if (bound.type.kind == TypeKind::unknown) {
      bound = {without_dims(type), what, i};
    } else if (!compatible(bound.type, without_dims(type))) {
      findings_.add(ErrorCode::invalid_model, where_, " has ", what, " ", i, " of type ",
                    to_string(without_dims(type)), " and ", bound.what, " ", bound.index,
                    " of type ", to_string(bound.type), ", they must be the same (",
                    constraint.name, ")");
    }
  }

  const Signature& signature_;
  const std::string& where_;
  Findings& findings_;
  std::vector<Bound> bound_;
};

std::vector<const Type*> types_of(const std::vector<ValueId>& ids, const Graph& graph) {
  std::vector<const Type*> out;
  for (const ValueId id : ids) out.push_back(id == no_value ? nullptr : &graph[id].type);
  return out;
}

}  // namespace

void check_types(std::span<const Type* const> inputs, std::span<const Type* const> outputs,
                 const Signature& signature, const std::string& where, Findings& findings) {
  ConstraintCheck check(signature, where, findings);
  check.run("input", inputs, signature.inputs());
  check.run("output", outputs, signature.outputs());
}

void check_types(const Node& node, const Graph& graph, Findings& findings) {
  // The signature excludes bfloat16, which this library supports; the infer rule checks the types.
  if (node.op->name == "Gradient") return;
  const Signature* signature = find_signature(node.op->domain, node.op->name, node.version);
  if (signature == nullptr) return;
  check_types(types_of(node.inputs, graph), types_of(node.outputs, graph), *signature,
              describe(node, graph), findings);
}

}  // namespace ondine::graph
