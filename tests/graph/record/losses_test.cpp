#include <ondine/losses.h>

#include <catch2/catch.hpp>
#include <set>

#include "graph/record/meaning.h"

using namespace ondine;

TEST_CASE("every loss has facts under one name") {
  std::set<std::string_view> names;
  for (const LossFacts& one : loss_facts()) {
    CHECK(names.insert(one.name).second);
    CHECK(find_loss(one.name) == &one);
    CHECK(graph::meaning_of_loss(one.name) == one.output);
  }
  for (int i = 0; i <= static_cast<int>(Loss::ctc); ++i) {
    INFO(i);
    const LossFacts* found = find_loss(loss_name(static_cast<Loss>(i)));
    REQUIRE(found != nullptr);
    CHECK(found->loss == static_cast<Loss>(i));
  }
  CHECK(find_loss("none") == nullptr);
  CHECK(graph::meaning_of_loss("none") == OutputMeaning::unknown);
  CHECK(graph::meaning_behind("bce") == OutputMeaning::probabilities);
  CHECK(graph::meaning_behind("hinge") == OutputMeaning::margins);
}
