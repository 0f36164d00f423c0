// Models of language without caches, run with them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <ondine/model.h>

#include "trainer/text/generate/decoder_ports.h"

namespace ondine::text {

struct CachedModel {
  std::optional<Model> model;
  std::int64_t longest = 0;  // text in tokens
  std::string reason;        // where there is no model: what stands against it
};

// The model with caches for texts of up to `context` tokens, perhaps fewer: it has the scores of
// `model` at every position. `ports` are those of `model`, which has no caches.
CachedModel make_cached_model(const Model& model, const DecoderPorts& ports, std::int64_t context);

}  // namespace ondine::text
