// Trees laid out for walking: the records of both children of a branch lie side by side, and
// several walks go on at once, each of which waits for memory by itself.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/ml/trees.h"

namespace ondine::kernels {

class Forest {
 public:
  // `trees` must have been checked.
  explicit Forest(const Trees& trees);

  std::size_t targets() const noexcept { return targets_; }
  // Aggregated votes of all trees plus base for each row of x: `features` numbers to a row. `voted`
  // is memory for as many numbers as there are scores.
  void evaluate(std::span<const double> x, std::size_t features, std::span<double> scores,
                std::span<double> voted) const;

 private:
  enum class Kind : std::uint32_t { leq, lt, eq, neq, member, vote, votes };
  // A branch with the records `next` and `next` + 1, or a leaf.
  struct Record {
    double split = 0;         // of a leaf of one vote its weight
    std::uint32_t place = 0;  // feature, Kind and whether NaN takes the first side
    std::uint32_t next = 0;   // of a leaf of one vote its target
  };
  struct Range {
    std::uint32_t first = 0, last = 0;
  };
  static constexpr std::size_t lanes = 4;
  struct Walks {
    std::array<const double*, lanes> x;
    std::array<std::uint32_t, lanes> at;  // records; at the end those of leaves
  };

  static constexpr std::uint32_t kind_shift = 27;
  static constexpr std::uint32_t nan_first = std::uint32_t{1} << 31;
  static constexpr std::uint32_t place_of(Kind kind) {
    return static_cast<std::uint32_t>(kind) << kind_shift;
  }
  static Kind kind_of(const Record& record) {
    return static_cast<Kind>((record.place & ~nan_first) >> kind_shift);
  }

  Record branch(const Trees& trees, std::uint32_t index);
  Record leaf(const std::vector<Trees::Vote>& votes);
  bool takes_first(const Record& record, double x) const;
  void walk(Walks& walks) const;
  void walk_any(Walks& walks) const;
  void vote(const Record& leaf, double* scores, double* voted) const;
  void add(std::uint32_t target, double weight, double* scores, double* voted) const;

  std::vector<Record> records_;  // the roots, then the children of each branch
  std::size_t roots_ = 0;
  bool only_leq_ = true;  // no branch compares otherwise
  std::vector<Trees::Vote> votes_;
  std::vector<double> members_;
  std::size_t targets_;
  Aggregate aggregate_;
  std::vector<double> base_;
};

}  // namespace ondine::kernels
