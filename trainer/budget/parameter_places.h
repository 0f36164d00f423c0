// Where in a network its parameters are read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <ondine/model.h>
#include <ondine/shape.h>

namespace ondine::budget {

struct ParameterPlace {
  std::size_t depth = 0;         // number of the first node that reads it
  std::uint64_t kept_bytes = 0;  // of the data that this node reads, for the derivative of a matrix
};

// Places of the weights that training updates, by name. `shapes` as in PlanRequest, those of
// inference.
std::map<std::string, ParameterPlace> parameter_places(
    const Model& model, const std::vector<std::pair<std::string, Shape>>& shapes);

}  // namespace ondine::budget
