#pragma once

#include <string>
#include <vector>

namespace ondine {

// The components of a relative name. Throws Error(invalid_model) for a name that is absolute,
// leaves the folder or does not name a file.
std::vector<std::string> location_parts(const std::string& location);

}  // namespace ondine
