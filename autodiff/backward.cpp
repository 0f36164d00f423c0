#include "autodiff/backward.h"

#include "core/message.h"
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
  Backward(Builder& builder, std::span<const Val> xs, std::span<const Val> cuts)
      : builder_(&builder),
        node_count_(builder.graph().nodes.size()),
        leaf_(builder.graph().values.size()),
        active_(leaf_.size()),
        partials_(leaf_.size()) {
    for (const Val x : xs) leaf_[index(x.id())] = active_[index(x.id())] = true;
    for (const Val cut : cuts) leaf_[index(cut.id())] = true;
    mark_active();
  }

  std::vector<Val> run(std::span<const Val> ys, std::span<const Val> dys, std::span<const Val> xs) {
    for (std::size_t k = 0; k < ys.size(); ++k) {
      if (dys[k]) add_partial(ys[k].id(), dys[k]);
    }
    for (std::size_t i = node_count_; i-- > 0;) visit(i);
    std::vector<Val> result;
    for (const Val x : xs) result.push_back(total(x.id()));
    return result;
  }

 private:
  static std::size_t index(ValueId id) { return static_cast<std::size_t>(id); }
  Graph& graph() { return builder_->graph(); }

  // A value is active when it is an x or computed from one through differentiable types.
  void mark_active() {
    for (const Node& node : graph().nodes) {
      bool reads = false;
      const auto inputs = node.all_inputs();
      for (std::size_t i = 0; i < inputs.size(); ++i) reads = reads || carries(node, i, inputs[i]);
      if (!reads) continue;
      for (const ValueId output : node.outputs) {
        if (output != no_value && !leaf_[index(output)] && differentiable(graph()[output].type)) {
          active_[index(output)] = true;
        }
      }
    }
  }

  bool carries(const Node& node, std::size_t i, ValueId input) const {
    if (input == no_value || !active_[index(input)]) return false;
    const std::uint32_t mask = node.op->no_gradient;
    return mask != any_input && (i >= 32 || (mask >> i & 1U) == 0);
  }

  void visit(std::size_t position) {
    const Node node = graph().nodes[position];  // a copy: appending invalidates references
    std::vector<Val> dy;
    bool any = false;
    for (const ValueId output : node.outputs) {
      const bool flows = output != no_value && active_[index(output)] && !leaf_[index(output)];
      dy.push_back(flows ? total(output) : Val());
      any = any || static_cast<bool>(dy.back());
    }
    if (!any) return;
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
    // Nobody asks for those again: only leaves are results.
    for (const ValueId output : node.outputs) {
      if (output != no_value && !leaf_[index(output)]) partials_[index(output)] = {};
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

  void add_partial(ValueId id, Val partial) { partials_[index(id)].push_back(partial); }

  // The sum of all partial derivatives so far.
  Val total(ValueId id) {
    auto& parts = partials_[index(id)];
    if (parts.empty()) return {};
    if (parts.size() > 1) parts.assign(1, sum(parts));
    return parts[0];
  }

  Builder* builder_;
  std::size_t node_count_;
  std::vector<bool> leaf_;
  std::vector<bool> active_;
  std::vector<std::vector<Val>> partials_;
};

}  // namespace

bool differentiable(const Type& type) {
  if (type.kind == TypeKind::tensor) return is_differentiable(type.dtype);
  const bool holder = type.kind == TypeKind::sequence || type.kind == TypeKind::optional;
  return holder && type.element && differentiable(*type.element);
}

std::vector<Val> backward(Builder& builder, std::span<const Val> ys, std::span<const Val> dys,
                          std::span<const Val> xs, std::span<const Val> cuts) {
  return Backward(builder, xs, cuts).run(ys, dys, xs);
}

}  // namespace ondine::autodiff
