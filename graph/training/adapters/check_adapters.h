// Options of adapters that exclude others.
#pragma once

#include <vector>

#include <ondine/prepare.h>

namespace ondine::graph {

// Names of the options that train something in place of the parameters of the model; empty for
// none.
std::vector<const char*> ways_of(const PrepareOptions& options);

// Throws Error(mismatch) for options that exclude each other.
void check_adapters(const PrepareOptions& options);

}  // namespace ondine::graph
