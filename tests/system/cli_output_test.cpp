// Output of commands for a model whose every number is known.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <catch2/catch.hpp>
#include <complex>
#include <nlohmann/json.hpp>

#include <ondine/data.h>

#include "tests/support/bits.h"
#include "tests/support/models.h"
#include "tests/support/paths.h"
#include "tests/system/run/cli_run.h"

using Catch::Contains;
using Catch::StartsWith;
using cli_test::Workshop;
using namespace ondine;
using nlohmann::json;
using ondine::test::with_bits;

namespace {

void write_model(const Workshop& shop, const std::string& name, const graph::ModelDef& model) {
  const std::vector<std::byte> bytes = test::encode(model);
  shop.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// x [N, 2] -> y [N, 1], with weights w [2, 1] and b [1].
void write_line(const Workshop& shop) {
  write_model(shop, "line.onnx", test::linear_regression(0.1F));
}

using Bytes = std::vector<std::uint8_t>;
using Words = std::vector<std::uint16_t>;
using Complex = std::complex<float>;
using WideComplex = std::complex<double>;

}  // namespace

TEST_CASE("info prints inputs, algorithms, metrics, state and parameters, and nothing else") {
  const Workshop shop;
  write_line(shop);
  const std::string text = shop.succeed("info line.onnx").out;
  const std::string known =
      "inputs\n"
      "  x  tensor(float)[N, 2]\n"
      "outputs\n"
      "  y  tensor(float)[N, 1]\n"
      "training algorithm 0: updates 2 variables\n"
      "  inputs\n"
      "  t  tensor(float)[N, 1]\n"
      "  metrics\n"
      "  loss\n"
      "state\n"
      "  w  float[2, 1]  weight\n"
      "  b  float[1]  weight\n"
      "trained parameters: 3\n"
      "fingerprint: ";
  CHECK_THAT(text, StartsWith(known));
  CHECK(text.size() == known.size() + 64 + 1);
  const std::string digest = text.substr(known.size(), 64);
  CHECK(digest.find_first_not_of("0123456789abcdef") == std::string::npos);
  const json info = json::parse(shop.succeed("info line.onnx --json").out);
  CHECK(info["fingerprint"] == digest);
  CHECK(info["trained_parameters"] == 3);
  CHECK(info["contrib_operators"].empty());
  CHECK(info["inputs"] == json::parse(R"([{"name": "x", "type": "tensor(float)[N, 2]",
                                           "has_default": false, "dims": [-1, 2]}])"));
  CHECK(info["outputs"][0]["name"] == "y");
  REQUIRE(info["algorithms"].size() == 1);
  CHECK(info["algorithms"][0]["updates"] == json::parse(R"(["w", "b"])"));
  CHECK(info["algorithms"][0]["inputs"].size() == 2);
  CHECK(info["algorithms"][0]["outputs"].size() == 3);
  CHECK(info["state"] == json::parse(R"([
      {"name": "w", "role": "weight", "dtype": "float", "dims": [2, 1]},
      {"name": "b", "role": "weight", "dtype": "float", "dims": [1]}])"));
  const std::string two = shop.succeed("info line.onnx net.onnx").out;
  CHECK_THAT(two, StartsWith("line.onnx\n" + text + "net.onnx\ninputs\n"));
}

TEST_CASE("info counts the parameters and multiply-adds of each layer for the shapes given") {
  const Workshop shop;
  write_line(shop);
  const std::string text = shop.succeed("info --layers line.onnx --shape x=5x2").out;
  CHECK_THAT(text, StartsWith("input x [5, 2]\ninput t [5, 1]\n") &&
                       Contains("parameters: 3 (trained 3, frozen 0)\nmultiply-adds: 10\n"));
  const json info = json::parse(shop.succeed("info --layers line.onnx --json").out);
  REQUIRE(info["layers"].size() == 2);
  CHECK(info["layers"][0]["operator"] == "MatMul");
  CHECK(info["layers"][0]["node"] == 0);
  CHECK(info["layers"][0]["multiply_adds"] == 2);
  CHECK(info["layers"][0]["trained_parameters"] == 2);
  CHECK(info["layers"][1]["trained_parameters"] == 1);
  CHECK(info["layers"][1]["output_bytes"] == sizeof(float));
  CHECK(info["multiply_adds"] == 2);
  CHECK(info["frozen_parameters"] == 0);
  CHECK(info["inference"]["state_bytes"] == 3 * sizeof(float));
  CHECK(info.contains("step"));
  shop.refuse("info --layers line.onnx --shape x=5x3", "must be a tensor(float)[N, 2]");
  shop.refuse("info --layers line.onnx --shape z=5x2", "inputs are 'x' 't'");
  for (const char* wrong : {"x=5x", "x=x2", "x=", "=5x2", "x=5x-2", "x=5x2 --shape x"}) {
    CHECK(shop.run(std::string("info --layers line.onnx --shape ") + wrong).exit_code == 1);
  }
  CHECK(shop.run("info line.onnx --shape x=5x2").exit_code == 2);
}

