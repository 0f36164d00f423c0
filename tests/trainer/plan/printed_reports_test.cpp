// The texts of reports on layers and plans, letter by letter.
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include <ondine/layers.h>
#include <ondine/plan.h>

using namespace ondine;

namespace {

PlannedValue planned(const std::string& name, Storage storage, std::uint64_t offset,
                     std::uint64_t bytes, std::size_t first, std::size_t last) {
  PlannedValue value;
  value.name = name;
  value.type = "tensor(float)[2]";
  value.storage = storage;
  value.offset = offset;
  value.bytes = bytes;
  value.first = first;
  value.last = last;
  return value;
}

// With single spaces.
std::string squeezed(const std::string& padded) {
  std::string result;
  for (const char c : padded) {
    if (c != ' ' || !result.ends_with(' ')) result += c;
  }
  return result;
}

// Widths of the lines of the table that begins a text.
std::set<std::size_t> widths(const std::string& text) {
  std::set<std::size_t> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line) && !line.empty();) result.insert(line.size());
  return result;
}

}  // namespace

TEST_CASE("a report on layers has a table, totals and what its marks mean") {
  LayerReport report;
  Layer layer;
  layer.node = 4;
  layer.name = "conv";
  layer.op = "Conv";
  layer.type = "tensor(float)[1, 8]";
  layer.trained_parameters = 1234567;
  layer.multiply_adds = 999;
  layer.output_bytes = 1000;
  report.layers.push_back(layer);
  report.trained_parameters = 1234567;
  report.frozen_parameters = 433;
  report.multiply_adds = 1000;
  report.inference = {.arena_bytes = 1, .constant_bytes = 20, .state_bytes = 300};
  const std::string head =
      "node layer operator output trained frozen multiply-adds output bytes\n"
      "4 conv Conv tensor(float)[1, 8] 1 234 567 0 999 1 000\n";
  const std::string totals =
      "\nparameters: 1 235 000 (trained 1 234 567, frozen 433)\nmultiply-adds: 1 000\n"
      "bytes of inference: 321 (values 1, constants 20, state 300)\n";
  const std::string note =
      "\nMultiply-adds are those of convolutions, matrix products, attention and recurrent layers "
      "of one\ninference; other operators count 0.\n";
  CHECK(squeezed(to_string(report)) == head + totals + note);
  CHECK(widths(to_string(report)).size() == 1);
  report.step = PlanInfo{.arena_bytes = 4000, .constant_bytes = 0, .state_bytes = 5};
  layer.node = 12;
  layer.name = "next";
  layer.trained_parameters = 0;
  layer.frozen_parameters = 433;
  layer.shared = true;
  layer.multiply_adds.reset();
  layer.output_bytes = 0;
  report.layers.push_back(layer);
  CHECK(squeezed(to_string(report)) ==
        head + "12 next Conv tensor(float)[1, 8] 0* 433* ? ?\n" + totals +
            "bytes of a training step: 4 005 (values 4 000, constants 0, state 5)\n" + note +
            "* shares a parameter with an earlier layer; totals count it once\n"
            "? depends on the data; counted as 0 in the total\n");
}

TEST_CASE("a report on a plan has a line for each output, the peak and totals") {
  PlanReport report;
  PlannedOperator product;
  product.op = "MatMul";
  product.name = "fc";
  product.implementation = "blocked";
  product.isa = "avx2";
  product.workspace_bytes = 64;
  product.outputs = {planned("h", Storage::arena, 128, 8, 0, 1)};
  PlannedOperator split;
  split.op = "Split";
  split.outputs = {planned("a", Storage::state, 0, 4, 1, 2),
                   planned("b", Storage::caller, 0, 4, 1, 2)};
  split.outputs[0].in_place = true;
  split.commit = true;
  split.implementation = "copy";
  report.nodes = {product, split};
  report.arena_bytes = 192;
  report.constant_bytes = 3;
  report.state_bytes = 4;
  report.workspace_bytes = 64;
  const std::string table =
      "# operator implementation workspace output storage bytes lifetime\n"
      "0 MatMul 'fc' blocked avx2 64 'h' tensor(float)[2] arena +128 8 0..1\n"
      "1 commit Split copy 0 'a' tensor(float)[2] state in place 4 1..end\n"
      " 'b' tensor(float)[2] caller 4 1..end\n";
  const std::string totals =
      "\ntotal bytes: arena 192, constants 3, state 4; largest workspace 64\n";
  const std::string text = to_string(report);
  CHECK(squeezed(text) == table + totals);
  report.peak_node = 1;
  report.peak_bytes = 72;
  report.peak_values = {planned("scratch", Storage::arena, 0, 64, 0, 0),
                        report.nodes[0].outputs[0]};
  report.peak_values[0].type.clear();
  CHECK(to_string(report) ==
        text.substr(0, text.size() - totals.size()) +
            "\npeak: 72 bytes of the arena in use at node 1 (Split)\n  64  'scratch'  0..0\n"
            "  8  'h' tensor(float)[2]  0..1\n" +
            totals);
  CHECK(to_string(Storage::constant) == std::string("constant"));
  CHECK(to_string(Storage::dynamic) == std::string("dynamic"));
}
