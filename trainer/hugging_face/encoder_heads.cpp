// Encoders alone, and with the heads of masked language modelling and of classification.
#include <algorithm>
#include <array>

#include "core/message.h"
#include "trainer/hugging_face/decoder_traits.h"
#include "trainer/hugging_face/encoder.h"
#include "trainer/hugging_face/families.h"

namespace ondine::hugging_face {
namespace {

enum class EncoderKind : std::uint8_t { bert, roberta, distilbert };

constexpr std::array<std::pair<std::string_view, EncoderKind>, 4> kinds{{
    {"Bert", EncoderKind::bert},
    {"Roberta", EncoderKind::roberta},
    {"XLMRoberta", EncoderKind::roberta},
    {"DistilBert", EncoderKind::distilbert},
}};
constexpr std::array<std::string_view, 4> heads{"Model", "ForMaskedLM", "ForSequenceClassification",
                                                "ForTokenClassification"};

struct Parts {
  EncoderKind kind;
  std::string_view head;
};

std::optional<Parts> parts_of(std::string_view architecture) {
  for (const auto& [name, kind] : kinds) {
    if (!architecture.starts_with(name)) continue;
    const std::string_view rest = architecture.substr(name.size());
    const auto head = std::ranges::find(heads, rest);
    if (head != heads.end()) return Parts{kind, *head};
  }
  return {};
}

EncoderTraits read_traits(EncoderKind kind, const Config& config, const Limits& limits) {
  switch (kind) {
    case EncoderKind::bert:
      return read_bert_traits(config, limits);
    case EncoderKind::roberta:
      return read_roberta_traits(config, limits);
    case EncoderKind::distilbert:
      break;
  }
  return read_distilbert_traits(config, limits);
}

// Number of labels that the config names; two if it names none, as in PyTorch.
std::int64_t count_labels(const Config& config) {
  const graph::JsonValue* labels = config.find("id2label");
  if (labels != nullptr && !labels->items.empty()) return std::ssize(labels->items);
  return config.count_or("num_labels", most_vocabulary, 2);
}

// A head's modules of masked language modelling.
struct TokenHead {
  const char *inner, *norm, *scores, *bias;
};

TokenHead token_head(EncoderKind kind) {
  switch (kind) {
    case EncoderKind::bert:
      return {"cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm",
              "cls.predictions.decoder", "cls.predictions.bias"};
    case EncoderKind::roberta:
      return {"lm_head.dense", "lm_head.layer_norm", "lm_head.decoder", "lm_head.bias"};
    case EncoderKind::distilbert:
      break;
  }
  return {"vocab_transform", "vocab_layer_norm", "vocab_projector", "vocab_projector.bias"};
}

class Heads {
 public:
  Heads(Network& network, const Config& config, EncoderKind kind, const EncoderTraits& traits,
        Encoder& encoder)
      : n_(network), config_(config), kind_(kind), t_(traits), encoder_(encoder) {}

  void write_states(const SentenceModules* sentence, bool pairs) {
    if (pairs) return write_pairs(*sentence);
    const std::string x = n_.named("Identity", {encoder_.write()}, "last_hidden_state");
    if (sentence != nullptr) write_sentences(*sentence, x);
    n_.output(x, {"batch", "sequence", t_.width});
    // Folders of sentence embeddings may lack the pooler, which they do not use.
    if (!n_.weights().has("pooler.dense.weight")) return;
    n_.named("Identity", {pooled(x, "")}, "pooler_output");
    n_.output("pooler_output", {"batch", t_.width});
  }

  void write_token_scores() {
    const TokenHead head = token_head(kind_);
    const std::string inner = encoder_.linear(encoder_.write(), head.inner, t_.width);
    const std::string active =
        kind_ == EncoderKind::roberta ? n_.activation(inner, "gelu", {}) : encoder_.active(inner);
    const std::string y = encoder_.norm(active, head.norm);
    const std::string scores = t_.is_tied
                                   ? n_.tied_scores(y, encoder_.table())
                                   : n_.linear(y, head.scores, t_.width, t_.vocabulary, false);
    const std::string own = cat(std::string_view(head.scores), ".bias");
    const std::string bias = !t_.is_tied && n_.weights().has(own) ? own : head.bias;
    n_.named("Add", {scores, n_.weight(bias, {t_.vocabulary})}, "logits");
    n_.output("logits", {"batch", "sequence", t_.vocabulary});
  }

