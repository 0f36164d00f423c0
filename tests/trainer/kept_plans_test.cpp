// Plans are kept for the shapes that were used last.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "trainer/assemble.h"

namespace ondine::test {
namespace {

constexpr std::int64_t kept = 16;

// The inference of linear_regression with plans of its own.
class Inference {
 public:
  Inference() : functions_(trainer::assemble(linear_regression(0.1F), {})) {
    runtime_.budget = std::make_shared<MemoryBudget>(runtime_.limits.arena_bytes);
  }
  std::weak_ptr<const trainer::Plan> plan(std::int64_t rows) {
    const trainer::Function& infer = functions_.infer;
    auto& selected = infer.call(infer.default_outputs, runtime_);
    std::vector<Value> inputs;
    for (const std::string& name : infer.input_names) {
      if (name == "x") inputs.emplace_back(Tensor(DType::float32, {rows, 2}));
      if (name == "w") inputs.emplace_back(Tensor(DType::float32, {2, 1}));
      if (name == "b") inputs.emplace_back(Tensor(DType::float32, {1}));
    }
    REQUIRE(inputs.size() == infer.inputs.size());
    return selected.plan(inputs);
  }

 private:
  trainer::Functions functions_;
  trainer::Runtime runtime_;
};

}  // namespace

TEST_CASE("the least recently used plan is dropped when there are too many") {
  Inference inference;
  const auto first = inference.plan(1);
  const auto second = inference.plan(2);
  for (std::int64_t rows = 3; rows <= kept; ++rows) inference.plan(rows);
  REQUIRE_FALSE(first.expired());
  CHECK(inference.plan(1).lock() == first.lock());  // used again, so that the second is the oldest
  inference.plan(kept + 1);
  CHECK_FALSE(first.expired());
  CHECK(second.expired());
}

}  // namespace ondine::test
