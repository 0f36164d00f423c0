#include "trainer/text/caches/token_rules.h"

#include <algorithm>
#include <array>

#include "core/message.h"
#include "graph/contract/op_def.h"

namespace ondine::text {

using namespace graph;  // NOLINT

namespace {

template <std::size_t Count>
bool is_one_of(std::string_view name, const std::array<std::string_view, Count>& list) {
  return std::ranges::find(list, name) != list.end();
}

bool is_elementwise(std::string_view op) {
  return is_one_of(
      op,
      std::to_array<std::string_view>(
          {"Abs",        "Add",      "And",         "BiasGelu",    "Cast",      "Ceil",
           "Clip",       "Cos",      "Div",         "Dropout",     "Elu",       "Equal",
           "Erf",        "Exp",      "FastGelu",    "Floor",       "Gelu",      "Greater",
           "Identity",   "IsInf",    "IsNaN",       "HardSigmoid", "HardSwish", "GreaterOrEqual",
           "LeakyRelu",  "Less",     "LessOrEqual", "Log",         "Max",       "Min",
           "Mul",        "Neg",      "Not",         "Or",          "Pow",       "QuickGelu",
           "Reciprocal", "Relu",     "Round",       "Selu",        "Sigmoid",   "Sign",
           "Sin",        "Softplus", "Softsign",    "Sqrt",        "Sub",       "Swish",
           "Tanh",       "Where",    "Xor"}));
}

bool is_reduction(std::string_view op) {
  return is_one_of(
      op, std::to_array<std::string_view>({"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin",
                                           "ReduceL2", "ReduceSumSquare"}));
}

bool is_place_move(std::string_view op) {
  return is_one_of(op, std::to_array<std::string_view>(
                           {"Reshape", "Flatten", "Squeeze", "Unsqueeze", "Expand"}));
}

bool is_feature_norm(std::string_view op) {
  return is_one_of(op, std::to_array<std::string_view>({"LayerNormalization", "RMSNormalization",
                                                        "SimplifiedLayerNormalization"}));
}

std::int64_t product_before(const Shape& shape, std::size_t axis) { return shape.size(0, axis); }

}  // namespace

std::size_t NodeTokens::rank(ValueId id) const {
  const auto shape = view_.shape(id);
  if (!shape) refuse("has dims that do not follow from those of the ids");
  return shape->rank();
}

void NodeTokens::refuse(std::string_view why) const {
  fail(ErrorCode::unsupported, describe(node(), view_.graph()), " ", why);
}

void NodeTokens::give(const TokenAxes& axes) {
  for (const ValueId id : node().outputs) {
    if (id != no_value) view_.set_tokens(id, axes);
  }
}

void NodeTokens::run() {
  bool has_tokens = false, has_length = false, of_new_tokens = true;
  const auto inputs = node().all_inputs();
  for (const ValueId id : inputs) {
    if (id == no_value) continue;
    has_tokens = has_tokens || view_.tokens(id) != nullptr;
    has_length = has_length || view_.is_length(id);
    of_new_tokens = of_new_tokens && view_.is_of_new_tokens(id);
  }
  const std::string_view op = node().op->name;
  if (node().op->domain.empty() && (op == "Shape" || op == "Size")) {
    // The dims of a mask are read from the ids (add_caches.cpp).
    if (view_.is_text(in(0))) return view_.set_length(node().outputs[0], true);
    if (has_tokens) return view_.set_length(node().outputs[0], !view_.tokens(in(0))->key);
  }
  if (has_tokens) return run_tokens();
  if (!has_length) return;
  require(!node().op->traits.random, "draws random numbers");
  for (const ValueId id : node().outputs) {
    if (id != no_value) view_.set_length(id, of_new_tokens);
  }
}

void NodeTokens::run_tokens() {
  require(node().subgraphs.empty(), "decides by tokens which nodes run");
  const std::string_view op = node().op->name;
  const bool is_known = node().op->domain.empty() || node().op->domain == "com.microsoft";
  require(is_known, "is of a domain that is not understood");
  if (is_elementwise(op)) return elementwise();
  if (run_moves() || run_features()) return;
  if (op == "MatMul" || op == "MatMulT") return matmul();
  if (op == "Softmax" || op == "LogSoftmax") return softmax();
  if (op == "Attention" && node().op->domain.empty()) return attention();
  if (op == "RotaryEmbedding" && node().op->domain.empty()) return rotary();
  refuse("is none that is known to compute each token by itself");
}

bool NodeTokens::run_moves() {
  const std::string_view op = node().op->name;
  if (!node().op->domain.empty()) return false;
  if (is_place_move(op)) {
    move_places();
  } else if (op == "Transpose") {
    transpose();
  } else if (op == "Gather") {
    gather();
  } else if (op == "Concat") {
    concat();
  } else if (op == "Slice" || op == "Split") {
    slice_or_split();
  } else {
    return false;
  }
  return true;
}

bool NodeTokens::run_features() {
  const std::string_view op = node().op->name;
  if (is_reduction(op)) {
    reduce();
  } else if (is_feature_norm(op)) {
    require_single();
    require_constants(1);
    const std::size_t axis = normalize_axis(attr_int("axis", -1), rank_in(0));
    require(axis > tokens(0)->token, "normalizes across tokens");
    give({.token = tokens(0)->token, .key = {}});
  } else if (op == "Gemm" || op == "MatMulNBits") {
    require_single();
    require_constants(1);
    require(attr_int("transA", 0) == 0 && tokens(0)->token + 1 < rank_in(0), "sums over tokens");
    give({.token = tokens(0)->token, .key = {}});
  } else {
    return false;
  }
  return true;
}

void NodeTokens::require_single() const {
  require(tokens(0) != nullptr && !tokens(0)->key, "reads scores of pairs of tokens");
}

void NodeTokens::require_constants(std::size_t first) const {
  for (std::size_t i = first; i < input_count(); ++i) {
    require(!has_input(i) || (tokens(i) == nullptr && !is_length(i)),
            "reads parameters that are no constants");
  }
}

void NodeTokens::require_shape_operands(std::size_t first) const {
  for (std::size_t i = first; i < input_count(); ++i) {
    require(!has_input(i) || view_.is_of_new_tokens(in(i)),
            "reads dims that follow from more than the ids");
  }
}

void NodeTokens::add_length_operand(std::size_t i, std::optional<std::size_t> token,
                                    std::optional<std::size_t> key) {
  sites_.lengths.push_back({index_, i, token, key});
}

void NodeTokens::read_length_operand(std::size_t i, const TokenAxes& result) {
  const auto axes = view_.varying(in(i));
  if (!axes) refuse("reads a value whose dims are not those of the text");
  const std::size_t shift = rank_out() - rank_in(i);
  std::optional<std::size_t> token, key;
  for (const std::size_t axis : *axes) {
    if (axis + shift == result.token) {
      token = axis;
    } else if (result.key && axis + shift == *result.key) {
      key = axis;
    } else {
      refuse("reads a value of the text beside another dim");
    }
  }
  add_length_operand(i, token, key);
}

void NodeTokens::elementwise() {
  require(node().op->name != "Dropout" || !has_input(2) || view_.number(in(2)) == 0.0,
          "draws random numbers");
  std::optional<TokenAxes> result;
  for (std::size_t i = 0; i < input_count(); ++i) {
    const TokenAxes* axes = tokens(i);
    if (axes == nullptr) continue;
    const std::size_t shift = rank_out() - rank_in(i);
    TokenAxes moved{.token = axes->token + shift, .key = {}};
    if (axes->key) moved.key = *axes->key + shift;
    require(!result || (result->token == moved.token &&
                        (!result->key || !moved.key || result->key == moved.key)),
            "combines tokens of different places");
    if (!result || moved.key) result = moved;
  }
  // Another operand may have more dims there: then the result is of pairs.
  const auto varying = view_.varying(node().outputs[0]);
  if (!varying) refuse("has dims that are not those of the text");
  for (const std::size_t axis : *varying) {
    require(axis == result->token || (result->key && axis == *result->key),
            "spreads tokens over another dim");
  }
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (is_length(i)) read_length_operand(i, *result);
  }
  result->is_masked = result->key && (masks(*result) || keeps_mask());
  result->is_causal = result->key && keeps_causality();
  give(*result);
}

