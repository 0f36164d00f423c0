// Losses need operators that older models do not import.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/training/prepare/prepare.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;

namespace {

// "" where the model is prepared.
std::string refusal(std::int64_t opset, const PrepareOptions& options) {
  ModelDef model = test::network(opset);
  try {
    prepare(model, options);
  } catch (const Error& error) {
    return error.message();
  }
  return "";
}

}  // namespace

TEST_CASE("each loss says which operator set it needs, and is written for that one") {
  struct Row {
    std::string what;
    std::int64_t first;
    PrepareOptions options;
  };
  for (const Row& row : std::vector<Row>{
           {"the focal loss", 12, {.loss = Loss::focal}},
           {"softmax cross entropy with weights, smoothing or ignored labels",
            12,
            {.label_smoothing = 0.1F}},
           {"softmax cross entropy with weights, smoothing or ignored labels",
            12,
            {.ignore_index = 1}},
           {"softmax cross entropy with weights, smoothing or ignored labels",
            12,
            {.class_weights = {1, 2, 1}}},
           {"a loss of embeddings", 11, {.loss = Loss::triplet}},
           {"a loss of embeddings", 11, {.loss = Loss::contrastive}},
           {"cross entropy of label probabilities", 9, {.soft_labels = true}},
           {"the Kullback-Leibler divergence", 9, {.loss = Loss::kl}},
           {"the cosine loss", 11, {.loss = Loss::cosine}},
       }) {
    INFO(row.what);
    CHECK(refusal(row.first, row.options).empty());
    const std::string why = refusal(row.first - 1, row.options);
    CHECK_THAT(why, Catch::Contains(row.what));
    CHECK_THAT(why, Catch::Contains(std::to_string(row.first)));
  }
}
