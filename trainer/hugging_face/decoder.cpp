// Decoders with rotary positions and RMS normalization, by their traits.
#include <optional>

#include "core/message.h"
#include "trainer/hugging_face/decoder_traits.h"
#include "trainer/hugging_face/families.h"
#include "trainer/hugging_face/sequence.h"

namespace ondine::hugging_face {
namespace {

class Decoder {
 public:
  Decoder(Network& network, const DecoderTraits& traits, bool cache)
      : n_(network),
        t_(traits),
        attention_(attention_of(traits)),
        sequence_(network, cache, std::ssize(traits.layers), attention_) {}

  void write() {
    const std::string table = n_.weight("model.embed_tokens.weight", {t_.vocabulary, t_.width});
    write_rotations();
    std::string x = n_.scaled(n_.embedding(sequence_.ids(), table), t_.embedding_scale);
    for (std::size_t i = 0; i < t_.layers.size(); ++i) {
      x = layer(x, cat("model.layers.", i), t_.layers[i]);
    }
    x = norm(x, "model.norm", t_.width);
    std::string scores = t_.is_tied ? n_.tied_scores(x, table)
                                    : n_.linear(x, "lm_head", t_.width, t_.vocabulary, false);
    if (t_.score_softcap > 0) {
      const std::string small = n_.node("Tanh", {n_.scaled(scores, 1 / t_.score_softcap)});
      scores = n_.scaled(small, t_.score_softcap);
    }
    sequence_.write_outputs(scores, t_.vocabulary);
  }

 private:
  struct Rotation {
    std::string cos, sin;  // [batch, sequence, half of the elements that turn]
  };

  static AttentionTraits attention_of(const DecoderTraits& t) {
    return {t.heads, t.kv_heads, t.head_size, t.attention_scale, t.attention_softcap, 0};
  }

  void write_rotations() {
    const std::string numbers = n_.node("Cast", {sequence_.positions()},
                                        {{"to", static_cast<std::int64_t>(DType::float32)}});
    const std::string column = n_.node("Unsqueeze", {numbers, n_.integers({2})});
    for (std::size_t i = 0; i < t_.frequencies.size(); ++i) {
      const std::string name = i == 0 ? "rotary_emb.inv_freq" : "rotary_emb_local.inv_freq";
      const std::string angles = n_.node("Mul", {column, n_.constant(name, t_.frequencies[i])});
      rotations_.push_back({n_.node("Cos", {angles}), n_.node("Sin", {angles})});
    }
  }

  std::string norm(const std::string& x, const std::string& module, std::int64_t width) {
    std::string scale = n_.weight(module + ".weight", {width});
    if (t_.norms_add_one) scale = n_.add(scale, n_.number(1));
    return n_.node("RMSNormalization", {x, scale},
                   {{"axis", std::int64_t{-1}}, {"epsilon", static_cast<float>(t_.epsilon)}});
  }

  std::string layer(const std::string& x, const std::string& module,
                    const DecoderTraits::Layer& layer) {
    std::string attended =
        attention(norm(x, module + ".input_layernorm", t_.width), module + ".self_attn", layer);
    const std::string after = module + ".post_attention_layernorm";
    if (t_.has_outer_norms) attended = norm(attended, after, t_.width);
    const std::string middle = n_.add(x, attended);
    const std::string before = t_.has_outer_norms ? module + ".pre_feedforward_layernorm" : after;
    std::string fed = feed_forward(norm(middle, before, t_.width), module + ".mlp");
    if (t_.has_outer_norms) fed = norm(fed, module + ".post_feedforward_layernorm", t_.width);
    return n_.add(middle, fed);
  }