void NodeTokens::reduce() {
  require_constants(1);
  require(tokens(0) != nullptr, "reduces by tokens");
  std::optional<std::vector<std::int64_t>> axes;
  if (has_attr("axes")) axes = attr_ints("axes");
  if (has_input(1)) axes = view_.integers(in(1));
  if (!axes || axes->empty()) refuse("reduces all dims");
  TokenAxes result{.token = tokens(0)->token, .key = tokens(0)->key};
  const bool keeps = attr_int("keepdims", 1) != 0;
  std::size_t before = 0;
  for (const std::int64_t given : *axes) {
    const std::size_t axis = normalize_axis(given, rank_in(0));
    require(axis != result.token && (!result.key || axis != *result.key), "reduces tokens");
    if (axis < tokens(0)->token) ++before;
  }
  require(!result.key, "reduces scores of pairs of tokens");
  if (!keeps) result.token -= before;
  give(result);
}

// Rows of elements stay in their order: the token axis is where as many elements stand before it.
void NodeTokens::move_places() {
  require_single();
  require_shape_operands(1);
  const auto from = view_.shape(in(0)), from2 = view_.second_shape(in(0));
  const ValueId out = node().outputs[0];
  const auto to = view_.shape(out), to2 = view_.second_shape(out);
  const auto varying = view_.varying(out);
  if (!from || !from2 || !to || !to2 || !varying || varying->size() != 1) {
    refuse("joins tokens with another dim");
  }
  const std::size_t axis = varying->front();
  if (node().op->name == "Expand") {
    require(axis == tokens(0)->token + to->rank() - from->rank(), "repeats tokens");
  } else {
    const std::size_t token = tokens(0)->token;
    require(product_before(*from, token) == product_before(*to, axis) &&
                product_before(*from2, token) == product_before(*to2, axis),
            "joins tokens with another dim");
  }
  give({.token = axis, .key = {}});
}

