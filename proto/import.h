// Stages 1 and 2: a model file to a ModelDef.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ondine/error.h>
#include <ondine/external_data.h>
#include <ondine/limits.h>

#include "graph/ir/document.h"

namespace ondine {

// Loads the file and the external data that it names in its own folder. Large tensors stay where
// they are: those of external data are views of the mapped files, which must not be changed in
// place while the model lives (replacing them by renaming is fine), and are read-only, so that no
// tensor of the model may be written to.
//
// Tensors, types and attributes are complete and consistent in themselves; everything that concerns
// names, operators, versions and the graph is for graph/check. Throws Error(invalid_model),
// Error(limit), Error(unsupported) or Error(io), with the file and the object as context; when
// several objects are wrong, one error with a line for each.
graph::ModelDef load_model(const std::filesystem::path& file, const Limits& limits = {});

// The same for bytes in memory, which are not needed afterwards. `external` has the external data;
// without it a model that has some is rejected.
graph::ModelDef load_model(std::span<const std::byte> bytes, const Limits& limits = {},
                           const ExternalDataReader& external = {});

// What an import left out of a model.
struct LeftOut {
  std::vector<Error> errors;       // one for each object that is wrong
  std::vector<std::string> names;  // by which the rest of the model may speak of these objects
};
// The same, but invalid objects are left out and reported, so that more errors can be found in the
// rest. Still throws what ends an import: limits, and files that are no models.
graph::ModelDef load_model(const std::filesystem::path& file, const Limits& limits,
                           LeftOut& left_out);
graph::ModelDef load_model(std::span<const std::byte> bytes, const Limits& limits,
                           const ExternalDataReader& external, LeftOut& left_out);

}  // namespace ondine
