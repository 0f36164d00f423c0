// Imports a model file into a ModelDef.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <ondine/error.h>
#include <ondine/external_data.h>
#include <ondine/limits.h>

#include "graph/ir/document.h"
#include "proto/leftovers.h"
#include "proto/mapped_file.h"

namespace ondine {

// Loads the file and its external data, which must be in the same folder. Large tensors are not
// copied: external tensors are read-only views of mapped files. These files must not be modified in
// place while the model exists (replacing them by renaming is safe), and tensors of the model must
// not be written to.
//
// Checks that tensors, types and attributes are complete and consistent in themselves; graph/check
// checks names, operators, versions and graphs. Throws Error(invalid_model), Error(limit),
// Error(unsupported) or Error(io), naming the file and the object; several invalid objects are
// reported in one error with a line for each.
graph::ModelDef load_model(const std::filesystem::path& file, const Limits& limits = {});

// Loads a model from bytes in memory, which are not referenced afterwards. `external` supplies
// external data; without it, a model with external data is rejected.
graph::ModelDef load_model(std::span<const std::byte> bytes, const Limits& limits = {},
                           const ExternalDataReader& external = {});

// The objects that an import omitted.
struct LeftOut {
  std::vector<Error> errors;       // one for each invalid object
  std::vector<std::string> names;  // of these objects, to which the rest of the model may refer
  Leftovers leftovers;             // what the ModelDef does not hold of a valid model
  // Violations that the import passed over: unknown keys of external data, dims of -1 in declared
  // types, which become unknown.
  std::vector<Error> tolerable;
  // The files that the ModelDef's tensors may lie in.
  std::vector<std::shared_ptr<const MappedFile>> files;
};
// Loads a model but omits and reports invalid objects, so that further errors can be found in the
// rest. Still throws for exceeded limits and files that are not models.
graph::ModelDef load_model(const std::filesystem::path& file, const Limits& limits,
                           LeftOut& left_out);
graph::ModelDef load_model(std::span<const std::byte> bytes, const Limits& limits,
                           const ExternalDataReader& external, LeftOut& left_out);

}  // namespace ondine
