#include "trainer/hugging_face/encoder_traits.h"

#include "core/message.h"
#include "trainer/hugging_face/decoder_traits.h"

namespace ondine::hugging_face {
namespace {

void require_whole_heads(const Config& config, const char* width, const char* heads,
                         const EncoderTraits& traits) {
  if (traits.width % traits.heads == 0) return;
  fail(ErrorCode::mismatch, config.member(width), " is ", traits.width, ", no multiple of ",
       std::string_view(heads), ", ", traits.heads);
}

std::int64_t padding_of(const Config& config, std::int64_t absent) {
  const std::int64_t id = config.integer("pad_token_id").value_or(absent);
  if (id >= 0 && id < most_vocabulary) return id;
  fail(ErrorCode::corrupt, config.member("pad_token_id"), " is ", id, ", needed is a token");
}

}  // namespace

EncoderTraits read_bert_traits(const Config& config, const Limits& limits) {
  EncoderTraits traits;
  traits.vocabulary = config.count("vocab_size", most_vocabulary);
  traits.positions = config.count("max_position_embeddings", most_vocabulary);
  traits.types = config.count_or("type_vocab_size", most_vocabulary, 2);
  traits.width = config.count("hidden_size", most_width);
  traits.inner_width = config.count("intermediate_size", most_width);
  traits.heads = config.count("num_attention_heads", most_width);
  traits.layers = config.count("num_hidden_layers", most_layers(limits));
  traits.padding = padding_of(config, 0);
  traits.epsilon = config.positive_or("layer_norm_eps", 1e-12);
  traits.activation = config.text_or("hidden_act", "gelu");
  traits.activation_member = config.member("hidden_act");
  traits.is_tied = config.flag_or("tie_word_embeddings", true);
  require_whole_heads(config, "hidden_size", "num_attention_heads", traits);
  config.require_text("position_embedding_type", "absolute");
  config.require_absent("is_decoder");
  config.require_absent("add_cross_attention");
  traits.prefix = "bert.";
  traits.layer = "encoder.layer.";
  traits.query = ".attention.self.query";
  traits.key = ".attention.self.key";
  traits.value = ".attention.self.value";
  traits.attended = ".attention.output.dense";
  traits.attended_norm = ".attention.output.LayerNorm";
  traits.inner = ".intermediate.dense";
  traits.outer = ".output.dense";
  traits.outer_norm = ".output.LayerNorm";
  return traits;
}

EncoderTraits read_roberta_traits(const Config& config, const Limits& limits) {
  EncoderTraits traits = read_bert_traits(config, limits);
  traits.prefix = "roberta.";
  traits.counts_tokens = true;
  traits.padding = padding_of(config, 1);
  return traits;
}

EncoderTraits read_distilbert_traits(const Config& config, const Limits& limits) {
  EncoderTraits traits;
  traits.vocabulary = config.count("vocab_size", most_vocabulary);
  traits.positions = config.count("max_position_embeddings", most_vocabulary);
  traits.width = config.count("dim", most_width);
  traits.inner_width = config.count("hidden_dim", most_width);
  traits.heads = config.count("n_heads", most_width);
  traits.layers = config.count("n_layers", most_layers(limits));
  traits.padding = padding_of(config, 0);
  traits.activation = config.text_or("activation", "gelu");
  traits.activation_member = config.member("activation");
  traits.is_tied = config.flag_or("tie_word_embeddings", true);
  require_whole_heads(config, "dim", "n_heads", traits);
  traits.prefix = "distilbert.";
  traits.layer = "transformer.layer.";
  traits.query = ".attention.q_lin";
  traits.key = ".attention.k_lin";
  traits.value = ".attention.v_lin";
  traits.attended = ".attention.out_lin";
  traits.attended_norm = ".sa_layer_norm";
  traits.inner = ".ffn.lin1";
  traits.outer = ".ffn.lin2";
  traits.outer_norm = ".output_layer_norm";
  return traits;
}

}  // namespace ondine::hugging_face
