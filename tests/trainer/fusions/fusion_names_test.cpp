#include <algorithm>

#include <catch2/catch.hpp>

#include <ondine/error.h>
#include <ondine/model.h>

#include "graph/passes/pass.h"

using namespace ondine;  // NOLINT

TEST_CASE("the fusions are the optional steps of the pipeline, in its order") {
  std::vector<std::string> passes;
  for (const graph::Step& step : graph::pipeline()) {
    if (step.optional) passes.emplace_back(step.pass->name);
  }
  CHECK(fusion_names() == passes);
}

TEST_CASE("every constant of Fusion is a fusion that there is") {
  const auto all = all_fusions();
  for (const Fusion fusion : {Fusion::recognize_layer_normalization,
                              Fusion::recognize_gelu,
                              Fusion::recognize_swish,
                              Fusion::recognize_cross_entropy,
                              Fusion::recognize_attention,
                              Fusion::fuse_quantized,
                              Fusion::fuse_activation_gradient,
                              Fusion::fold_normalization,
                              Fusion::fuse_normalization_gradient,
                              Fusion::move_relu_gradient,
                              Fusion::fuse_normalization,
                              Fusion::fuse_depthwise_gradient,
                              Fusion::fuse_normalized_conv,
                              Fusion::fuse_pointwise_gradient,
                              Fusion::fuse_activation,
                              Fusion::fuse_pointwise,
                              Fusion::fuse_gather_gradient,
                              Fusion::fuse_sgd_update,
                              Fusion::fuse_gemm_sgd_update,
                              Fusion::fuse_elementwise,
                              Fusion::fuse_gemm_update}) {
    CAPTURE(fusion.name());
    CHECK(std::ranges::count(all, fusion) == 1);
  }
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
  CHECK(fusions_from_name("fuse_gemm_adam") == std::vector{Fusion::fuse_gemm_adam});
  CHECK(Fusion::fuse_gemm_adam == Fusion::fuse_gemm_update);
  for (const char* former : {"fuse_depthwise", "fuse_normalized_pointwise"}) {
    CHECK(fusions_from_name(former) == std::vector{Fusion::fuse_normalized_conv});
  }
}

TEST_CASE("an unknown fusion is refused with the names there are") {
  CHECK_THROWS_WITH(fusions_from_name("fuse_nothing"),
                    Catch::Contains("'fuse_nothing'") && Catch::Contains("fuse_sgd_update"));
  CHECK_THROWS_AS(fusions_from_name(""), Error);
}
