// Where the random numbers of a model begin.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/trainer/fit/small_task.h"

namespace ondine::test {
namespace {

Model classifier(std::uint64_t seed) {
  LoadOptions options;
  options.seed = seed;
  return Model::load(encode(dropout_classifier()), options);
}

// Its dropout draws other elements for another seed.
double loss_of_step(Model& model) { return model.train_step(classes_data(32)).scalar("loss"); }

}  // namespace

TEST_CASE("a model draws by the seed that it was loaded with, until it is initialized") {
  Model model = classifier(7);
  CHECK(model.seed() == 7);
  CHECK(classifier(0).seed() == 0);
  Model same = classifier(7);
  Model other = classifier(8);
  const double loss = loss_of_step(model);
  CHECK(loss_of_step(same) == loss);
  CHECK(loss_of_step(other) != loss);
  model.initialize(11);
  CHECK(model.seed() == 11);
}

}  // namespace ondine::test
