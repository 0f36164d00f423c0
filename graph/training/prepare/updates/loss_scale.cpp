#include "graph/training/prepare/updates/loss_scale.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "core/message.h"
#include "graph/training/prepare/parameters/paths.h"

namespace ondine::graph {
namespace {

constexpr float least_loss_scale = 0x1p-64F;
constexpr float largest_scale = 0x1p64F;
constexpr std::int64_t first_with_where = 9;

bool is_float16(const ValueTypes& types, const std::string& name) {
  const auto found = types.find(name);
  return found != types.end() && found->second.dtype == DType::float16;
}

// Whether a known or declared type of the main graph's values is float16.
bool has_float16(const GraphDef& main, const ValueTypes& types) {
  const auto is_declared = [](const ValueDef& one) { return one.type.dtype == DType::float16; };
  return std::ranges::any_of(types,
                             [](const auto& one) { return one.second.dtype == DType::float16; }) ||
         std::ranges::any_of(main.inputs, is_declared) ||
         std::ranges::any_of(main.outputs, is_declared) ||
         std::ranges::any_of(main.value_infos, is_declared);
}

// A float16 value in the subgraphs of a node; "" if there is none.
std::string inner_float16(const NodeDef& node) {
  constexpr auto code = static_cast<std::int64_t>(DType::float16);
  for (const auto& body : subgraphs_of(node)) {
    for (const auto* list : {&body->inputs, &body->outputs, &body->value_infos}) {
      for (const ValueDef& one : *list) {
        if (one.type.dtype == DType::float16) return one.name;
      }
    }
    for (const NodeDef& one : body->nodes) {
      if (one.op == "Cast" && integer_attribute(one, "to", 0) == code) return one.outputs.at(0);
      if (std::string name = inner_float16(one); !name.empty()) return name;
    }
  }
  return {};
}

// The first float16 value through which derivatives pass; "" for none.
std::string float16_value(const GraphDef& main, const ValueTypes& types,
                          const std::vector<std::string>& read,
                          const std::vector<const InitializerDef*>& trained) {
  for (const InitializerDef* one : trained) {
    if (one->value.dtype() == DType::float16) return one->name;
  }
  const bool may_be_inside = std::ranges::any_of(
      main.nodes, [](const NodeDef& node) { return !inner_float16(node).empty(); });
  if (!may_be_inside && !has_float16(main, types)) return {};
  const ValueTypes known = known_types(main, types);
  for (const std::string& name : read) {
    if (is_float16(known, name)) return name;
  }
  Strings learned;
  for (const InitializerDef* one : trained) learned.insert(one->name);
  const Strings live = differentiable_values(main, Strings(read.begin(), read.end()));
  for (const NodeDef& node : main.nodes) {
    const std::vector<std::string> reads = reads_of(node);
    const auto is_learned = [&](const std::string& name) { return learned.contains(name); };
    if (std::none_of(reads.begin(), reads.end(), is_learned)) continue;
    for (const std::string& output : node.outputs) {
      if (!live.contains(output)) continue;
      if (is_float16(known, output)) return output;
      if (std::string inner = inner_float16(node); !inner.empty()) return inner;
      learned.insert(output);
    }
  }
  return {};
}

GraphDef branch(Names& names, const std::string& value, const Tensor& like) {
  GraphDef graph;
  graph.name = names.fresh("loss_scale.branch");
  NodeDef node;
  node.op = "Identity";
  node.inputs = {value};
  node.outputs = {names.fresh(value + ".kept")};
  ValueDef output;
  output.name = node.outputs[0];
  output.type = tensor_type(like.dtype(), to_dim_defs(like.shape()));
  graph.nodes.push_back(std::move(node));
  graph.outputs.push_back(std::move(output));
  return graph;
}

// One of two values, either of which may be not finite.
std::string write_selection(GraphWriter& writer, const std::string& condition,
                            const std::string& yes, const std::string& no, const Tensor& like,
                            const std::string& hint) {
  if (writer.opset() >= first_with_where) return writer.node("Where", {condition, yes, no}, hint);
  const auto graph = [&](const std::string& value) {
    return std::make_shared<const GraphDef>(branch(writer.names(), value, like));
  };
  return writer.node("If", {condition}, hint,
                     {{"then_branch", graph(yes)}, {"else_branch", graph(no)}});
}

}  // namespace

void check_loss_scale(const LossScale& scale) {
  const auto require = [](bool holds, const char* needed, auto found) {
    if (!holds) fail(ErrorCode::mismatch, needed, ", found ", found);
  };
  const auto in_range = [](float value) {
    return value >= least_loss_scale && value <= largest_scale;
  };
  if (const auto* fixed = std::get_if<StaticLossScale>(&scale)) {
    require(in_range(fixed->scale), "the loss scale must be in [2^-64, 2^64]", fixed->scale);
  }
  if (const auto* dynamic = std::get_if<DynamicLossScale>(&scale)) {
    require(in_range(dynamic->initial), "the loss scale must be in [2^-64, 2^64]",
            dynamic->initial);
    require(dynamic->growth_interval > 0, "the growth interval of the loss scale must be positive",
            dynamic->growth_interval);
  }
}

ChosenLossScale choose_loss_scale(const LossScale& given, const GraphDef& main,
                                  const ValueTypes& types, const std::vector<std::string>& read,
                                  const std::vector<const InitializerDef*>& trained) {
  if (!std::holds_alternative<std::monostate>(given)) return {given, {}};
  const std::string value = float16_value(main, types, read, trained);
  if (value.empty()) return {NoLossScale{}, "no derivative passes through float16"};
  return {DynamicLossScale{}, quoted(value) + " is float16"};
}

LossScaler::LossScaler(GraphWriter& writer, const LossScale& scale, Properties& bindings)
    : writer_(&writer), settings_(scale), bindings_(&bindings) {
  float start = 0;
  if (const auto* fixed = std::get_if<StaticLossScale>(&scale)) start = fixed->scale;
  if (const auto* dynamic = std::get_if<DynamicLossScale>(&scale)) start = dynamic->initial;
  if (start != 0) scale_ = writer.initializer("loss_scale", Tensor::scalar(start));
}

std::string LossScaler::scaled(const std::string& loss, DType dtype) {
  if (!is_active()) return loss;
  std::string value = loss;
  if (is_low_precision(dtype)) {
    dtype = DType::float32;
    value = writer_->cast(value, dtype, "loss.float");
  }
  const std::string scale =
      dtype == DType::float32 ? scale_ : writer_->cast(scale_, dtype, "loss_scale.cast");
  return writer_->node("Mul", {value, scale}, "loss.scaled");
}

std::string LossScaler::unscaled(const std::string& gradient, DType dtype,
                                 const std::string& hint) {
  if (!is_active()) return gradient;
  if (inverse_.empty()) {
    const std::string one = writer_->scalar("loss_scale.one", 1, DType::float32);
    inverse_ = writer_->node("Div", {one, scale_}, "loss_scale.inverse");
  }
  const std::string inverse =
      dtype == DType::float32 ? inverse_ : writer_->cast(inverse_, dtype, "loss_scale.inverse");
  return writer_->node("Mul", {gradient, inverse}, hint);
}

// The sum of all absolute values is a number unless one of them is none. Sums carry NaN on, which
// the maximum of several runtimes does not.
void LossScaler::decide(const std::vector<std::string>& gradients,
                        const std::vector<DType>& dtypes) {
  if (!is_active()) return;
  std::string total;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    std::string sum = writer_->node("ReduceL1", {gradients[i]}, "loss_scale.sum",
                                    {{"keepdims", std::int64_t{0}}});
    if (dtypes[i] != DType::float32) {
      sum = writer_->cast(sum, DType::float32, "loss_scale.sum");
    }
    total = total.empty() ? sum : writer_->node("Add", {total, sum}, "loss_scale.total");
  }
  const double infinity = std::numeric_limits<double>::infinity();
  const std::string bound = writer_->scalar("loss_scale.infinity", infinity, DType::float32);
  is_finite_ = writer_->node("Less", {total, bound}, "loss_scale.is_finite");
  if (const auto* dynamic = std::get_if<DynamicLossScale>(&settings_)) write_next_scale(*dynamic);
}

