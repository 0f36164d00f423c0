// The table of layers, character by character.
#include <catch2/catch.hpp>

#include <ondine/layers.h>

using namespace ondine;

namespace {

PlanInfo memory(std::uint64_t arena, std::uint64_t constants, std::uint64_t state) {
  PlanInfo plan;
  plan.arena_bytes = arena;
  plan.constant_bytes = constants;
  plan.state_bytes = state;
  return plan;
}

const std::string note =
    "\nMultiply-adds are those of convolutions, matrix products, attention and recurrent layers of "
    "one\ninference; other operators count 0.\n";

}  // namespace

TEST_CASE("texts of layers are aligned to the left and numbers, in groups of three, to the right") {
  LayerReport report;
  report.layers = {{"conv1", "Conv", "tensor(float)[1, 8]", 1234567, 0, false, 999, 1000, 12},
                   {"b", "Gemm", "tensor(float)[1]", 12, 100000, true, {}, 0}};
  report.trained_parameters = 1234567;
  report.frozen_parameters = 100000;
  report.multiply_adds = 999;
  report.inference = memory(1000, 20, 3);
  CHECK(
      to_string(report) ==
      "node  layer  operator  output                 trained    frozen  multiply-adds  output "
      "bytes\n"
      "12    conv1  Conv      tensor(float)[1, 8]  1 234 567         0            999         1 "
      "000\n"
      "      b      Gemm      tensor(float)[1]           12*  100 000*              ?             "
      "?\n"
      "\nparameters: 1 334 567 (trained 1 234 567, frozen 100 000)\n"
      "multiply-adds: 999\n"
      "bytes of inference: 1 023 (values 1 000, constants 20, state 3)\n" +
          note +
          "* shares a parameter with an earlier layer; totals count it once\n"
          "? depends on the data; counted as 0 in the total\n");
}

TEST_CASE("what does not occur is not explained, and a step has memory of its own") {
  LayerReport report;
  report.layers = {{"l", "Relu", "t", 0, 0, false, 0, 4}};
  report.inference = memory(1, 2, 3);
  report.step = memory(4, 5, 6);
  CHECK(to_string(report) ==
        "node  layer  operator  output  trained  frozen  multiply-adds  output bytes\n"
        "      l      Relu      t             0       0              0             4\n"
        "\nparameters: 0 (trained 0, frozen 0)\n"
        "multiply-adds: 0\n"
        "bytes of inference: 6 (values 1, constants 2, state 3)\n"
        "bytes of a training step: 15 (values 4, constants 5, state 6)\n" +
            note);
}
