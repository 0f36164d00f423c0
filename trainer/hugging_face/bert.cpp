// BERT: an encoder, alone or with the head of masked language modelling or of classification.
#include <cmath>

#include "core/message.h"
#include "trainer/hugging_face/decoder_traits.h"
#include "trainer/hugging_face/families.h"

namespace ondine::hugging_face {
namespace {

constexpr std::string_view with_prefix = "bert.";

struct Sizes {
  std::int64_t vocabulary, positions, types, width, inner_width, heads, layers;
  double epsilon;
};

Sizes read_sizes(const Config& config, const Limits& limits) {
  Sizes sizes{};
  sizes.vocabulary = config.count("vocab_size", most_vocabulary);
  sizes.positions = config.count("max_position_embeddings", most_vocabulary);
  sizes.types = config.count_or("type_vocab_size", most_vocabulary, 2);
  sizes.width = config.count("hidden_size", most_width);
  sizes.inner_width = config.count("intermediate_size", most_width);
  sizes.heads = config.count("num_attention_heads", most_width);
  sizes.layers = config.count("num_hidden_layers", most_layers(limits));
  sizes.epsilon = config.positive_or("layer_norm_eps", 1e-12);
  if (sizes.width % sizes.heads != 0) {
    fail(ErrorCode::mismatch, config.member("hidden_size"), " is ", sizes.width,
         ", no multiple of num_attention_heads, ", sizes.heads);
  }
  config.require_text("position_embedding_type", "absolute");
  config.require_absent("is_decoder");
  config.require_absent("add_cross_attention");
  return sizes;
}

// Of the labels that the config names; two where it names none, as in PyTorch.
std::int64_t count_labels(const Config& config) {
  const graph::JsonValue* labels = config.find("id2label");
  if (labels != nullptr && !labels->items.empty()) return std::ssize(labels->items);
  return config.count_or("num_labels", most_vocabulary, 2);
}

class Bert {
 public:
  Bert(Network& network, const Config& config, const Sizes& sizes, std::string prefix)
      : n_(network), config_(config), s_(sizes), prefix_(std::move(prefix)) {
    ids_ = n_.input("input_ids", DType::int64, {"batch", "sequence"});
    const std::string mask = n_.input("attention_mask", DType::int64, {"batch", "sequence"});
    types_ = n_.input("token_type_ids", DType::int64, {"batch", "sequence"});
    const std::string real =
        n_.node("Cast", {mask}, {{"to", static_cast<std::int64_t>(DType::boolean)}});
    mask_ = n_.node("Unsqueeze", {real, n_.integers({1, 2})});
  }

  // The last hidden state, called `name` unless that is empty.
  std::string body(const std::string& name) {
    std::string x = embeddings();
    for (std::int64_t i = 0; i < s_.layers; ++i) x = layer(x, cat(prefix_, "encoder.layer.", i));
    return name.empty() ? x : n_.named("Identity", {x}, name);
  }
  std::string pooled(const std::string& x) {
    const std::string first = n_.node("Gather", {x, n_.integer(0)}, {{"axis", std::int64_t{1}}});
    return n_.node("Tanh", {n_.linear(first, prefix_ + "pooler.dense", s_.width, s_.width, true)});
  }
  bool has_pooler() { return n_.weights().has(prefix_ + "pooler.dense.weight"); }
  std::string token_scores(const std::string& x) {
    const std::string head = "cls.predictions";
    const std::string inner =
        active(n_.linear(x, head + ".transform.dense", s_.width, s_.width, true));
    const std::string y = norm(inner, head + ".transform.LayerNorm");
    const bool is_tied = config_.flag_or("tie_word_embeddings", true);
    const std::string scores =
        is_tied ? n_.tied_scores(y, table())
                : n_.linear(y, head + ".decoder", s_.width, s_.vocabulary, false);
    const std::string decoder_bias = head + ".decoder.bias";
    const bool has_own = !is_tied && n_.weights().has(decoder_bias);
    return n_.add(scores, n_.weight(has_own ? decoder_bias : head + ".bias", {s_.vocabulary}));
  }

