// TrainBudget.
#include "trainer/options/groups.h"

namespace ondine::options {
namespace {

Rows<TrainBudget> make_budget_rows() {
  Rows<TrainBudget> rows(OptionGroup::budget);
  rows.heading(
      "Parameters chosen for a budget of memory, by their derivatives on rows of the data");
  rows.bytes("train-budget",
             "Train those parameters that promise most while a step takes no more memory",
             [](TrainBudget& to, std::uint64_t value) { to.bytes = value; });
  rows.integer(
          "budget-rows", "N", "Rows of such a step; 32 if absent",
          [](TrainBudget& to, std::int64_t value) { to.rows = static_cast<std::uint64_t>(value); })
      .from(1)
      .needs({"train-budget"});
  rows.integer("budget-batches", "N", "Batches whose derivatives are averaged",
               [](TrainBudget& to, std::int64_t value) {
                 to.batches = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .by_default("8")
      .needs({"train-budget"});
  return rows;
}

}  // namespace

const Rows<TrainBudget>& budget_rows() {
  static const Rows<TrainBudget> rows = make_budget_rows();
  return rows;
}

}  // namespace ondine::options
