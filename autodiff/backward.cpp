#include "autodiff/backward.h"

#include <unordered_map>

#include "core/message.h"
#include "core/stop.h"
#include "graph/contract/ops.h"

namespace ondine::autodiff {
namespace {

using namespace graph;  // NOLINT

Val sum(std::span<const Val> parts) {
  if (parts.size() > 2 && parts[0].type().is_tensor()) {
    return parts[0].builder().nodes("Sum", parts, {}, 1)[0];
  }
  Val result = parts[0];
  for (const Val part : parts.subspan(1)) result = result + part;
  return result;
}

class Backward {
 public:
  Backward(Builder& builder, Dataflow& flow, std::span<const Val> ys, std::span<const Val> xs,
           std::span<const Val> cuts)
      : builder_(&builder), flow_(&flow) {
    for (const Val x : xs) value(x.id()).leaf = value(x.id()).active = true;
    for (const Val cut : cuts) value(cut.id()).leaf = true;
    const auto ids = [](std::span<const Val> values) {
      std::vector<ValueId> list;
      for (const Val one : values) list.push_back(one.id());
      return list;
    };
    path_ = flow.between(
        ids(xs), ids(ys), [&](ValueId id) { return is_leaf(id); },
        [&](const Node& node, std::size_t i) {
          return takes_gradient(node, i) && differentiable(graph()[node.all_inputs()[i]].type);
        });
    mark_active();
  }

  std::vector<Val> run(std::span<const Val> ys, std::span<const Val> dys, std::span<const Val> xs) {
    for (std::size_t k = 0; k < ys.size(); ++k) {
      if (dys[k]) add_partial(ys[k].id(), dys[k]);
    }
    for (std::size_t i = path_.size(); i-- > 0;) visit(path_[i]);
    std::vector<Val> result;
    for (const Val x : xs) result.push_back(total(x.id()));
    return result;
  }

 private:
  struct Value {
    bool leaf = false;
    bool active = false;
    std::vector<Val> partials;
  };

  Graph& graph() { return builder_->graph(); }
  Value& value(ValueId id) { return values_[id]; }
  const Value* known(ValueId id) const {
    const auto found = values_.find(id);
    return found == values_.end() ? nullptr : &found->second;
  }
  bool is_leaf(ValueId id) const {
    const Value* const found = known(id);
    return found != nullptr && found->leaf;
  }
  bool is_active(ValueId id) const {
    const Value* const found = known(id);
    return found != nullptr && found->active;
  }

  // A value is active when it is an x or computed from one through differentiable types.
  void mark_active() {
    for (const std::size_t position : path_) {
      const Node& node = graph().nodes[position];
      bool reads = false;
      const auto inputs = node.all_inputs();
      for (std::size_t i = 0; i < inputs.size(); ++i) reads = reads || carries(node, i, inputs[i]);
      if (!reads) continue;
      for (const ValueId output : node.outputs) {
        if (output != no_value && !is_leaf(output) && differentiable(graph()[output].type)) {
          value(output).active = true;
        }
      }
    }
  }

  static bool takes_gradient(const Node& node, std::size_t i) {
    const std::uint32_t mask = node.op->no_gradient;
    return mask != any_input && (i >= 32 || (mask >> i & 1U) == 0);
  }

  bool carries(const Node& node, std::size_t i, ValueId input) const {
    return input != no_value && is_active(input) && takes_gradient(node, i);
  }

  void visit(std::size_t position) {
    std::vector<Val> dy;
    bool any = false;
    const std::size_t count = graph().nodes[position].outputs.size();
    for (std::size_t i = 0; i < count; ++i) {
      const ValueId output = graph().nodes[position].outputs[i];
      const bool flows = output != no_value && is_active(output) && !is_leaf(output);
      dy.push_back(flows ? total(output) : Val());
      any = any || static_cast<bool>(dy.back());
    }
    if (!any) return;
    checkpoint(4096);
    const Node node = graph().nodes[position];  // a copy: appending invalidates references
    const auto inputs = node.all_inputs();
    std::vector<char> wanted;
    bool wants = false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      wanted.push_back(carries(node, i, inputs[i]) ? 1 : 0);
      wants = wants || wanted.back() != 0;
    }
    if (!wants) return;
    const MadeFrom origin(*builder_, node, "the derivative of ");
    with_context([&] { apply_rule(node, position, dy, wanted); },
                 [&] { return describe(node, graph()); });
    flow_->refresh(position);  // the rule may have asked for more outputs
    // Nobody asks for those again: only leaves are results.
    for (const ValueId output : node.outputs) {
      if (output != no_value && !is_leaf(output)) value(output).partials = {};
    }
  }

  void apply_rule(const Node& node, std::size_t position, std::span<const Val> dy,
                  std::span<const char> wanted) {
    if (node.op->grad == nullptr) {
      fail(ErrorCode::unsupported, "operator ", node.op->name, " has no derivative");
    }
    const Differentiate differentiate = [](Builder& b, std::span<const Val> ys,
                                           std::span<const Val> dys, std::span<const Val> xs) {
      return backward(b, ys, dys, xs);
    };
    GradContext context(*builder_, position, node, dy, wanted, differentiate);
    const auto dx = node.op->grad(context);
    const auto inputs = node.all_inputs();
    for (std::size_t i = 0; i < dx.size() && i < inputs.size(); ++i) {
      if (!dx[i] || wanted[i] == 0) continue;
      if (!compatible(dx[i].type(), graph()[inputs[i]].type)) {
        fail(ErrorCode::internal, "the derivative with respect to input ", i, " is ",
             to_string(dx[i].type()), ", the input is ", to_string(graph()[inputs[i]].type));
      }
      add_partial(inputs[i], dx[i]);
    }
  }

  void add_partial(ValueId id, Val partial) { value(id).partials.push_back(partial); }

  // The sum of all partial derivatives so far.
  Val total(ValueId id) {
    auto& parts = value(id).partials;
    if (parts.empty()) return {};
    if (parts.size() > 1) parts.assign(1, sum(parts));
    return parts[0];
  }

  Builder* builder_;
  Dataflow* flow_;
  std::vector<std::size_t> path_;  // nodes between xs and ys, in order
  std::unordered_map<ValueId, Value> values_;
};

}  // namespace

bool differentiable(const Type& type) {
  if (type.kind == TypeKind::tensor) return is_differentiable(type.dtype);
  const bool holder = type.kind == TypeKind::sequence || type.kind == TypeKind::optional;
  return holder && type.element && differentiable(*type.element);
}

std::vector<Val> backward(Builder& builder, Dataflow& flow, std::span<const Val> ys,
                          std::span<const Val> dys, std::span<const Val> xs,
                          std::span<const Val> cuts) {
  return Backward(builder, flow, ys, xs, cuts).run(ys, dys, xs);
}

std::vector<Val> backward(Builder& builder, std::span<const Val> ys, std::span<const Val> dys,
                          std::span<const Val> xs, std::span<const Val> cuts) {
  Dataflow flow(builder.graph());
  return backward(builder, flow, ys, dys, xs, cuts);
}

}  // namespace ondine::autodiff
