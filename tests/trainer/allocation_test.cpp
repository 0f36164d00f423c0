#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"
#include "tests/trainer/counted_memory.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("a warm training step allocates nothing") {
  Model model = Model::load(encode(dropout_classifier()));
  Tensor labels(DType::int64, {6});
  const NamedValues feeds{{"x", random_floats({6, 8}, 1)}, {"label", labels}};
  NamedValues results{{"loss", Value()}};
  for (int i = 0; i < 3; ++i) model.train_step_into(feeds, 0, results);
  const std::size_t before = allocations();
  for (int i = 0; i < 10; ++i) model.train_step_into(feeds, 0, results);
  CHECK(allocations() - before == 0);
  CHECK(results[0].second.tensor().item<float>() > 0);
}
