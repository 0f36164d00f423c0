// One function for each kind of network.
#pragma once

#include <optional>
#include <string>

#include <ondine/preprocess.h>

#include "trainer/finetune/facts.h"
#include "trainer/networks/layers.h"

namespace ondine::networks {

struct Drawn {
  ModelBuilder builder;
  std::optional<Preprocess> preprocess = {};  // to be put in front
  std::string description = {};
};

// The data, what they hold, and what the caller asks for.
struct Brief {
  const Dataset& data;
  const tune::Facts& facts;
  const NetworkOptions& options;

  std::int64_t outputs() const { return facts.target.outputs; }
};

// Makes a network of that kind, or of the kind that the rows call for.
NewNetwork make(std::optional<NetworkKind> kind, const Dataset& data, const tune::Facts& facts,
                const NetworkOptions& options);

Drawn draw_mlp(const Brief& brief);
Drawn draw_cnn(const Brief& brief);
Drawn draw_unet(const Brief& brief);
Drawn draw_text(const Brief& brief);
Drawn draw_audio(const Brief& brief);

// The last layer's result as the network's output "scores", or, of numbers, "prediction", which is
// deviation * x + mean of the targets.
void write_output(Layers& layers, const std::string& x, const tune::TargetFacts& target,
                  std::vector<ModelBuilder::Dim> dims);

// Error(mismatch) where the targets belong to positions of a row.
void require_row_targets(const Brief& brief, NetworkKind kind);

// Size of the network's images. If neither the options nor all images give it: square, with the
// median of their shorter sides, at most `most`. A multiple of `step`.
ImageSize image_size_of(const Brief& brief, std::int64_t most, std::int64_t step);
std::int64_t channels_of(const Brief& brief);

}  // namespace ondine::networks
