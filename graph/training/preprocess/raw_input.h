// The input of a main graph that new operators take the place of.
#pragma once

#include <optional>
#include <string>

#include "graph/ir/document.h"

namespace ondine::graph {

// "'x' float32[N, 4]"
std::string describe_input(const ValueDef& input);
bool is_image_input(const ValueDef& input);
// Nothing for a dynamic size, and where there is no such axis.
std::optional<std::int64_t> size_of_dim(const ValueDef& input, std::size_t axis);

// The input to preprocess, among inputs that are fed and hold floating point numbers: the one with
// this name or, without a name, the only one of images, else the only one. Error(mismatch) if there
// is none.
ValueDef& find_raw_input(GraphDef& graph, const std::string& name);

// Error(unsupported) if the input is an output as well.
void require_no_output(const GraphDef& graph, const ValueDef& input);

// Puts the nodes and initializers of `front` first. What read the value `given` reads `result`,
// whose type is that of `inner`.
void put_in_front(GraphDef& graph, GraphDef front, const std::string& given,
                  const std::string& result, ValueDef inner);

}  // namespace ondine::graph