TEST_CASE("lower prints the feeds, the state, the results and what becomes of the state") {
  const Workshop shop;
  write_line(shop);
  CHECK_THAT(shop.succeed("lower line.onnx -o step.onnx").out,
             StartsWith("step.onnx: ") && Contains(" nodes of ai.onnx 18\n"
                                                   "  feeds    x  t\n"
                                                   "  state    w  b\n"
                                                   "  results  loss  w_new  b_new\n"
                                                   "  next     w = w_new\n"
                                                   "  next     b = b_new\n"));
  CHECK_THAT(shop.succeed("lower line.onnx -o step.onnx --opset 21").out,
             Contains(" nodes of ai.onnx 21\n"));
  shop.refuse("lower line.onnx -o none.onnx --algorithm 1", "1");
  CHECK(shop.run("lower line.onnx -o step.onnx --algorithm 0 --initialization-of 0").exit_code ==
        2);
}

TEST_CASE("bench counts the memory of its own program, not of the one that started it") {
  const Workshop shop;
  write_line(shop);
  const std::string model = shop / "line.onnx";
  const std::string output = shop / "bench.json";
  const std::string program = test::command_line_program();
  constexpr std::size_t bytes = std::size_t{512} << 20;
  const std::vector<char> large(bytes, 1);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    ::dup2(::creat(output.c_str(), 0600), STDOUT_FILENO);
    ::execl(program.c_str(), "ondine", "bench", model.c_str(), "--steps", "2", "--json", nullptr);
    ::_exit(1);
  }
  int status = 1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  REQUIRE(status == 0);
  CHECK(large.back() == 1);
  CHECK(json::parse(shop.read("bench.json"))["resident_bytes"] < bytes / 2);
}

TEST_CASE("bench reports the plan of the step that it times, and each operator once") {
  const Workshop shop;
  write_line(shop);
  const json step =
      json::parse(shop.succeed("bench line.onnx --dim-size 7 --steps 10 --threads 2 --json").out);
  CHECK(step["model"] == "line.onnx");
  CHECK(step["batch"] == 7);
  CHECK(step["threads"] == 2);
  CHECK(step["steps"] == 10);
  CHECK(step["state_bytes"] >= 3 * sizeof(float));
  CHECK(step["fastest_ms"] <= step["median_ms"]);
  CHECK(step["fastest_ms"] > 0);
  CHECK(step["resident_bytes"] > 1'000'000);
  std::uint64_t calls = 0;
  for (const json& one : step["operators"]) {
    calls += one["calls"].get<std::uint64_t>();
    CHECK(one["ms"] > 0);
  }
  CHECK(calls == step["nodes"]);
  const json inference =
      json::parse(shop.succeed("bench line.onnx --inference --steps 3 --json").out);
  CHECK(inference["nodes"] < step["nodes"]);
  CHECK(inference["batch"] == 32);
  const std::string text = shop.succeed("bench line.onnx --steps 3").out;
  CHECK_THAT(text, StartsWith("median step ") && Contains(" ms, fastest ") &&
                       Contains("planned peak ") && Contains(" nodes\n"));
  // The shares of the operators are a whole.
  double share = 0;
  for (std::size_t at = text.find(" %\n"); at != std::string::npos;
       at = text.find(" %\n", at + 1)) {
    share += std::stod(text.substr(at - 5, 5));
  }
  CHECK(share == Approx(100).margin(2));
}

