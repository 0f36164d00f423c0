// The settings of training with privacy in a model's metadata: "CLIP NOISE BATCH", and after that
// " secure" where noise comes from a cryptographic generator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/privacy.h>

#include "graph/ir/document.h"

namespace ondine::graph {

std::string to_text(const Privacy& privacy);
// Nothing for other texts.
std::optional<Privacy> read_privacy(const std::string& text);

// The values that are to be noise from a cryptographic generator; none where the model does not ask
// for it.
std::vector<std::string> secure_noise_of(const ModelDef& model);
// Throws Error(mismatch) for a model that asks for it, unless each of these is given by a
// RandomNormalLike without a seed in the graph of an algorithm.
void require_secure_noise(const ModelDef& model);

}  // namespace ondine::graph