  std::string attention(const std::string& x, const std::string& module,
                        const DecoderTraits::Layer& layer) {
    const std::int64_t all = t_.heads * t_.head_size;
    const std::int64_t shared = t_.kv_heads * t_.head_size;
    std::string q, k, v;
    if (t_.is_fused) {
      const std::string packed =
          n_.linear(x, module + ".qkv_proj", t_.width, all + 2 * shared, t_.qkv_bias);
      const auto parts = n_.nodes("Split", {packed, n_.integers({all, shared, shared})},
                                  {"queries", "keys", "values"}, {{"axis", std::int64_t{-1}}});
      q = parts[0], k = parts[1], v = parts[2];
    } else {
      q = n_.linear(x, module + ".q_proj", t_.width, all, t_.qkv_bias);
      k = n_.linear(x, module + ".k_proj", t_.width, shared, t_.qkv_bias);
      v = n_.linear(x, module + ".v_proj", t_.width, shared, t_.qkv_bias);
    }
    if (t_.has_head_norms) {
      q = head_norm(q, module + ".q_norm", t_.heads);
      k = head_norm(k, module + ".k_norm", t_.kv_heads);
    }
    q = turned(q, t_.heads, rotations_[layer.rotation]);
    k = turned(k, t_.kv_heads, rotations_[layer.rotation]);
    AttentionTraits traits = attention_;
    traits.window = layer.window;
    return n_.linear(sequence_.attend(q, k, v, traits), module + ".o_proj", all, t_.width,
                     t_.output_bias);
  }

  std::string head_norm(const std::string& x, const std::string& module, std::int64_t heads) {
    const std::string split = n_.node("Reshape", {x, n_.integers({0, 0, heads, t_.head_size})});
    return n_.node("Reshape",
                   {norm(split, module, t_.head_size), n_.integers({0, 0, heads * t_.head_size})});
  }

  std::string turned(const std::string& x, std::int64_t heads, const Rotation& rotation) {
    graph::Attributes attributes{{"num_heads", heads}};
    if (t_.rotary_size != t_.head_size) {
      attributes.emplace_back("rotary_embedding_dim", t_.rotary_size);
    }
    return n_.node("RotaryEmbedding", {x, rotation.cos, rotation.sin}, std::move(attributes));
  }

  std::string feed_forward(const std::string& x, const std::string& module) {
    std::string gate, up;
    if (t_.is_fused) {
      const std::string packed =
          n_.linear(x, module + ".gate_up_proj", t_.width, 2 * t_.inner_width, false);
      const auto parts = n_.nodes("Split", {packed, n_.integers({t_.inner_width, t_.inner_width})},
                                  {"gate", "up"}, {{"axis", std::int64_t{-1}}});
      gate = parts[0], up = parts[1];
    } else {
      gate = n_.linear(x, module + ".gate_proj", t_.width, t_.inner_width, t_.feed_forward_bias);
      up = n_.linear(x, module + ".up_proj", t_.width, t_.inner_width, t_.feed_forward_bias);
    }
    const std::string opened = n_.activation(gate, t_.activation, t_.activation_member);
    return n_.linear(n_.node("Mul", {opened, up}), module + ".down_proj", t_.inner_width, t_.width,
                     t_.feed_forward_bias);
  }

  Network& n_;
  const DecoderTraits& t_;
  AttentionTraits attention_;
  Sequence sequence_;
  std::vector<Rotation> rotations_;
};

void write_decoder(Network& network, const Config& config, const WriteOptions& options) {
  const DecoderTraits traits = read_decoder_traits(options.architecture, config, *options.limits);
  Decoder(network, traits, options.cache).write();
}

bool is_left_out_of_decoder(const Config&, std::string_view tensor) {
  // A head that is tied to the table is that, whatever the file says of it.
  return tensor.ends_with("rotary_emb.inv_freq") || tensor == "lm_head.weight";
}

// Rotary positions have no end; beyond this length the network has not learned.
DataRecord::Context context_of_decoder(const Config& config, const std::string&) {
  const char* name = "max_position_embeddings";
  if (!config.has(name)) return {};
  return {config.count(name, std::int64_t{1} << 40), config.member(name), false};
}

}  // namespace

const Family rotary_decoders{is_decoder_architecture, true, write_decoder, is_left_out_of_decoder,
                             context_of_decoder};

}  // namespace ondine::hugging_face
