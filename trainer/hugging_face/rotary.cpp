#include "trainer/hugging_face/rotary.h"

#include <cmath>
#include <numbers>

#include "core/message.h"

namespace ondine::hugging_face {
namespace {

std::string type_of(const Config& scaling) {
  return scaling.text_or("rope_type", scaling.text_or("type", "default"));
}

// The bands of Llama 3.1: long waves are divided by the factor, short ones are kept, and those
// between are interpolated.
void scale_llama3(const Config& scaling, std::vector<float>& frequencies) {
  const double factor = scaling.positive("factor");
  const double low = scaling.positive("low_freq_factor");
  const double high = scaling.positive("high_freq_factor");
  const double context = scaling.positive("original_max_position_embeddings");
  if (!(high > low)) {
    fail(ErrorCode::corrupt, scaling.member("high_freq_factor"), " is not above low_freq_factor");
  }
  for (float& frequency : frequencies) {
    const double wave = 2 * std::numbers::pi / double{frequency};
    if (wave < context / high) continue;
    const double divided = double{frequency} / factor;
    if (wave > context / low) {
      frequency = static_cast<float>(divided);
    } else {
      const double smooth = (context / wave - low) / (high - low);
      frequency = static_cast<float>((1 - smooth) * divided + smooth * double{frequency});
    }
  }
}

}  // namespace

RotaryConfig rotary_config(const Config& config, double base) {
  if (const std::optional<Config> parameters = config.object("rope_parameters")) {
    return {*parameters, parameters->positive_or("rope_theta", base)};
  }
  const Config none(graph::JsonValue::object(), "rope_scaling.");
  return {config.object("rope_scaling").value_or(none), config.positive_or("rope_theta", base)};
}

RotaryConfig rotary_config_of(const Config& config, const std::string& kind) {
  constexpr double global_base = 1'000'000;
  constexpr double local_base = 10'000;
  const bool is_local = kind == "sliding_attention";
  if (const std::optional<Config> parameters = config.object("rope_parameters")) {
    const std::optional<Config> own = parameters->object(kind);
    if (!own) fail(ErrorCode::mismatch, parameters->member(kind), " is missing");
    return {*own, own->positive_or("rope_theta", is_local ? local_base : global_base)};
  }
  if (!is_local) return rotary_config(config, global_base);
  return {Config(graph::JsonValue::object(), "rope_scaling."),
          config.positive_or("rope_local_base_freq", local_base)};
}

std::vector<float> rotary_frequencies(const RotaryConfig& rotary, std::int64_t dims) {
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < dims; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(dims);
    frequencies.push_back(1.0F / std::pow(static_cast<float>(rotary.base), exponent));
  }
  const std::string type = type_of(rotary.scaling);
  if (type == "linear") {
    const auto factor = static_cast<float>(rotary.scaling.positive("factor"));
    for (float& frequency : frequencies) frequency /= factor;
  } else if (type == "llama3") {
    scale_llama3(rotary.scaling, frequencies);
  } else if (type != "default") {
    fail(ErrorCode::unsupported, "the type of ", rotary.scaling.member(""), " is ", quoted(type),
         ", supported are default, linear and llama3");
  }
  return frequencies;
}

}  // namespace ondine::hugging_face
