#include "trainer/hugging_face/sequence.h"

#include "core/message.h"

namespace ondine::hugging_face {
namespace {

std::string cache_name(const char* side, std::int64_t layer, const char* kind) {
  return cat(side, ".", layer, ".", kind);
}

}  // namespace

Sequence::Sequence(Network& network, bool cache, std::int64_t layers, const AttentionTraits& traits)
    : network_(&network), cache_(cache), traits_(traits) {
  ids_ = network.input("input_ids", DType::int64, {"batch", "sequence"});
  if (!cache) {
    places_ = network.range(network.integer(0), network.size_of_dim(ids_, 1));
    return;
  }
  padding_ = network.input("attention_mask", DType::int64, {"batch", "total_sequence"});
  places_ = network.input("position_ids", DType::int64, {"batch", "sequence"});
  positions_ = places_;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    for (const char* kind : {"key", "value"}) {
      network.input(cache_name("past_key_values", layer, kind), DType::float32,
                    {"batch", traits.kv_heads, "past_sequence", traits.head_size});
    }
  }
}

const std::string& Sequence::positions() {
  if (positions_.empty()) {
    positions_ = network_->node("Expand", {places_, network_->shape_of(ids_)});
  }
  return positions_;
}

const std::string& Sequence::mask(std::int64_t window) {
  auto [at, is_new] = masks_.try_emplace(window);
  if (is_new) at->second = cache_ ? cache_mask(window) : window_mask(window);
  return at->second;
}

// [sequence, sequence]
std::string Sequence::window_mask(std::int64_t window) {
  Network& n = *network_;
  const std::string rows = n.node("Unsqueeze", {places_, n.integers({1})});
  const std::string before = n.node("Sub", {rows, places_});
  return n.node("And", {n.node("GreaterOrEqual", {before, n.integer(0)}),
                        n.node("Less", {before, n.integer(window)})});
}

// [batch, 1, sequence, total]. Causality goes by places, where a cache may have room that the
// padding mask hides; windows go by positions.
std::string Sequence::cache_mask(std::int64_t window) {
  Network& n = *network_;
  const std::string past = n.size_of_dim(cache_name("past_key_values", 0, "key"), 2);
  const std::string total = n.add(past, n.size_of_dim(ids_, 1));
  const std::string rows = n.node("Unsqueeze", {n.range(past, total), n.integers({1})});
  const std::string keys = n.range(n.integer(0), total);
  const std::string real =
      n.node("Cast", {padding_}, {{"to", static_cast<std::int64_t>(DType::boolean)}});
  std::string seen = n.node("And", {n.node("LessOrEqual", {keys, rows}),
                                    n.node("Unsqueeze", {real, n.integers({1, 2})})});
  if (window == 0) return seen;
  const std::string counted = n.node("CumSum", {padding_, n.integer(1)});
  const std::string of_keys = n.node("Sub", {counted, n.integer(1)});
  const std::string distance = n.node("Sub", {n.node("Unsqueeze", {places_, n.integers({2})}),
                                              n.node("Unsqueeze", {of_keys, n.integers({1})})});
  const std::string near = n.node("Less", {distance, n.integer(window)});
  return n.node("And", {seen, n.node("Unsqueeze", {near, n.integers({1})})});
}

std::string Sequence::attend(const std::string& q, const std::string& k, const std::string& v,
                             const AttentionTraits& traits) {
  graph::Attributes attributes{{"q_num_heads", traits.heads},
                               {"kv_num_heads", traits.kv_heads},
                               {"scale", static_cast<float>(traits.scale)}};
  if (traits.softcap > 0) attributes.emplace_back("softcap", static_cast<float>(traits.softcap));
  std::vector<std::string> inputs{q, k, v};
  std::vector<std::string> outputs{"Attention"};
  if (cache_) {
    const std::int64_t layer = attended_++;
    inputs.push_back(mask(traits.window));
    for (const char* kind : {"key", "value"}) {
      inputs.push_back(cache_name("past_key_values", layer, kind));
      outputs.push_back(cache_name("present", layer, kind));
    }
  } else if (traits.window > 0) {
    inputs.push_back(mask(traits.window));
  } else {
    attributes.emplace_back("is_causal", std::int64_t{1});
  }
  return network_->nodes("Attention", std::move(inputs), outputs, std::move(attributes))[0];
}

void Sequence::write_outputs(const std::string& scores, std::int64_t vocabulary) {
  network_->named("Identity", {scores}, "logits");
  network_->output("logits", {"batch", "sequence", vocabulary});
  for (std::int64_t layer = 0; layer < attended_; ++layer) {
    for (const char* kind : {"key", "value"}) {
      network_->output(cache_name("present", layer, kind),
                       {"batch", traits_.kv_heads, "total_sequence", traits_.head_size});
    }
  }
}

}  // namespace ondine::hugging_face
