// Sums whose bits follow from the number of terms alone, whoever adds which of them, and faster
// ones.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include <ondine/communicator.h>

namespace ondine::cluster {

// Numbers of a step, one after the other: float64 ones apart.
struct Numbers {
  std::vector<float> floats;
  std::vector<double> doubles;

  void set_zero();
};

// Adds terms in the order of a binary counter: neighbours first, then pairs of neighbours, and so
// on; what is left over at the end, from the right.
class TreeSum {
 public:
  // Takes the term's memory and leaves other memory of the same size in its place.
  void add(Numbers& term);
  // The sum of all terms; the next one begins anew.
  Numbers finish();
  // Begins anew. Takes memory of terms for later ones.
  void begin(Numbers memory);

 private:
  struct Node {
    Numbers sum;
    std::size_t terms = 0;
  };
  void merge();

  std::vector<Node> nodes_;
  std::vector<Numbers> free_;
};

// The sum over the ranks of what each has added up, in the order of TreeSum: the same bits on all
// ranks, and those that one rank with all terms would get where each adds up as many terms, a power
// of 2. Goes in pieces of `piece` numbers.
void add_ranks(Communicator& ranks, Numbers& numbers, std::size_t piece = std::size_t{1} << 20);

// Adds over the ranks in the order that the communicator prefers.
void add_quickly(Communicator& ranks, std::span<float> values,
                 std::size_t piece = std::size_t{1} << 20);
void add_quickly(Communicator& ranks, std::span<double> values,
                 std::size_t piece = std::size_t{1} << 20);

// Adds over the ranks with half the bytes: each rank's values and the sum are rounded to bfloat16.
// The sum is made in float32, in the order of the ranks.
void add_rounded(Communicator& ranks, std::span<float> values,
                 std::size_t piece = std::size_t{1} << 20);

}  // namespace ondine::cluster
