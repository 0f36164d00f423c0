#include <algorithm>

#include <catch2/catch.hpp>

#include <ondine/error.h>
#include <ondine/model.h>

#include "graph/passes/pass.h"

using namespace ondine;  // NOLINT

TEST_CASE("every fusion is a pass of the same name, in the same order, and every pass a fusion") {
  std::vector<std::string> passes;
  for (const auto all : {graph::recognition_passes(), graph::fusion_passes()}) {
    for (const graph::Pass& pass : all) passes.emplace_back(pass.name);
  }
  CHECK(fusion_names() == passes);
}

TEST_CASE("a fusion is found by its name") {
  for (const Fusion fusion : all_fusions()) {
    CHECK(fusions_from_name(to_string(fusion)) == std::vector{fusion});
  }
  CHECK(fusions_from_name("all").size() == all_fusions().size());
}

TEST_CASE("the names that fusions had before are still understood") {
  CHECK(fusions_from_name("fuse_descent") == std::vector{Fusion::fuse_sgd_update});
  CHECK(fusions_from_name("fuse_gemm_descent") == std::vector{Fusion::fuse_gemm_sgd_update});
  CHECK(fusions_from_name("fuse_formula") == std::vector{Fusion::fuse_elementwise});
}

TEST_CASE("an unknown fusion is refused with the names there are") {
  CHECK_THROWS_WITH(fusions_from_name("fuse_nothing"),
                    Catch::Contains("'fuse_nothing'") && Catch::Contains("fuse_sgd_update"));
  CHECK_THROWS_AS(fusions_from_name(""), Error);
}