  void write_classes(bool of_tokens) {
    const std::int64_t labels = count_labels(config_);
    std::string x = encoder_.write();
    if (!of_tokens) x = summary(x);
    const bool is_out = kind_ == EncoderKind::roberta && !of_tokens;
    const std::string module = is_out ? "classifier.out_proj" : "classifier";
    n_.named("Identity", {encoder_.linear(x, module, labels)}, "logits");
    if (of_tokens) return n_.output("logits", {"batch", "sequence", labels});
    n_.output("logits", {"batch", labels});
  }

 private:
  std::string embeddings(const SentenceModules& sentence, const std::string& states) {
    if (sentence.width != 0 && sentence.width != t_.width) {
      fail(ErrorCode::mismatch, "the pooling of modules.json reads ", sentence.width,
           " features, the encoder gives ", t_.width);
    }
    return pool_sentences(n_, sentence, states, encoder_.real());
  }
  void write_sentences(const SentenceModules& sentence, const std::string& states) {
    n_.named("Identity", {embeddings(sentence, states)}, "sentence_embedding");
    n_.output("sentence_embedding", {"batch", t_.width});
  }
  // The first half of the rows are the first texts.
  void write_pairs(const SentenceModules& sentence) {
    const std::vector<std::string> names{"sentence_embedding", "sentence_embedding_pair"};
    n_.nodes("Split", {embeddings(sentence, encoder_.write())}, names,
             {{"axis", std::int64_t{0}}, {"num_outputs", std::int64_t{2}}});
    for (const std::string& name : names) n_.output(name, {"batch", t_.width});
  }
  std::string pooled(const std::string& x, const std::string& prefix) {
    return n_.node("Tanh",
                   {encoder_.linear(encoder_.first_token(x), prefix + "pooler.dense", t_.width)});
  }
  // Summary of a row, by which it is classified.
  std::string summary(const std::string& x) {
    if (kind_ == EncoderKind::bert) return pooled(x, t_.prefix);
    const std::string first = encoder_.first_token(x);
    return kind_ == EncoderKind::roberta
               ? n_.node("Tanh", {encoder_.linear(first, "classifier.dense", t_.width)})
               : n_.node("Relu", {encoder_.linear(first, "pre_classifier", t_.width)});
  }

  Network& n_;
  const Config& config_;
  EncoderKind kind_;
  const EncoderTraits& t_;
  Encoder& encoder_;
};

bool knows_encoder(const std::string& architecture) { return parts_of(architecture).has_value(); }

void write_encoder(Network& network, const Config& config, const WriteOptions& options) {
  const Parts parts = *parts_of(options.architecture);
  const EncoderTraits traits = read_traits(parts.kind, config, *options.limits);
  const bool is_alone = parts.head == "Model";
  if (is_alone) network.weights().set_added_prefix(traits.prefix);
  Encoder encoder(network, traits, is_alone ? std::string() : traits.prefix, options.ids_only,
                  options.pairs);
  Heads head(network, config, parts.kind, traits, encoder);
  if (is_alone) return head.write_states(options.sentence, options.pairs);
  if (parts.head == "ForMaskedLM") return head.write_token_scores();
  head.write_classes(parts.head == "ForTokenClassification");
}

// Heads that other architectures have: those of pre-training in the folder of an encoder, the
// pooler in that of a masked language model. A tied head is the table.
bool is_left_out_of_encoder(const Config&, std::string_view tensor) {
  constexpr std::array<std::string_view, 5> begins{"cls.", "lm_head.", "vocab_transform.",
                                                   "vocab_layer_norm.", "vocab_projector."};
  return tensor.ends_with("embeddings.position_ids") ||
         tensor.find("pooler.dense.") != std::string_view::npos ||
         std::ranges::any_of(begins,
                             [&](std::string_view begin) { return tensor.starts_with(begin); });
}

// Positions that count tokens begin behind that of padding.
DataRecord::Context context_of_encoder(const Config& config, const std::string& architecture) {
  const char* name = "max_position_embeddings";
  std::int64_t tokens = config.count(name, most_vocabulary);
  if (parts_of(architecture)->kind == EncoderKind::roberta) {
    tokens -= config.integer("pad_token_id").value_or(1) + 1;
  }
  return {std::max<std::int64_t>(tokens, 0), config.member(name)};
}

}  // namespace

const Family encoders{knows_encoder, false, write_encoder, is_left_out_of_encoder,
                      context_of_encoder};

}  // namespace ondine::hugging_face
