// The settings of training with privacy in a model's metadata: "CLIP NOISE BATCH".
#pragma once

#include <optional>
#include <string>

#include <ondine/privacy.h>

namespace ondine::graph {

std::string to_text(const Privacy& privacy);
// Nothing for other texts.
std::optional<Privacy> read_privacy(const std::string& text);

}  // namespace ondine::graph
