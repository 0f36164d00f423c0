// The printed form of operator-set documents.
#pragma once

#include <string>

namespace ondine::cli {

// Prints domain, version, operators and functions of the document, as JSON if asked for.
void print_operator_set(const std::string& file, bool as_json);

}  // namespace ondine::cli
