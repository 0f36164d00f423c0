#include "trainer/model/input_types.h"

#include <algorithm>
#include <map>

#include <ondine/printable.h>

#include "core/message.h"
#include "trainer/model/feeds.h"

namespace ondine::trainer {
namespace {

using namespace graph;  // NOLINT

using NamedShape = std::pair<std::string, Shape>;

class InputTypes {
 public:
  InputTypes(const Function& function, const StateStore& state, std::span<const NamedShape> shapes)
      : callable_(&function), graph_(function.graph.get()), state_(&state), shapes_(shapes) {}

  std::vector<Type> run() {
    require_known_names();
    std::vector<Type> types;
    for (std::size_t i = 0; i < callable_->inputs.size(); ++i) types.push_back(start(i));
    for (std::size_t i = 0; i < types.size(); ++i) {
      if (callable_->inputs[i].declared) learn_symbols(i, types[i]);
    }
    for (std::size_t i = 0; i < types.size(); ++i) finish(i, types[i]);
    return types;
  }

 private:
  const Type& declared(std::size_t i) const {
    const GraphValue& value = (*graph_)[graph_->inputs[i]];
    return value.declared->kind == TypeKind::unknown ? value.type : *value.declared;
  }

  const Shape* find_shape(const std::string& name) const {
    const auto found = std::ranges::find(shapes_, name, &NamedShape::first);
    return found == shapes_.end() ? nullptr : &found->second;
  }

  void require_known_names() const {
    std::string names;
    for (std::size_t i = 0; i < callable_->inputs.size(); ++i) {
      if (callable_->inputs[i].declared) names += " " + quoted(callable_->input_names[i]);
    }
    for (const auto& [name, shape] : shapes_) {
      bool known = false;
      for (std::size_t i = 0; i < callable_->inputs.size(); ++i) {
        known = known || (callable_->inputs[i].declared && callable_->input_names[i] == name);
      }
      if (!known) {
        fail(ErrorCode::not_found, "there is no input ", quoted(name), "; inputs are", names);
      }
    }
  }

  // The type as far as shapes, state and defaults determine it.
  Type start(std::size_t i) const {
    const InputSource& source = callable_->inputs[i];
    const std::string& name = callable_->input_names[i];
    const Shape* shape = source.declared ? find_shape(name) : nullptr;
    const Type& type = declared(i);
    if (shape == nullptr && source.variable != InputSource::no_variable) {
      const Tensor& initial = state_->variable(source.variable).initial;
      return Type::tensor(initial.dtype(), initial.shape());
    }
    if (shape == nullptr && source.fallback->defined()) {
      return Type::tensor(source.fallback->dtype(), source.fallback->shape());
    }
    if (!type.is_tensor()) {
      fail(ErrorCode::unsupported, "input ", quoted(name), " is a ", graph::to_string(type),
           ": a plan from shapes needs tensors");
    }
    if (shape == nullptr) return type;
    const Type given = Type::tensor(type.dtype, *shape);
    if (!compatible(given, type)) {
      fail(ErrorCode::mismatch, "input ", quoted(name), " must be a ", describe_type(type, *graph_),
           ", not of shape ", *shape);
    }
    return given;
  }

  // Records the sizes of symbols: those of the declaration at which `type` has known dims.
  void learn_symbols(std::size_t i, const Type& type) {
    const Type& from = declared(i);
    if (!type.is_tensor() || !type.dims || !from.dims || from.rank() != type.rank()) return;
    for (std::size_t axis = 0; axis < type.rank(); ++axis) {
      const Dim symbol = (*from.dims)[axis];
      const Dim dim = (*type.dims)[axis];
      if (!symbol.is_symbolic() || !dim.known()) continue;
      const auto [known, fresh] = sizes_.emplace(symbol.symbol(), dim.size());
      if (fresh || known->second == dim.size()) continue;
      fail(ErrorCode::mismatch, "input ", quoted(callable_->input_names[i]), " has ", dim.size(),
           " for dim ", quoted(graph_->symbols->names[symbol.symbol()]),
           ", another input of this call has ", known->second);
    }
  }

  void finish(std::size_t i, Type& type) const {
    const std::string& name = callable_->input_names[i];
    if (!type.dims) {
      fail(ErrorCode::mismatch, "input ", quoted(name),
           " has no declared rank: give its shape (PlanRequest::shapes, --shape of ondine "
           "inspect), as in ",
           printable(name), "=1x3x224x224");
    }
    for (std::size_t axis = 0; axis < type.rank(); ++axis) {
      Dim& dim = (*type.dims)[axis];
      if (dim.known()) continue;
      const auto size = dim.is_symbolic() ? sizes_.find(dim.symbol()) : sizes_.end();
      if (size == sizes_.end()) fail_dynamic(i, axis, type);
      dim = Dim(size->second);
    }
  }

  [[noreturn]] void fail_dynamic(std::size_t i, std::size_t axis, const Type& type) const {
    std::string example;
    for (std::size_t k = 0; k < type.rank(); ++k) {
      const Dim dim = (*type.dims)[k];
      example += cat(k == 0 ? "" : "x", dim.known() ? dim.size() : std::int64_t{1});
    }
    const Dim dim = (*type.dims)[axis];
    fail(ErrorCode::mismatch, "dim ", axis,
         dim.is_symbolic() ? cat(" (", quoted(graph_->symbols->names[dim.symbol()]), ")") : "",
         " of input ", quoted(callable_->input_names[i]), ", a ", describe_type(type, *graph_),
         ", is dynamic: give the shape of the input (PlanRequest::shapes, --shape of ondine "
         "inspect), as "
         "in ",
         printable(callable_->input_names[i]), "=", example);
  }

  const Function* callable_;
  const Graph* graph_;
  const StateStore* state_;
  std::span<const NamedShape> shapes_;
  std::map<std::uint32_t, std::int64_t> sizes_;  // by symbol
};

}  // namespace

std::vector<Type> input_types(const Function& function, const StateStore& state,
                              std::span<const NamedShape> shapes) {
  return InputTypes(function, state, shapes).run();
}

}  // namespace ondine::trainer
