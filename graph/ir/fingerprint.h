// The identity of a model for checkpoints.
#pragma once

#include <set>
#include <string>

#include "core/digest.h"
#include "graph/ir/document.h"

namespace ondine::graph {

// SHA-256 over everything that decides what the model computes, in a canonical order: graphs,
// nodes, attributes, functions, bindings, types and constants, but no documentation, metadata or
// producer, and of `variables` only dtype and shape.
Sha256Digest fingerprint(const ModelDef& model,
                         const std::set<std::string, std::less<>>& variables);

}  // namespace ondine::graph
