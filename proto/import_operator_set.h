// Imports an operator-set document into an OperatorSetDef.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include <ondine/external_data.h>
#include <ondine/limits.h>

#include "graph/ir/operator_set.h"
#include "proto/import.h"

namespace ondine {

// As load_model (import.h), under the same limits and with the same errors, which name objects but
// not the file; external data of tensors in functions lies in the folder of the document. Omits and
// reports invalid functions. graph/check/operator_set.h checks the rest. `left_out.leftovers` stays
// empty.
graph::OperatorSetDef load_operator_set(const std::filesystem::path& file, const Limits& limits,
                                        LeftOut& left_out);
graph::OperatorSetDef load_operator_set(std::span<const std::byte> bytes, const Limits& limits,
                                        const ExternalDataReader& external, LeftOut& left_out);

// Whether the file says by its contents that it is an operator set; see recognize.h. Throws
// Error(io).
bool is_operator_set_file(const std::filesystem::path& file);

}  // namespace ondine