 private:
  std::string table() {
    return n_.weight(prefix_ + "embeddings.word_embeddings.weight", {s_.vocabulary, s_.width});
  }
  std::string norm(const std::string& x, const std::string& module) {
    return n_.layer_norm(x, module, s_.width, s_.epsilon);
  }
  std::string active(const std::string& x) {
    return n_.activation(x, config_.text_or("hidden_act", "gelu"), config_.member("hidden_act"));
  }

  std::string embeddings() {
    const std::string module = prefix_ + "embeddings.";
    const std::string places = n_.range(n_.integer(0), n_.size_of_dim(ids_, 1));
    const std::string words = n_.embedding(ids_, table());
    const std::string types = n_.embedding(
        types_, n_.weight(module + "token_type_embeddings.weight", {s_.types, s_.width}));
    const std::string positions = n_.embedding(
        places, n_.weight(module + "position_embeddings.weight", {s_.positions, s_.width}));
    return norm(n_.add(n_.add(words, types), positions), module + "LayerNorm");
  }

  std::string layer(const std::string& x, const std::string& module) {
    const auto square = [&](const std::string& value, const std::string& name) {
      return n_.linear(value, module + name, s_.width, s_.width, true);
    };
    const std::string q = square(x, ".attention.self.query");
    const std::string k = square(x, ".attention.self.key");
    const std::string v = square(x, ".attention.self.value");
    const double head_size = static_cast<double>(s_.width) / static_cast<double>(s_.heads);
    const std::string seen = n_.node("Attention", {q, k, v, mask_},
                                     {{"q_num_heads", s_.heads},
                                      {"kv_num_heads", s_.heads},
                                      {"scale", static_cast<float>(1 / std::sqrt(head_size))}});
    const std::string attended = norm(n_.add(square(seen, ".attention.output.dense"), x),
                                      module + ".attention.output.LayerNorm");
    const std::string inner =
        active(n_.linear(attended, module + ".intermediate.dense", s_.width, s_.inner_width, true));
    const std::string outer =
        n_.linear(inner, module + ".output.dense", s_.inner_width, s_.width, true);
    return norm(n_.add(outer, attended), module + ".output.LayerNorm");
  }

  Network& n_;
  const Config& config_;
  Sizes s_;
  std::string prefix_, ids_, types_, mask_;
};

bool knows(const std::string& architecture) {
  return architecture == "BertModel" || architecture == "BertForMaskedLM" ||
         architecture == "BertForSequenceClassification" ||
         architecture == "BertForTokenClassification";
}

void write_model(Network& network, const Config& config, const Sizes& sizes) {
  network.weights().set_added_prefix(std::string(with_prefix));
  Bert bert(network, config, sizes, {});
  const std::string x = bert.body("last_hidden_state");
  network.output(x, {"batch", "sequence", sizes.width});
  // Folders of sentence embeddings may lack the pooler, which they do not use.
  if (!bert.has_pooler()) return;
  network.named("Identity", {bert.pooled(x)}, "pooler_output");
  network.output("pooler_output", {"batch", sizes.width});
}

void write(Network& network, const Config& config, const WriteOptions& options) {
  const Sizes sizes = read_sizes(config, *options.limits);
  const std::string& architecture = options.architecture;
  if (architecture == "BertModel") return write_model(network, config, sizes);
  Bert bert(network, config, sizes, std::string(with_prefix));
  std::string scores = bert.body({});
  const std::int64_t labels = count_labels(config);
  if (architecture == "BertForMaskedLM") {
    network.named("Identity", {bert.token_scores(scores)}, "logits");
    return network.output("logits", {"batch", "sequence", sizes.vocabulary});
  }
  const bool of_tokens = architecture == "BertForTokenClassification";
  if (!of_tokens) scores = bert.pooled(scores);
  network.named("Identity", {network.linear(scores, "classifier", sizes.width, labels, true)},
                "logits");
  if (of_tokens) return network.output("logits", {"batch", "sequence", labels});
  network.output("logits", {"batch", labels});
}

// Heads that other architectures have: those of pre-training in the folder of an encoder, the
// pooler in that of a masked language model.
bool is_left_out(const Config&, std::string_view tensor) {
  return tensor.ends_with("embeddings.position_ids") || tensor.starts_with("cls.") ||
         tensor.find("pooler.dense.") != std::string_view::npos;
}

}  // namespace

const Family bert{knows, false, write, is_left_out};

}  // namespace ondine::hugging_face