void LossScaler::write_next_scale(const DynamicLossScale& dynamic) {
  const auto number = [&](const char* hint, float value) {
    return writer_->scalar(hint, double{value}, DType::float32);
  };
  const auto integer = [&](const char* hint, std::int64_t value) {
    return writer_->initializer(hint, Tensor::scalar(value));
  };
  const Tensor count = Tensor::scalar(std::int64_t{0});
  const Tensor scale = Tensor::scalar(dynamic.initial);
  const std::string good = writer_->initializer("loss_scale.good_steps", count);
  const std::string zero = integer("loss_scale.no_steps", 0);
  const std::string step = integer("loss_scale.one_step", 1);
  const std::string interval = integer("loss_scale.growth_interval", dynamic.growth_interval);
  const std::string counted = writer_->node("Add", {good, step}, "loss_scale.counted");
  const std::string grows = writer_->node("Equal", {counted, interval}, "loss_scale.grows");

  const std::string doubled =
      writer_->node("Mul", {scale_, number("loss_scale.growth", 2)}, "loss_scale.doubled");
  const std::string halved =
      writer_->node("Mul", {scale_, number("loss_scale.backoff", 0.5F)}, "loss_scale.halved");
  const std::string above = writer_->node(
      "Min", {doubled, number("loss_scale.largest", largest_scale)}, "loss_scale.above");
  const std::string below = writer_->node(
      "Max", {halved, number("loss_scale.least", least_loss_scale)}, "loss_scale.below");
  const std::string grown =
      write_selection(*writer_, grows, above, scale_, scale, "loss_scale.grown");
  bind(scale_, kept(grown, below, scale, "loss_scale.next"), scale);
  const std::string steps =
      write_selection(*writer_, grows, zero, counted, count, "loss_scale.steps");
  bind(good, kept(steps, zero, count, "loss_scale.good_steps.next"), count);
}

std::string LossScaler::kept(const std::string& next, const std::string& current,
                             const Tensor& like, const std::string& hint) const {
  if (!is_active()) return next;
  return write_selection(*writer_, is_finite_, next, current, like, hint);
}

void LossScaler::bind(const std::string& variable, const std::string& next, const Tensor& like) {
  writer_->output(next, like);
  bindings_->emplace_back(variable, next);
}

}  // namespace ondine::graph
