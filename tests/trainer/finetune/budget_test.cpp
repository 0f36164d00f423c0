// finetune() within a budget of memory.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/finetune.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/finetune/sample_data.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// A network that tells two flowers apart.
class Flowers {
 public:
  Flowers() {
    write_classes(folder_ / "flowers.csv", 90, {"rose", "lily"});
    FinetuneOptions options;
    options.epochs = 20;
    options.output = folder_ / "first.onnx";
    finetune({}, folder_ / "flowers.csv", options);
  }

  FinetuneReport tuned(const FinetuneOptions& options) const {
    return finetune(folder_ / "first.onnx", folder_ / "flowers.csv", options);
  }
  FinetuneReport of_new(const FinetuneOptions& options) const {
    return finetune({}, folder_ / "flowers.csv", options);
  }

 private:
  TemporaryFolder folder_;
};

FinetuneOptions options_with(std::uint64_t bytes) {
  FinetuneOptions options;
  options.epochs = 2;
  options.train_budget = TrainBudget{.bytes = bytes};
  return options;
}

std::string budget_line(const FinetuneReport& report) {
  const auto found = std::ranges::find_if(report.assumed, [](const std::string& line) {
    return line.find("parameters train") != std::string::npos;
  });
  return found == report.assumed.end() ? std::string() : *found;
}

}  // namespace

TEST_CASE("a budget decides which parameters are tuned, and the others keep their values") {
  const Flowers flowers;
  const FinetuneReport all = flowers.tuned(options_with(std::uint64_t{1} << 40));
  REQUIRE(all.prepared.trained.size() == 4);
  CHECK_THAT(budget_line(all), Contains("4 of 4 parameters train, with 100 % of the gain"));
  FinetuneReport less;
  for (std::uint64_t bytes = 4096; less.prepared.trained.empty(); bytes += 512) {
    try {
      less = flowers.tuned(options_with(bytes));
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
    }
  }
  REQUIRE(less.prepared.trained.size() < 4);
  CHECK_THAT(budget_line(less), Contains(" of 4 parameters train"));
  CHECK(less.evaluation.metrics["accuracy"] > 0.9);
}

TEST_CASE("a budget for a new network, and one beside adapters, is refused") {
  const Flowers flowers;
  const FinetuneOptions options = options_with(std::uint64_t{1} << 40);
  CHECK_THROWS_WITH(flowers.of_new(options), Contains("this one is new"));
  FinetuneOptions adapted = options;
  adapted.prepare.lora = Lora{.rank = 2};
  CHECK_THROWS_WITH(flowers.tuned(adapted), Contains("--lora"));
  FinetuneOptions rows = options;
  rows.train_budget->rows = 4;
  CHECK_THROWS_WITH(flowers.tuned(rows), Contains("set batch_size"));
}
