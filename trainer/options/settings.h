// Values of options that hold several settings: "flip,crop=4,scale=0.9:1.1". Errors name the option
// as `spelled`.
#pragma once

#include <string>

#include <ondine/options.h>

namespace ondine::options {

ImageSize parse_size(const std::string& text, const std::string& spelled);
Preprocess parse_preprocess(const std::string& text, const std::string& spelled);
Augmentation parse_augmentation(const std::string& text, const std::string& spelled);

}  // namespace ondine::options
