// Models with caches that also give keys and values of the new tokens alone.
#pragma once

#include <optional>

#include <ondine/model.h>

#include "graph/ir/document.h"
#include "trainer/text/generate/decoder_ports.h"

namespace ondine::text {

// The model with an output more for each cache, which a step with spare places then need not copy.
// `ports`: those of `model`. Nothing where a cache is not its input and what is new, joined by
// Concat or by Attention, and for a model with state, which may change later.
std::optional<Model> with_fresh_outputs(const Model& model, const DecoderPorts& ports);

// A model of this definition, whose tensors may lie in the files of `model`, with its options.
Model remade(const Model& model, graph::ModelDef def);

}  // namespace ondine::text
