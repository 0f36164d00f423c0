// Networks of float32 operators with random weights, built so that they are valid.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/document.h"
#include "tests/fuzz/choices.h"

namespace ondine::test {

struct NetworkValue {
  std::string name;
  std::vector<std::int64_t> dims;
};

// Inputs have a first dim of 2, which may be declared as N.
struct Network {
  graph::ModelDef model;  // without training information
  NetworkValue input;
  NetworkValue output;
  std::vector<NetworkValue> weights;
};

// Up to `max_layers` operators one after the other, some of them calls of local functions.
Network any_network(Choices& choices, std::size_t max_layers = 5);

// Elements in +-1 without ties, as a function of the next choice.
Tensor spread_floats(Choices& choices, const Shape& shape);

}  // namespace ondine::test
