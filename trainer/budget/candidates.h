// Gains that the parameters of a network promise, and estimates of what their training costs.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/model.h>
#include <ondine/prepare.h>
#include <ondine/train_budget.h>

namespace ondine::budget {

// A parameter is taken whole, or in a number of eighths of its channels.
inline constexpr unsigned whole = 8;
inline constexpr std::array<unsigned, 4> shares{1, 2, 4, whole};

struct Candidate {
  std::string name;
  std::uint64_t elements = 0;
  double gain = 0;                // of the whole
  std::uint64_t state_bytes = 0;  // of the parameter and its states of the optimizer
  std::uint64_t kept_bytes = 0;   // of what a step keeps for its derivative
  std::size_t depth = 0;
  // Channels with the largest gain first; empty if all or nothing of the tensor trains.
  std::vector<std::int64_t> channels = {};
  std::vector<double> gains = {};  // of the first channel, the first two and so on

  std::size_t channels_of(unsigned eighths) const noexcept {
    return (channels.size() * eighths + whole - 1) / whole;
  }
  double gain_of(unsigned eighths) const;
  std::uint64_t bytes_of(unsigned eighths) const;  // an estimate
  // As PrepareOptions::train wants it.
  std::string pattern(unsigned eighths) const;
  std::vector<std::int64_t> chosen(unsigned eighths) const;  // in rising order
};

using Shapes = std::vector<std::pair<std::string, Shape>>;

struct Candidates {
  std::vector<Candidate> all;  // the gains add up to 1
  Shapes shapes;               // of a step's feeds
};

// Averages derivatives of `trained`, by a model that trains all of these, over batches of the
// sample. Error(mismatch) where the sample is shorter than a batch, Error(not_finite) where all
// derivatives are 0 or some are not finite.
Candidates measure(const Model& model, const Dataset& sample,
                   const std::vector<std::string>& trained, const Optimizer& optimizer,
                   const TrainBudget& budget, std::uint64_t seed);

}  // namespace ondine::budget
