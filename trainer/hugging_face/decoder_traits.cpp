#include "trainer/hugging_face/decoder_traits.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include "core/message.h"
#include "trainer/hugging_face/rotary.h"

namespace ondine::hugging_face {
namespace {

enum class DecoderFamily : std::uint8_t { llama, mistral, qwen2, qwen3, phi3, gemma2, gemma3 };

struct Architecture {
  std::string_view name;
  DecoderFamily family;
};

constexpr std::array<Architecture, 7> architectures{{
    {"LlamaForCausalLM", DecoderFamily::llama},
    {"MistralForCausalLM", DecoderFamily::mistral},
    {"Qwen2ForCausalLM", DecoderFamily::qwen2},
    {"Qwen3ForCausalLM", DecoderFamily::qwen3},
    {"Phi3ForCausalLM", DecoderFamily::phi3},
    {"Gemma2ForCausalLM", DecoderFamily::gemma2},
    {"Gemma3ForCausalLM", DecoderFamily::gemma3},
}};

constexpr std::string_view full = "full_attention";
constexpr std::string_view sliding = "sliding_attention";
// A window that hides nothing a position could see, and that 64-bit positions never reach.
constexpr std::int64_t most_window = std::int64_t{1} << 40;
constexpr std::int64_t nodes_of_a_layer = 64;

bool is_gemma(DecoderFamily family) {
  return family == DecoderFamily::gemma2 || family == DecoderFamily::gemma3;
}

// Window that config.json leaves out, since it is the family's default.
std::optional<std::int64_t> default_window(DecoderFamily family) {
  if (family == DecoderFamily::phi3 || family == DecoderFamily::llama) return {};
  return 4096;
}

std::optional<std::int64_t> window_of(DecoderFamily family, const Config& config) {
  const bool may_slide = family != DecoderFamily::llama &&
                         ((family != DecoderFamily::qwen2 && family != DecoderFamily::qwen3) ||
                          config.flag_or("use_sliding_window", false));
  if (!may_slide) return {};
  if (!config.mentions("sliding_window")) return default_window(family);
  if (!config.has("sliding_window")) return {};
  return config.count("sliding_window", most_window);
}

// Whether a layer's attention slides, where config.json does not list the kinds.
bool slides(DecoderFamily family, const Config& config, std::int64_t layer) {
  switch (family) {
    case DecoderFamily::gemma2:
      return layer % 2 == 0;
    case DecoderFamily::gemma3:
      return (layer + 1) % config.count_or("sliding_window_pattern", most_window, 6) != 0;
    case DecoderFamily::qwen2:
    case DecoderFamily::qwen3:
      return layer >= config.integer("max_window_layers").value_or(28);
    default:
      return true;
  }
}

// Llama, Mistral and Phi-3 do not read layer_types.
bool reads_layer_types(DecoderFamily family) {
  return is_gemma(family) || family == DecoderFamily::qwen2 || family == DecoderFamily::qwen3;
}

std::vector<std::string> kinds_of_layers(DecoderFamily family, const Config& config,
                                         std::int64_t layers, bool has_window) {
  std::vector<std::string> kinds;
  if (reads_layer_types(family)) kinds = config.texts("layer_types");
  if (!kinds.empty() && std::ssize(kinds) != layers) {
    fail(ErrorCode::mismatch, config.member("layer_types"), " has ", kinds.size(),
         " entries, needed: ", layers);
  }
  for (const std::string& kind : kinds) {
    if (kind == full || (kind == sliding && has_window)) continue;
    fail(ErrorCode::unsupported, config.member("layer_types"), " has ", quoted(kind),
         has_window ? "" : " without a sliding_window", "; supported are full_attention and ",
         "sliding_attention");
  }
  for (std::int64_t i = std::ssize(kinds); i < layers; ++i) {
    kinds.emplace_back(has_window && slides(family, config, i) ? sliding : full);
  }
  return kinds;
}

void read_layers(DecoderFamily family, const Config& config, std::int64_t layers,
                 DecoderTraits& traits) {
  const std::optional<std::int64_t> window = window_of(family, config);
  const bool has_two_rotations = family == DecoderFamily::gemma3;
  const std::string first(full);
  if (has_two_rotations) {
    for (const std::string_view kind : {full, sliding}) {
      traits.frequencies.push_back(
          rotary_frequencies(rotary_config_of(config, std::string(kind)), traits.rotary_size));
    }
  } else {
    traits.frequencies.push_back(
        rotary_frequencies(rotary_config(config, 10'000), traits.rotary_size));
  }
  for (const std::string& kind : kinds_of_layers(family, config, layers, window.has_value())) {
    const bool is_sliding = kind == sliding;
    traits.layers.push_back({is_sliding ? *window : 0, has_two_rotations && is_sliding ? 1U : 0U});
  }
}

void read_sizes(DecoderFamily family, const Config& config, DecoderTraits& traits) {
  traits.vocabulary = config.count("vocab_size", most_vocabulary);
  traits.width = config.count("hidden_size", most_width);
  traits.inner_width = config.count("intermediate_size", most_width);
  traits.heads = config.count("num_attention_heads", most_width);
  traits.kv_heads = config.count_or("num_key_value_heads", most_width, traits.heads);
  if (traits.heads % traits.kv_heads != 0) {
    fail(ErrorCode::mismatch, config.member("num_attention_heads"), " is ", traits.heads,
         ", no multiple of num_key_value_heads, ", traits.kv_heads);
  }
  if (config.has("head_dim") && family != DecoderFamily::phi3) {
    traits.head_size = config.count("head_dim", most_width);
  } else if (is_gemma(family)) {
    traits.head_size = 256;
  } else if (family == DecoderFamily::qwen3) {
    traits.head_size = 128;
  } else if (traits.width % traits.heads == 0) {
    traits.head_size = traits.width / traits.heads;
  } else {
    fail(ErrorCode::mismatch, config.member("hidden_size"), " is ", traits.width,
         ", no multiple of num_attention_heads, ", traits.heads);
  }
  double part = config.positive_or("partial_rotary_factor", 1);
  if (const std::optional<Config> rotary = config.object("rope_parameters")) {
    part = rotary->positive_or("partial_rotary_factor", part);
  }
  if (family != DecoderFamily::phi3 && part != 1) {
    fail(ErrorCode::unsupported, config.member("partial_rotary_factor"), " is not supported here");
  }
  traits.rotary_size =
      static_cast<std::int64_t>(static_cast<double>(traits.head_size) * std::min(part, 1.0));
  if (traits.rotary_size < 2 || traits.rotary_size % 2 != 0) {
    fail(ErrorCode::mismatch, "rotary positions turn ", traits.rotary_size,
         " elements of a head, needed is an even number");
  }
}

void read_gemma(DecoderFamily family, const Config& config, DecoderTraits& traits) {
  config.require_absent("use_bidirectional_attention");
  traits.norms_add_one = traits.has_outer_norms = true;
  traits.has_head_norms = family == DecoderFamily::gemma3;
  traits.embedding_scale = std::sqrt(static_cast<double>(traits.width));
  const double scalar = config.positive_or("query_pre_attn_scalar", 256);
  traits.attention_scale = 1 / std::sqrt(scalar);
  const auto cap = [&](const char* name, double absent) {
    if (config.has(name)) return config.positive(name);
    return config.mentions(name) ? 0 : absent;
  };
  const bool has_caps = family == DecoderFamily::gemma2;
  traits.attention_softcap = cap("attn_logit_softcapping", has_caps ? 50 : 0);
  traits.score_softcap = cap("final_logit_softcapping", has_caps ? 30 : 0);
}

void read_biases(DecoderFamily family, const Config& config, DecoderTraits& traits) {
  const bool reads_bias =
      family == DecoderFamily::llama || family == DecoderFamily::qwen3 || is_gemma(family);
  if (!reads_bias && family != DecoderFamily::qwen2) config.require_absent("attention_bias");
  traits.qkv_bias = traits.output_bias = reads_bias && config.flag_or("attention_bias", false);
  if (family == DecoderFamily::qwen2) traits.qkv_bias = true;
  if (family == DecoderFamily::llama) {
    traits.feed_forward_bias = config.flag_or("mlp_bias", false);
  } else {
    config.require_absent("mlp_bias");
  }
}

}  // namespace

bool is_decoder_architecture(const std::string& architecture) {
  return std::ranges::find(architectures, architecture, &Architecture::name) != architectures.end();
}

std::int64_t most_layers(const Limits& limits) {
  return static_cast<std::int64_t>(
      std::min<std::size_t>(limits.nodes / nodes_of_a_layer, std::size_t{1} << 20));
}

DecoderTraits read_decoder_traits(const std::string& architecture, const Config& config,
                                  const Limits& limits) {
  const DecoderFamily family =
      std::ranges::find(architectures, architecture, &Architecture::name)->family;
  DecoderTraits traits;
  const std::int64_t layers = config.count("num_hidden_layers", most_layers(limits));
  read_sizes(family, config, traits);
  traits.epsilon = config.positive_or("rms_norm_eps", family == DecoderFamily::phi3 ? 1e-5 : 1e-6);
  traits.attention_scale = 1 / std::sqrt(static_cast<double>(traits.head_size));
  traits.activation_member = is_gemma(family) ? "hidden_activation" : "hidden_act";
  traits.activation =
      config.text_or(traits.activation_member, is_gemma(family) ? "gelu_pytorch_tanh" : "silu");
  traits.activation_member = config.member(traits.activation_member);
  traits.is_tied = config.flag_or("tie_word_embeddings", is_gemma(family));
  traits.is_fused = family == DecoderFamily::phi3;
  traits.has_head_norms = family == DecoderFamily::qwen3;
  if (is_gemma(family)) read_gemma(family, config, traits);
  read_biases(family, config, traits);
  read_layers(family, config, layers, traits);
  return traits;
}

}  // namespace ondine::hugging_face
