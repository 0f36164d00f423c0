#include "trainer/hugging_face/encoder.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "core/message.h"

namespace ondine::hugging_face {

Encoder::Encoder(Network& network, const EncoderTraits& traits, std::string prefix, bool ids_only,
                 bool pairs)
    : n_(network), t_(traits), prefix_(std::move(prefix)) {
  std::vector<const char*> names{"input_ids"};
  if (!ids_only) names.push_back("attention_mask");
  // Networks with a single type need no types of tokens.
  if (!ids_only && t_.types > 1) names.push_back("token_type_ids");
  const std::vector<std::string> inputs = declare(names, pairs);
  ids_ = inputs[0];
  if (ids_only) {
    real_ = n_.node("Not", {n_.node("Equal", {ids_, n_.integer(t_.padding)})});
  } else {
    real_ = n_.node("Cast", {inputs[1]}, {{"to", static_cast<std::int64_t>(DType::boolean)}});
    if (inputs.size() > 2) types_ = inputs[2];
  }
  // As PyTorch's: a row without any token sees all of its padding alike instead of nothing.
  constexpr double hidden = std::numeric_limits<float>::lowest();
  const std::string bias = n_.node("Where", {real_, n_.number(0), n_.number(hidden)});
  mask_ = n_.node("Unsqueeze", {bias, n_.integers({1, 2})});
}

std::vector<std::string> Encoder::declare(const std::vector<const char*>& names, bool pairs) {
  std::vector<std::string> inputs;
  const auto input = [&](const std::string& name) {
    return n_.input(name, DType::int64, {"batch", "sequence"});
  };
  for (const char* name : names) inputs.push_back(input(name));
  if (!pairs) return inputs;
  std::vector<std::string> second;
  for (const char* name : names) second.push_back(input(cat(std::string_view(name), "_pair")));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = n_.node("Concat", {inputs[i], second[i]}, {{"axis", std::int64_t{0}}});
  }
  return inputs;
}

std::string Encoder::write() {
  std::string x = embeddings();
  for (std::int64_t i = 0; i < t_.layers; ++i) x = layer(x, cat(prefix_, t_.layer, i));
  return x;
}

std::string Encoder::table() {
  return n_.weight(prefix_ + "embeddings.word_embeddings.weight", {t_.vocabulary, t_.width});
}

std::string Encoder::norm(const std::string& x, const std::string& module) {
  return n_.layer_norm(x, module, t_.width, t_.epsilon);
}

std::string Encoder::linear(const std::string& x, const std::string& module, std::int64_t to) {
  return n_.linear(x, module, t_.width, to, true);
}

std::string Encoder::active(const std::string& x) {
  return n_.activation(x, t_.activation, t_.activation_member);
}

std::string Encoder::first_token(const std::string& x) {
  return n_.node("Gather", {x, n_.integer(0)}, {{"axis", std::int64_t{1}}});
}

std::string Encoder::positions() {
  if (!t_.counts_tokens) return n_.range(n_.integer(0), n_.size_of_dim(ids_, 1));
  // As PyTorch, by the ids, whatever the attention mask says.
  const std::string real = n_.node("Not", {n_.node("Equal", {ids_, n_.integer(t_.padding)})});
  const std::string ones =
      n_.node("Cast", {real}, {{"to", static_cast<std::int64_t>(DType::int64)}});
  const std::string counted = n_.node("Mul", {n_.node("CumSum", {ones, n_.integer(1)}), ones});
  return n_.add(counted, n_.integer(t_.padding));
}

std::string Encoder::embeddings() {
  const std::string module = prefix_ + "embeddings.";
  std::string x = n_.embedding(ids_, table());
  if (t_.types > 0) {
    const std::string types =
        n_.weight(module + "token_type_embeddings.weight", {t_.types, t_.width});
    x = n_.add(x, n_.embedding(types_.empty() ? n_.integer(0) : types_, types));
  }
  const std::string places =
      n_.weight(module + "position_embeddings.weight", {t_.positions, t_.width});
  return norm(n_.add(x, n_.embedding(positions(), places)), module + "LayerNorm");
}

// Writes attention as single operators: the mask has one row for all queries, which onnxruntime's
// Attention refuses.
std::string Encoder::attend(const std::string& q, const std::string& k, const std::string& v) {
  using Axes = std::vector<std::int64_t>;
  const std::int64_t size = t_.width / t_.heads;
  const auto to_heads = [&](const std::string& x, const Axes& axes) {
    const std::string split = n_.node("Reshape", {x, n_.integers({0, 0, t_.heads, size})});
    return n_.node("Transpose", {split}, {{"perm", axes}});
  };
  const std::string products =
      n_.node("MatMul", {to_heads(q, {0, 2, 1, 3}), to_heads(k, {0, 2, 3, 1})});
  const std::string scores =
      n_.add(n_.scaled(products, 1 / std::sqrt(static_cast<double>(size))), mask_);
  const std::string weights = n_.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::string y = n_.node("MatMul", {weights, to_heads(v, {0, 2, 1, 3})});
  const std::string rows = n_.node("Transpose", {y}, {{"perm", Axes{0, 2, 1, 3}}});
  return n_.node("Reshape", {rows, n_.integers({0, 0, t_.width})});
}

std::string Encoder::layer(const std::string& x, const std::string& module) {
  const std::string q = linear(x, module + t_.query, t_.width);
  const std::string k = linear(x, module + t_.key, t_.width);
  const std::string v = linear(x, module + t_.value, t_.width);
  const std::string seen = attend(q, k, v);
  const std::string attended =
      norm(n_.add(linear(seen, module + t_.attended, t_.width), x), module + t_.attended_norm);
  const std::string inner = active(linear(attended, module + t_.inner, t_.inner_width));
  const std::string outer = n_.linear(inner, module + t_.outer, t_.inner_width, t_.width, true);
  return norm(n_.add(outer, attended), module + t_.outer_norm);
}

}  // namespace ondine::hugging_face
