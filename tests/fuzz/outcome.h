// Results of calls of a model, to compare two models that must not differ.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/model.h>

namespace ondine::test {

struct Outcome {
  std::vector<std::string> refusals;  // first lines of Errors
  NamedValues results;
  NamedValues state;  // afterwards
};

// Infers, takes a step of each of the first algorithms and infers again, with usual feeds.
Outcome outcome_of(Model& model, const std::vector<std::uint8_t>& settings);

// First difference in refusals, results or state, compared bit by bit; "" if there is none.
std::string difference(const Outcome& a, const Outcome& b);

}  // namespace ondine::test
