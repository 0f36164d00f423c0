// Operator-set documents that models are loaded with.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ondine/model.h>

#include "graph/ir/document.h"
#include "proto/mapped_file.h"

namespace ondine::trainer {

// Reads and checks LoadOptions::operator_sets and gives `model` the functions of theirs that it
// calls (graph/resolve/link_functions.h). Appends the warnings about documents to `warnings` and
// the files that tensors of the functions may lie in to `files`. Errors name the document, or the
// node for which none has a function.
void link_operator_sets(graph::ModelDef& model, const LoadOptions& options,
                        std::vector<std::string>& warnings,
                        std::vector<std::shared_ptr<const MappedFile>>& files);
// Links likewise; the files are not kept.
void link_operator_sets(graph::ModelDef& model, const LoadOptions& options,
                        std::vector<std::string>& warnings);

}  // namespace ondine::trainer
