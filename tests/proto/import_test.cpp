#include "proto/import.h"

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/cases.h"

using namespace ondine;

TEST_CASE("every model of the shared collections is imported") {
  for (const auto* collection : {"training", "backend/simple", "backend/node",
                                 "backend/pytorch-operator", "backend/pytorch-converted"}) {
    const auto folders = test::case_folders(collection);
    if (folders.empty()) WARN("no cases in " << collection);
    for (const auto& folder : folders) {
      INFO(folder);
      graph::ModelDef model;
      CHECK_NOTHROW(model = load_model(folder / "model.onnx"));
      CHECK(model.ir_version > 0);
      CHECK_FALSE(model.graph.outputs.empty());
    }
  }
}