void NodeTokens::transpose() {
  const std::size_t rank = rank_in(0);
  std::vector<std::int64_t> order = attr_ints("perm");
  if (order.empty()) {
    for (std::size_t i = rank; i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
  }
  require(order.size() == rank, "has another rank");
  TokenAxes result = *tokens(0);
  const auto moved = [&](std::size_t axis) {
    const auto at = std::ranges::find(order, static_cast<std::int64_t>(axis));
    return static_cast<std::size_t>(at - order.begin());
  };
  result.token = moved(result.token);
  if (result.key) result.key = moved(*result.key);
  give(result);
}

void NodeTokens::gather() {
  const std::size_t axis = normalize_axis(attr_int("axis", 0), rank_in(0));
  if (tokens(0) == nullptr) {  // a lookup
    require(tokens(1) != nullptr && !tokens(1)->key && !is_length(0), "looks up by pairs");
    return give({.token = axis + tokens(1)->token, .key = {}});
  }
  require_single();
  require(tokens(1) == nullptr && !is_length(1), "picks by tokens");
  const std::size_t token = tokens(0)->token;
  require(axis != token, "picks tokens");
  give({.token = token < axis ? token : token + rank_in(1) - 1, .key = {}});
}

void NodeTokens::concat() {
  const std::size_t axis = normalize_axis(attr_int("axis", 0), rank_out());
  std::optional<TokenAxes> result;
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (tokens(i) == nullptr) continue;
    require(!tokens(i)->key, "joins scores of pairs of tokens");
    require(!result || result->token == tokens(i)->token, "joins tokens of different places");
    result = TokenAxes{.token = tokens(i)->token, .key = {}};
  }
  require(result->token != axis, "joins tokens");
  for (std::size_t i = 0; i < input_count(); ++i) {
    if (is_length(i)) read_length_operand(i, *result);
  }
  give(*result);
}

void NodeTokens::slice_or_split() {
  require_single();
  require_shape_operands(1);
  const std::size_t token = tokens(0)->token;
  for (const ValueId id : node().outputs) {
    if (id == no_value) continue;
    const auto shape = view_.shape(id), second = view_.second_shape(id);
    require(shape && second && (*shape)[token] == view_.first_length &&
                (*second)[token] == view_.second_length,
            "cuts the text");
  }
  // As long as the text it may still be turned around.
  if (node().op->name == "Slice" && has_input(4)) {
    const auto steps = view_.integers(in(4));
    require(steps && std::ranges::all_of(*steps, [](auto step) { return step > 0; }),
            "turns the text around");
  }
  give({.token = token, .key = {}});
}

}  // namespace ondine::text
