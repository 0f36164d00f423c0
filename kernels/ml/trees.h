// Ensembles of decision trees as attributes give them, checked when they are made: walking one
// always ends at a leaf. forest.h walks.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <ondine/tensor.h>

#include "kernels/ml/row_model.h"

namespace ondine::kernels {

enum class Compare : std::uint8_t { leq, lt, gte, gt, eq, neq, member };
// In the order of the attribute's numbers.
enum class Aggregate : std::uint8_t { average, sum, min, max };

struct Trees {
  struct Child {
    std::uint32_t index = 0;  // of a leaf or a branch
    bool leaf = false;
  };
  struct Branch {
    double split = 0;
    std::int64_t feature = 0;
    Compare compare = Compare::leq;
    bool missing_is_true = false;  // whether NaN takes the true side
    Child yes, no;
    std::uint32_t first_member = 0, last_member = 0;
  };
  struct Vote {
    std::uint32_t target = 0;
    double weight = 0;
  };

  std::vector<Child> roots;
  std::vector<Branch> branches;
  std::vector<std::vector<Vote>> leaves;
  std::vector<double> members;  // the sets of Compare::member, concatenated
  std::size_t targets = 0;
  Aggregate aggregate = Aggregate::sum;
  std::vector<double> base;  // empty, or one per target

  // Error(invalid_model) for children, targets or features outside their ranges and for branches
  // that lead back to themselves.
  void check(std::size_t features) const;
};

// Aggregated votes as the scores of a regressor, for input 0.
graph::Kernel bind_trees(graph::BindContext& context, Trees trees, PostTransform transform);

// The elements of a float or uint8 tensor.
std::vector<double> numbers_of(const Tensor& tensor);

}  // namespace ondine::kernels