TEST_CASE("a plan in JSON says where each value lies and for how long") {
  const Workshop shop;
  write_line(shop);
  const json plan =
      json::parse(shop.succeed("inspect line.onnx --stage plan --shape x=4x2 --format json").out);
  std::uint64_t peak = 0;
  const std::size_t count = plan["nodes"].size();
  for (std::size_t i = 0; i < count; ++i) {
    for (const json& value : plan["nodes"][i]["outputs"]) {
      CHECK(value["first"] <= value["last"]);
      CHECK(value.contains("offset") == (value["storage"] == "arena"));
      if (value["name"] == "y") CHECK(value["bytes"] == 4 * sizeof(float));
    }
  }
  for (const json& value : plan["peak_values"]) peak += value["bytes"].get<std::uint64_t>();
  CHECK(plan["peak_node"] < count);
  CHECK(plan["peak_bytes"].get<std::uint64_t>() >= peak);
  CHECK(plan["state_bytes"] >= 3 * sizeof(float));
}

TEST_CASE("infer prints up to ten elements of every element type") {
  const Workshop shop;
  struct Row {
    Tensor value;
    const char* text;
  };
  const std::vector<Row> rows{
      {Tensor::of<float>({3}, {0.5F, -3, 1e10F}), "float[3]  0.5 -3 1e+10"},
      {Tensor::of<double>({}, {0.1}), "double[]  0.1"},
      {with_bits(DType::float16, Words{0x3c00, 0xc000, 0x0001, 0x7c00, 0xfc00}),
       "1 -2 5.96046e-08 inf -inf"},
      {with_bits(DType::bfloat16, Words{0x3f80, 0xc040, 0x7f80}), "1 -3 inf"},
      {with_bits(DType::float8e4m3fn, Bytes{0x38, 0xb8, 0x7e, 0x01, 0x7f, 0x80}),
       "1 -1 448 0.00195312 nan -0"},
      {with_bits(DType::float8e4m3fnuz, Bytes{0x40, 0x7f, 0x80, 0x00}), "1 240 nan 0"},
      {with_bits(DType::float8e5m2, Bytes{0x3c, 0x7b, 0x7c, 0xbc}), "1 57344 inf -1"},
      {with_bits(DType::float8e5m2fnuz, Bytes{0x40, 0x7f, 0x80}), "1 57344 nan"},
      {with_bits(DType::float8e8m0, Bytes{127, 128, 126, 255}), "1 2 0.5 nan"},
      {with_bits(DType::float4e2m1, Bytes{0x2, 0xf, 0x1, 0x3}), "1 -6 0.5 1.5"},
      {Tensor::of<bool>({2}, std::array{false, true}), "bool[2]  0 1"},
      {Tensor::of<std::uint8_t>({1}, {255}), "255"},
      {Tensor::of<std::int8_t>({1}, {-128}), "-128"},
      {Tensor::of<std::uint16_t>({1}, {65535}), "65535"},
      {Tensor::of<std::int16_t>({1}, {-32768}), "-32768"},
      {Tensor::of<std::uint32_t>({1}, {4000000000U}), "4000000000"},
      {Tensor::of<std::int32_t>({1}, {-7}), "-7"},
      {Tensor::of<std::uint64_t>({1}, {std::uint64_t{1} << 63}), "9223372036854775808"},
      {Tensor::of<std::int64_t>({2}, {-9223372036854775807, 9007199254740993}),
       "-9223372036854775807 9007199254740993"},
      {Tensor::of<std::int32_t>({1}, {-2147483647}), "-2147483647"},
      // Whole numbers as their type tells them apart, others with six digits.
      {Tensor::of<float>({5}, {1234567, 16777216, -2147483648.0F, 1234567.5F, 0.1F}),
       "1234567 16777216 -2147483648 1.23457e+06 0.1"},
      {Tensor::of<double>({3}, {1234567890123, 1.0 / 3, 1e300}), "1234567890123 0.333333 1e+300"},
      {with_bits(DType::bfloat16, Words{0x4996}), "1228800"},
      {Tensor::of<std::int64_t>({11}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, -1}),
       "0 1 2 3 4 5 6 7 8 9 ..."},
      {Tensor::of<std::int64_t>({10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "0 1 2 3 4 5 6 7 8 9"},
      {Tensor::of<Complex>({1}, std::vector<Complex>{{2, 5}}), "2"},
      {Tensor::of<WideComplex>({1}, std::vector<WideComplex>{{-3, 5}}), "-3"},
      {Tensor::of<std::string>({2}, {"a b", ""}), "string[2]  \"a b\" \"\""},
      {with_bits(DType::uint4, Bytes{0, 15}), "0 15"},
      {with_bits(DType::int4, Bytes{7, 0xf8}), "7 -8"},
      {with_bits(DType::uint2, Bytes{3, 1}), "3 1"},
      {with_bits(DType::int2, Bytes{1, 0xfe}), "1 -2"}};
  for (const Row& row : rows) {
    CAPTURE(row.text);
    graph::ModelDef model = test::linear_regression(0);
    model.training.clear();
    model.graph.initializers.clear();
    model.ir_version = 13;
    model.opsets = {{"", 25}};
    std::vector<graph::DimDef> dims;
    for (std::size_t i = 0; i < row.value.shape().rank(); ++i) {
      dims.emplace_back(row.value.shape()[i]);
    }
    model.graph.inputs = {test::tensor_value("x", row.value.dtype(), dims)};
    model.graph.outputs = {test::tensor_value("y", row.value.dtype(), dims)};
    model.graph.nodes = {test::node("Identity", {"x"}, {"y"})};
    write_model(shop, "copy.onnx", model);
    save_value(shop / "x.pb", {"x", row.value});
    const std::string out = shop.succeed("infer copy.onnx --input x=x.pb").out;
    CHECK_THAT(out, StartsWith("y  ") && Catch::EndsWith(std::string(" ") + row.text + "\n"));
  }
}

TEST_CASE("eval, train and infer agree with a count by hand") {
  const Workshop shop;
  write_line(shop);
  // y = 0.5 x0 - x1 + 0.25, and targets 1, 0, 2.
  save_array(shop / "x.npy", Tensor::of<float>({3, 2}, {1, 2, -1, 0.5F, 0.25F, -2}));
  save_array(shop / "t.npy", Tensor::of<float>({3, 1}, {1, 0, 2}));
  CHECK(shop.succeed("infer line.onnx --input x=x.npy").out ==
        "y  float[3, 1]  -1.25 -0.75 2.375\n");
  // Errors -2.25, -0.75, 0.375.
  const json score = json::parse(
      shop.succeed("eval line.onnx --data x.npy t.npy --label t --batch-size 2 --json").out);
  CHECK(score["rows"] == 3);
  CHECK(score["mse"].get<double>() == Approx(1.921875).epsilon(1e-6));
  CHECK(score["mae"].get<double>() == Approx(1.125).epsilon(1e-6));
  shop.succeed(
      "train line.onnx --data x.npy t.npy --epochs 1 --batch-size 3 --metrics log.jsonl "
      "--checkpoint run.ckpt");
  const json line = json::parse(shop.read("log.jsonl"));
  CHECK(line["loss"].get<double>() == Approx(1.921875).epsilon(1e-6));
  CHECK(line["epoch"] == 1);
  CHECK(line["step"] == 1);
  CHECK(line["rows"] == 3);
  // db = 2 / 3 (-2.25 - 0.75 + 0.375) = -1.75, so that b becomes 0.25 + 0.175; w in the same way:
  // dw0 = 2 / 3 (-2.25 + 0.75 + 0.09375), dw1 = 2 / 3 (-4.5 - 0.375 - 0.75).
  save_array(shop / "zero.npy", Tensor(DType::float32, {1, 2}));
  CHECK(shop.succeed("infer line.onnx --checkpoint run.ckpt --input x=zero.npy").out ==
        "y  float[1, 1]  0.425\n");
  save_array(shop / "one.npy", Tensor::of<float>({1, 2}, {1, 0}));
  CHECK(shop.succeed("infer line.onnx --checkpoint run.ckpt --input x=one.npy").out ==
        "y  float[1, 1]  1.01875\n");
  save_array(shop / "two.npy", Tensor::of<float>({1, 2}, {0, 1}));
  CHECK(shop.succeed("infer line.onnx --checkpoint run.ckpt --input x=two.npy").out ==
        "y  float[1, 1]  -0.2\n");
}
