// GPT-2: learned positions, layer normalization, weights as [in, out].
#include <cmath>

#include "core/message.h"
#include "trainer/hugging_face/decoder_traits.h"
#include "trainer/hugging_face/families.h"
#include "trainer/hugging_face/sequence.h"

namespace ondine::hugging_face {
namespace {

struct Sizes {
  std::int64_t vocabulary, positions, width, inner_width, heads, layers;
};

Sizes read_sizes(const Config& config, const Limits& limits) {
  Sizes sizes{};
  sizes.vocabulary = config.count("vocab_size", most_vocabulary);
  sizes.positions = config.count("n_positions", most_vocabulary);
  sizes.width = config.count("n_embd", most_width);
  sizes.inner_width = config.count_or("n_inner", most_width, 4 * sizes.width);
  sizes.heads = config.count("n_head", most_width);
  sizes.layers = config.count("n_layer", most_layers(limits));
  if (sizes.width % sizes.heads != 0) {
    fail(ErrorCode::mismatch, config.member("n_embd"), " is ", sizes.width,
         ", no multiple of n_head, ", sizes.heads);
  }
  config.require_absent("add_cross_attention");
  return sizes;
}

class Gpt2 {
 public:
  Gpt2(Network& network, const Config& config, const Sizes& sizes, bool cache)
      : n_(network),
        config_(config),
        sizes_(sizes),
        epsilon_(config.positive_or("layer_norm_epsilon", 1e-5)),
        attention_{sizes.heads, sizes.heads, sizes.width / sizes.heads},
        sequence_(network, cache, sizes.layers, attention_) {
    const bool scales = config.flag_or("scale_attn_weights", true);
    attention_.scale = scales ? 1 / std::sqrt(static_cast<double>(attention_.head_size)) : 1;
  }

  void write() {
    const std::string table =
        n_.weight("transformer.wte.weight", {sizes_.vocabulary, sizes_.width});
    const std::string places =
        n_.weight("transformer.wpe.weight", {sizes_.positions, sizes_.width});
    std::string x =
        n_.add(n_.embedding(sequence_.ids(), table), n_.embedding(sequence_.places(), places));
    for (std::int64_t i = 0; i < sizes_.layers; ++i) x = layer(x, i);
    x = n_.layer_norm(x, "transformer.ln_f", sizes_.width, epsilon_);
    const bool is_tied = config_.flag_or("tie_word_embeddings", true);
    sequence_.write_outputs(is_tied
                                ? n_.tied_scores(x, table)
                                : n_.linear(x, "lm_head", sizes_.width, sizes_.vocabulary, false),
                            sizes_.vocabulary);
  }

 private:
  std::string layer(const std::string& x, std::int64_t index) {
    const std::string module = cat("transformer.h.", index);
    const std::string normed = n_.layer_norm(x, module + ".ln_1", sizes_.width, epsilon_);
    const std::string packed =
        n_.conv1d(normed, module + ".attn.c_attn", sizes_.width, 3 * sizes_.width);
    const auto parts =
        n_.nodes("Split", {packed, n_.integers({sizes_.width, sizes_.width, sizes_.width})},
                 {"queries", "keys", "values"}, {{"axis", std::int64_t{-1}}});
    AttentionTraits attention = attention_;
    if (config_.flag_or("scale_attn_by_inverse_layer_idx", false)) {
      attention.scale /= static_cast<double>(index + 1);
    }
    const std::string attended = sequence_.attend(parts[0], parts[1], parts[2], attention);
    const std::string middle =
        n_.add(x, n_.conv1d(attended, module + ".attn.c_proj", sizes_.width, sizes_.width));
    const std::string inner =
        n_.conv1d(n_.layer_norm(middle, module + ".ln_2", sizes_.width, epsilon_),
                  module + ".mlp.c_fc", sizes_.width, sizes_.inner_width);
    const std::string active =
        n_.activation(inner, config_.text_or("activation_function", "gelu_new"),
                      config_.member("activation_function"));
    return n_.add(middle,
                  n_.conv1d(active, module + ".mlp.c_proj", sizes_.inner_width, sizes_.width));
  }

  Network& n_;
  const Config& config_;
  Sizes sizes_;
  double epsilon_;
  AttentionTraits attention_;
  Sequence sequence_;
};

bool knows_gpt2(const std::string& architecture) { return architecture == "GPT2LMHeadModel"; }

void write_gpt2(Network& network, const Config& config, const WriteOptions& options) {
  network.weights().set_prefix("transformer.");
  Gpt2(network, config, read_sizes(config, *options.limits), options.cache).write();
}

bool is_left_out_of_gpt2(const Config&, std::string_view tensor) {
  return tensor.ends_with(".attn.bias") || tensor.ends_with(".attn.masked_bias") ||
         tensor == "lm_head.weight";
}

DataRecord::Context context_of_gpt2(const Config& config, const std::string&) {
  return {config.count("n_positions", most_vocabulary), config.member("n_positions")};
}

}  // namespace

const Family gpt2{knows_gpt2, true, write_gpt2, is_left_out_of_gpt2, context_of_gpt2};

}  // namespace ondine::hugging_face
