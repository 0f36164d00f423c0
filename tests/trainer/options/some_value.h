// A value that an option takes.
#pragma once

#include <string>

#include <ondine/options.h>

namespace ondine::test {

inline std::string some_value(const OptionInfo& option) {
  if (!option.choices.empty()) return option.choices.back();
  switch (option.kind) {
    case OptionKind::flag:
      return "true";
    case OptionKind::integer:
      return std::to_string(option.low ? static_cast<int>(*option.low) + 1 : 2);
    case OptionKind::real:
      return "0.5";
    case OptionKind::bytes:
      return "4KiB";
    case OptionKind::duration:
      return "90s";
    default:
      break;
  }
  if (option.value == "N") return "2";
  if (option.value.find('=') != std::string::npos) return "x=1";
  if (option.name == "class-weights") return "1,2";
  if (option.name == "loss-scale") return "dynamic";
  if (option.name == "no-fusion") return "all";
  if (option.name == "image-size") return "2x3";
  if (option.name == "preprocess") return "scale=1/255";
  if (option.name == "augment") return "flip";
  if (option.name == "chat-template") return "chatml";
  return "name";
}

}  // namespace ondine::test
