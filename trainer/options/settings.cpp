#include "trainer/options/settings.h"

#include <charconv>
#include <functional>
#include <map>
#include <set>

#include <ondine/dtype.h>
#include <ondine/error.h>

#include "trainer/options/parse.h"

namespace ondine::options {
namespace {

// A number or a fraction such as 1/255.
double parse_number(const std::string& text, const std::string& option) {
  const std::optional<double> value = number(text);
  if (!value) refuse(option, "numbers", text);
  return *value;
}

std::int64_t parse_integer(const std::string& text, const std::string& option) {
  const std::optional<std::int64_t> value = integer(text);
  constexpr std::int64_t most = 1000000000;
  if (!value || *value > most || *value < -most) refuse(option, "an integer", text);
  return *value;
}

std::vector<double> parse_numbers(const std::string& text, const std::string& option) {
  std::vector<double> numbers;
  for (const std::string& part : split(text, ':')) numbers.push_back(parse_number(part, option));
  return numbers;
}

std::vector<float> parse_floats(const std::string& text, const std::string& option) {
  std::vector<float> numbers;
  for (const double one : parse_numbers(text, option)) numbers.push_back(static_cast<float>(one));
  return numbers;
}

using Take = std::function<void(const std::string& value, const std::string& option)>;

// Gives each setting to the entry of its name.
void parse_settings(const std::string& text, const std::string& option,
                    const std::map<std::string, Take>& known) {
  std::set<std::string> seen;
  for (const std::string& setting : split(text, ',')) {
    const std::size_t equals = std::min(setting.find('='), setting.size());
    const std::string name = setting.substr(0, equals);
    const auto found = known.find(name);
    if (found == known.end()) {
      std::string names;
      for (const auto& [one, take] : known) names += (names.empty() ? "" : ", ") + one;
      refuse(option, "settings among " + names, setting);
    }
    if (!seen.insert(name).second) refuse(option, name + " once", text);
    found->second(equals == setting.size() ? std::string() : setting.substr(equals + 1),
                  option + " " + name);
  }
}

Take flag(bool& to) {
  return [&to](const std::string& value, const std::string& option) {
    if (!value.empty()) refuse(option, "no value", value);
    to = true;
  };
}

Take real(double& to) {
  return [&to](const auto& value, const auto& option) { to = parse_number(value, option); };
}

Take takes_integer(std::int64_t& to) {
  return [&to](const auto& value, const auto& option) { to = parse_integer(value, option); };
}

}  // namespace

ImageSize parse_size(const std::string& text, const std::string& option) {
  ImageSize size;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, size.height);
  const bool separated = error == std::errc() && at != end && *at == 'x';
  const auto [last, second] = separated ? std::from_chars(at + 1, end, size.width)
                                        : std::from_chars_result{at, std::errc::invalid_argument};
  if (second != std::errc() || last != end || size.height <= 0 || size.width <= 0) {
    refuse(option, "HEIGHTxWIDTH", text);
  }
  return size;
}

Preprocess parse_preprocess(const std::string& text, const std::string& spelled) {
  Preprocess result;
  LogMel mel;
  bool has_mel = false;
  bool has_mel_setting = false;
  std::optional<DType> type;
  // A setting of the spectrogram.
  const auto of_mel = [&](Take take) -> Take {
    return [take = std::move(take), &has_mel_setting](const auto& value, const auto& option) {
      has_mel_setting = true;
      take(value, option);
    };
  };
  parse_settings(
      text, spelled,
      {{"mel",
        [&](const auto& value, const auto& option) {
          has_mel = true;
          mel.bands = parse_integer(value, option);
        }},
       {"rate", of_mel(takes_integer(mel.rate))},
       {"window", of_mel(takes_integer(mel.window))},
       {"hop", of_mel(takes_integer(mel.hop))},
       {"low", of_mel(real(mel.low))},
       {"high", of_mel(real(mel.high))},
       {"offset", of_mel(real(mel.offset))},
       {"input", [&](const auto& value, const auto&) { result.input = value; }},
       {"type",
        [&](const auto& value, const auto& option) {
          type = dtype_from_string(value);
          if (type == DType::undefined) refuse(option, "a type such as uint8", value);
        }},
       {"layout",
        [&](const auto& value, const auto& option) {
          if (value != "nhwc" && value != "nchw") refuse(option, "nhwc or nchw", value);
          result.layout = value == "nhwc" ? Layout::nhwc : Layout::nchw;
        }},
       {"resize",
        [&](const auto& value, const auto& option) { result.resize = parse_size(value, option); }},
       {"scale", real(result.scale)},
       {"mean",
        [&](const auto& value, const auto& option) { result.mean = parse_floats(value, option); }},
       {"std", [&](const auto& value, const auto& option) {
          result.deviation = parse_floats(value, option);
        }}});
  if (has_mel_setting && !has_mel) {
    refuse(spelled, "mel=BANDS with the settings of a spectrogram", text);
  }
  if (type) result.type = mel.type = *type;
  if (has_mel) result.mel = mel;
  return result;
}

Augmentation parse_augmentation(const std::string& text, const std::string& spelled) {
  Augmentation result;
  parse_settings(text, spelled,
                 {{"flip", flag(result.flip)},
                  {"flip-vertical", flag(result.flip_vertical)},
                  {"crop", takes_integer(result.crop)},
                  {"rotate", real(result.rotate)},
                  {"scale",
                   [&](const auto& value, const auto& option) {
                     const std::vector<double> bounds = parse_numbers(value, option);
                     if (bounds.size() != 2) refuse(option, "two factors, LOW:HIGH", value);
                     result.scale_min = bounds[0];
                     result.scale_max = bounds[1];
                   }},
                  {"color", real(result.color)},
                  {"cutout", takes_integer(result.cutout)},
                  {"mixup", real(result.mixup)},
                  {"time-shift", real(result.time_shift)},
                  {"noise", real(result.noise)}});
  return result;
}

}  // namespace ondine::options
