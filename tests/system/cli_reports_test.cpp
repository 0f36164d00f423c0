// Reports of commands about operator sets, derivatives and weights, with every word of them.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/trainer.h>

#include "tests/proto/operator_sets.h"
#include "tests/support/models.h"
#include "tests/system/run/cli_run.h"

using Catch::Contains;
using Catch::StartsWith;
using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;
using nlohmann::json;

namespace {

void write_line(const Workshop& shop) {
  const std::vector<std::byte> bytes = test::encode(test::linear_regression(0.1F));
  shop.write("line.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Tensors of one float each.
void write_floats(const Workshop& shop, const std::string& name, const json& names) {
  json header = json::object();
  std::size_t at = 0;
  for (const auto& [tensor, dims] : names.items()) {
    std::size_t bytes = 4;
    for (const std::size_t dim : dims) bytes *= dim;
    header[tensor] = {{"dtype", "F32"}, {"shape", dims}, {"data_offsets", {at, at + bytes}}};
    at += bytes;
  }
  const std::string text = header.dump();
  std::string file(8, '\0');
  for (std::size_t i = 0; i < 8; ++i) file[i] = static_cast<char>(text.size() >> 8 * i);
  shop.write(name, file + text + std::string(at, '\0'));
}

}  // namespace

TEST_CASE("info prints versions, states and overloads of an operator set") {
  const Workshop shop;
  const std::string domain = "org.example";
  test::Wire overloaded = test::wire_function(
      "twice", domain, {"a", "b"}, {"c", "d"},
      {test::wire_node("Add", {"a", "b"}, {"c"}), test::wire_node("Sub", {"a", "b"}, {"d"})},
      {{"", 18}, {"ai.onnx.ml", 3}});
  overloaded.block(8, "Both at once.\nMore.").block(13, "both").block(6, "factor").block(6, "bias");
  test::Wire set = test::wire_set(domain, 3, {overloaded});
  set.block(3, "beta.2").block(7, "b71");
  set.message(8, test::Wire().block(1, "Fold").number(2, 2).number(3, 0));
  shop.write("set.onnx", set.text());
  CHECK(shop.succeed("info set.onnx").out ==
        "operator set org.example version 3, IR version 10-beta.2+b71\n"
        "operators\n"
        "  Fold  since version 2, experimental\n"
        "functions\n"
        "  twice:both(a, b) -> (c, d) {factor, bias}\n"
        "    Both at once.\n");
  CHECK(json::parse(shop.succeed("info set.onnx --json").out) == json::parse(R"({
    "domain": "org.example", "version": 3, "ir_version": 10, "ir_version_prerelease": "beta.2",
    "ir_build_metadata": "b71", "doc": "",
    "operators": [{"name": "Fold", "since_version": 2, "status": "EXPERIMENTAL", "doc": ""}],
    "functions": [{"name": "twice", "overload": "both", "inputs": ["a", "b"],
                   "outputs": ["c", "d"], "attributes": ["factor", "bias"],
                   "imports": {"ai.onnx": 18, "ai.onnx.ml": 3}, "nodes": 2,
                   "doc": "Both at once.\nMore."}]})"));
}

TEST_CASE("gradcheck tells precision, both derivatives and kinks, and exits with 1 for a failure") {
  const Workshop shop;
  write_line(shop);
  const std::string wide = shop.succeed("gradcheck line.onnx --dim-size 2").out;
  CHECK_THAT(wide,
             StartsWith("in float64\nok     w ") && Contains("\nok     b ") && !Contains("kink"));
  CHECK_THAT(shop.succeed("gradcheck line.onnx --as-is").out,
             StartsWith("in the model's own precision\nok     w "));
  ModelBuilder kink("kink");
  kink.input("x", DType::float32, {"N", 1});
  kink.node("MatMul", {"x", kink.initializer("w", Tensor(DType::float32, {1, 1}))}, {}, "h");
  kink.node("Relu", {"h"}, {}, "y");
  kink.output("y", DType::float32, {"N", 1});
  kink.save(shop / "kink.onnx");
  shop.succeed("prepare kink.onnx -o kink_train.onnx --loss mse --init keep");
  const Result failed = shop.run("gradcheck kink_train.onnx");
  CHECK(failed.exit_code == 1);
  CHECK_THAT(failed.out, Contains("\nFAILED w ") && Contains("  on a kink: try --perturb 0.01\n") &&
                             Contains("analytic  0.000000e+00"));
  CHECK_THAT(shop.succeed("gradcheck kink_train.onnx --perturb 0.1").out, Contains("\nok     w "));
}

TEST_CASE("up to five weights that are missing or unknown are named") {
  const Workshop shop;
  write_line(shop);
  const std::string command = "export line.onnx --weights w.safetensors -o out.safetensors";
  const json one = json::array({1});
  write_floats(shop, "w.safetensors", {{"w", {2, 1}}, {"b", one}});
  const Result whole = shop.succeed(command);
  CHECK(whole.err.empty());
  CHECK(whole.out == "wrote out.safetensors\n");
  json more{{"b", one}, {"u1", one}, {"u2", one}, {"u3", one}, {"u4", one}, {"u5", one}};
  write_floats(shop, "w.safetensors", more);
  CHECK(shop.succeed(command).err ==
        "note: weights missing in 'w.safetensors' keep their values (1): 'w'\n"
        "note: tensors of 'w.safetensors' that are not state variables are ignored (5): 'u1', "
        "'u2', 'u3', 'u4', 'u5'\n");
  more["u6"] = one;
  write_floats(shop, "w.safetensors", more);
  CHECK_THAT(shop.succeed(command).err,
             Contains("are ignored (6): 'u1', 'u2', 'u3', 'u4', 'u5', ...\n"));
}

TEST_CASE("differentiate prints its nodes, version, inputs and outputs") {
  const Workshop shop;
  write_line(shop);
  const std::string out =
      shop.succeed("differentiate line.onnx --of y --by w,,x -o g.onnx --opset 19").out;
  CHECK_THAT(out, StartsWith("g.onnx: ") && Contains(" nodes of ai.onnx 19\n"));
  CHECK_THAT(out, Catch::EndsWith("  output  gradient.w\n  output  gradient.x\n"));
  // The sum of y = x w + b has the derivatives sum_n x and w.
  save_array(shop / "x.npy", Tensor::of<float>({2, 2}, {1, 2, 3, 5}));
  save_array(shop / "w.npy", Tensor::of<float>({2, 1}, {0.5F, -1}));
  const Result result = shop.succeed("infer g.onnx --input x=x.npy w=w.npy");
  CHECK_THAT(result.out, Contains("gradient.w  float[2, 1]  4 7\n") &&
                             Contains("gradient.x  float[2, 2]  0.5 -1 0.5 -1\n"));
}

TEST_CASE("infer takes the numbers of a table of bytes") {
  const Workshop shop;
  write_line(shop);
  // y = 0.5 x0 - x1 + 0.25
  save_array(shop / "x.npy", Tensor::of<std::uint8_t>({3, 2}, {255, 0, 0, 51, 255, 255}));
  CHECK(shop.succeed("infer line.onnx --input x=x.npy").out ==
        "y  float[3, 1]  127.75 -50.75 -127.25\n");
}

TEST_CASE("balanced weights of classes are rows by classes and their own rows") {
  const Workshop shop;
  save_array(shop / "x.npy", Tensor(DType::float32, {6, 4}));
  save_array(shop / "y.npy", Tensor::of<std::int64_t>({6}, {2, 1, 2, 0, 1, 2}));
  const std::string command =
      "prepare net.onnx -o t.onnx --loss softmax-cross-entropy --label y --class-weights ";
  CHECK_THAT(shop.succeed(command + "balanced --data x.npy y.npy").out,
             Contains("class weights: 0 2, 1 1, 2 0.666667\n"));
  save_array(shop / "y.npy", Tensor::of<std::int64_t>({6}, {2, 0, 2, 0, 2, 2}));
  shop.refuse(command + "balanced --data x.npy y.npy",
              "class '1' has no rows in the training data");
  CHECK(shop.run(command + "balanced").exit_code == 2);
  CHECK(shop.run(command + "1,2,3 --data x.npy y.npy").exit_code == 2);
  for (const char* wrong : {"1,2,x", "1,,2", "balance"}) {
    CHECK_THAT(shop.run(command + wrong).err, Contains("--class-weights needs numbers"));
  }
}
