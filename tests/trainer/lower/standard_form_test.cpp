// Which operators of Ondine's own have a form in standard operators.
#include <catch2/catch.hpp>
#include <set>
#include <string>

#include "trainer/model/assemble.h"

using namespace ondine;

TEST_CASE("the operators without a standard form are those that the documentation lists") {
  const std::set<std::string> without{
      "BatchMean",        "DeformColumns",      "DeformColumnsGrad", "DeformColumnsGradGrad",
      "GridSampleGrad",   "GridSampleGradGrad", "GRUGrad",           "Im2Col",
      "LinearRecurrence", "LSTMGrad",           "MaxRoiPoolGrad",    "QuantizeMask",
      "RNNGrad",          "TensorGather"};
  std::set<std::string> found;
  for (const graph::OpDef* op : trainer::all_operators().all()) {
    if (op->domain == graph::ondine_domain && op->expand == nullptr) found.emplace(op->name);
  }
  CHECK(found == without);
}
