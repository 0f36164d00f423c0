// Fingerprint by which a checkpoint recognizes its model.
#pragma once

#include <functional>
#include <set>
#include <string>

#include "core/digest.h"
#include "graph/ir/document.h"

namespace ondine::graph {

// SHA-256 over everything that determines what the model computes, in a canonical order: graphs,
// nodes, attributes, functions, bindings, types and constants. Excludes documentation, metadata and
// producer; of the initializers in `variables` only dtype and shape count.
// `done` is called for each tensor whose elements were read.
Sha256Digest fingerprint(const ModelDef& model, const std::set<std::string, std::less<>>& variables,
                         const std::function<void(const Tensor&)>& done = {});

// Bytes of the tensors whose elements the fingerprint covers; reads none of them. Strings count 0.
std::uint64_t fingerprint_bytes(const ModelDef& model,
                                const std::set<std::string, std::less<>>& variables);

}  // namespace ondine::graph
