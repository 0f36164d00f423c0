// Which tensors of a model train, wherever the model keeps them.
#pragma once

#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {

// Chooses parameters among initializers and what Constant nodes and subgraphs hold
// (choose_parameters), and makes initializers of the latter where they are trained. `read`: the
// values of the main graph that the loss reads. Of those that are frozen the choice refers to
// `lifted`.
ParameterChoice choose_and_lift(ModelDef& model, GraphDef& lifted, Names& names,
                                const Strings& read, const PrepareOptions& options);

}  // namespace ondine::graph
