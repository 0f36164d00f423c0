// Decisions that a fuzzed model carries in its metadata, so that an input is a model that every
// tool reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::test {

// Bytes of the metadata entry "fuzz", which holds hexadecimal digits; empty if there is none.
std::vector<std::uint8_t> settings_of(const graph::ModelDef& model);
void set_settings(graph::ModelDef& model, const std::vector<std::uint8_t>& bytes);

}  // namespace ondine::test
