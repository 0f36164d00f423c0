// Cases of `ondine verify` beyond tensors of one file: tolerances by name, sequences, models of the
// zoo, and hostile cases that are prepared.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/data.h>

#include "tests/support/models.h"
#include "tests/system/verify/verify_cases.h"

using Catch::Contains;
using namespace cli_test;  // NOLINT
using namespace ondine;
namespace fs = std::filesystem;

namespace {

// x [N] -> both, a sequence of x and of x negated.
graph::ModelDef sequence_model(const std::vector<std::string>& parts) {
  graph::ModelDef model = identity(DType::float32, {2});
  graph::ValueDef both;
  both.name = "both";
  both.type.kind = graph::TypeKind::sequence;
  both.type.element = std::make_shared<const graph::TypeDef>(model.graph.inputs[0].type);
  model.graph.outputs = {both};
  model.graph.nodes = {test::node("Neg", {"x"}, {"n"}),
                       test::node("SequenceConstruct", parts, {"both"})};
  return model;
}

Value sequence_of(const std::vector<Tensor>& tensors) {
  return Value::sequence(std::vector<Value>(tensors.begin(), tensors.end()));
}

}  // namespace

TEST_CASE("verify tolerates more in the cases that round after every operation") {
  const Workshop shop;
  struct Row {
    const char* name;
    double passes;  // relative error
    double fails;
  };
  const std::vector<Row> rows{{"plain", 0.9e-3, 1.2e-3},
                              {"test_celu_bfloat16_expanded", 9e-3, 2.5e-2},
                              {"test_dft", 0.9e-3, 1.2e-3},
                              {"test_attention_causal_bf16", 0.015, 0.017},
                              {"test_attention_padded_kv_bf16", 0.015, 0.017},
                              {"test_attention_causal_fp16", 1.9e-3, 2.1e-3},
                              {"test_attention_causal_f32", 0.9e-3, 1.2e-3},
                              {"test_attention_bf16", 0.9e-3, 1.2e-3},
                              {"test_causal_bf16", 0.9e-3, 1.2e-3}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    const auto near = [](double error) { return static_cast<float>(1000 * (1 + error)); };
    write_copy(shop, row.name, pair(near(row.passes), 1.0F), pair(1000.0F, 1.0F));
    expect_success(shop, row.name);
    write_copy(shop, row.name, pair(near(row.fails), 1.0F), pair(1000.0F, 1.0F));
    expect_failure(shop, row.name, "1 of 2 elements differ, the first at 0");
  }
  // Near zero a transform has a smaller tolerance than others.
  const auto small = [&](const char* name, float found) {
    write_copy(shop, name, pair(found, 1.0F), pair(0.0F, 1.0F));
  };
  small("test_dft", 0.9e-6F);
  expect_success(shop, "test_dft");
  small("test_dft", 1.1e-6F);
  expect_failure(shop, "test_dft", "1 of 2 elements differ");
}

TEST_CASE("verify compares sequences by kind, length and element") {
  const Workshop shop;
  const Tensor x = pair(1.0F, 2.0F);
  const Tensor minus = pair(-1.0F, -2.0F);
  fs::create_directories(shop / "case/test_data_set_0");
  shop.write("case/model.onnx", text_of(test::encode(sequence_model({"x", "n"}))));
  save_value(shop / "case/test_data_set_0/input_0.pb", {"x", x});
  const auto want = [&](const Value& value) {
    save_value(shop / "case/test_data_set_0/output_0.pb", {"both", value});
  };
  want(sequence_of({x, minus}));
  expect_success(shop, "case");
  want(sequence_of({x, x}));
  expect_failure(shop, "case", "output 'both': element 1: 2 of 2 elements differ, the first at 0");
  want(sequence_of({minus, minus}));
  expect_failure(shop, "case", "output 'both': element 0: 2 of 2 elements differ");
  want(sequence_of({x}));
  expect_failure(shop, "case", "output 'both': got 2 elements, want 1");
  want(sequence_of({x, minus, x}));
  expect_failure(shop, "case", "output 'both': got 2 elements, want 3");
  want(sequence_of({x, Tensor::of<float>({1, 2}, {-1, -2})}));
  expect_failure(shop, "case", "element 1: got float[2], want float[1, 2]");
}

TEST_CASE("verify feeds models of the zoo with rising numbers") {
  const Workshop shop;
  fs::create_directories(shop / "all/real/test_small");
  fs::create_directories(shop / "all/light");
  shop.write("all/real/test_small/data.json",
             R"({"model_name": "small", "rtol": 0.01, "atol": 0.001})");
  const std::string folder = "all/real/test_small";
  const Result lacking = shop.run("verify " + folder);
  CHECK(lacking.exit_code == 0);
  CHECK_THAT(lacking.out, Contains("SKIPPED all/real/test_small: no ") &&
                              Contains("light_small.onnx\n0 passed, 0 failed, 1 skipped\n"));
  // [N, 4]: a row of 0, 1/4, 2/4 and 3/4, to which a default of 100 is added.
  graph::ModelDef model = identity(DType::float32, {1, 4});
  model.graph.inputs[0].type.dims->front() = graph::DimName("N");
  model.graph.inputs.push_back(test::tensor_value("more", DType::float32, {}));
  model.graph.outputs[0].type.dims->front() = graph::DimName("N");
  model.graph.initializers = {{"more", Tensor::scalar(100.0F), "", {}}};
  model.graph.nodes = {test::node("Add", {"x", "more"}, {"y"})};
  shop.write("all/light/light_small.onnx", text_of(test::encode(model)));
  const auto want = [&](float last) {
    save_value(shop / "all/light/light_small_output_0.pb",
               {"y", Tensor::of<float>({1, 4}, {100, 100.25F, 100.5F, last})});
  };
  want(100.75F);
  expect_success(shop, folder);
  want(101.7F);
  expect_success(shop, folder);
  want(101.9F);
  expect_failure(shop, folder, "1 of 4 elements differ, the first at 3: got 100.75, want 101.9");
}

TEST_CASE("verify runs hostile cases in a copy that it removes, through an emulator if asked") {
  const Workshop shop;
  fs::create_directories(shop / "case");
  fs::create_directories(shop / "copies");
  shop.write("case/model.onnx", text_of(test::encode(identity(DType::float32, {2}))));
  shop.write("case/expect", "accept\nit loads\n");
  shop.write("emulator.sh", "#!/bin/sh\necho \"$2 $3\" >> calls\nexec \"$@\"\n");
  fs::permissions(shop / "emulator.sh", fs::perms::owner_all);
  const Result result =
      shop.run("verify case --emulator ./emulator.sh", "TMPDIR=$PWD/copies %; ls copies > left");
  CHECK_THAT(result.out, Contains("1 passed, 0 failed, 0 skipped"));
  CHECK(shop.read("calls") == "verify --hostile-child\n");
  CHECK(shop.read("left").empty());
  // A link is not copied, and what is too long of what setup.sh says is not kept.
  fs::create_symlink("model.onnx", shop / "case/link.onnx");
  shop.write("case/setup.sh",
             "test -e link.onnx && exit 0\nhead -c 3000000 /dev/zero | tr '\\0' x\nexit 3\n");
  // Nobody asked for it.
  CHECK_THAT(shop.succeed("verify case").out, Catch::Contains("SKIPPED case: ") &&
                                                  Catch::Contains("--run-setup") &&
                                                  Catch::Contains("0 passed, 0 failed, 1 skipped"));
  CHECK(shop.run("verify case --none-skipped").exit_code == 1);
  const Result long_text = shop.run("verify case --run-setup");
  CHECK_THAT(long_text.out, Catch::StartsWith("SKIPPED case: setup.sh: xxx"));
  CHECK(long_text.out.size() > std::size_t{1} << 20);
  CHECK(long_text.out.size() < (std::size_t{1} << 20) + 5000);
  shop.write("case/setup.sh", "test \"$(pwd)\" = \"$PWD\" && mv model.onnx gone.onnx\n");
  expect_failure(shop, "case --run-setup", "case/model.onnx': No such file");
}

TEST_CASE("verify refuses an unknown verdict and call, and reads what follows their names") {
  const Workshop shop;
  fs::create_directories(shop / "case");
  shop.write("case/model.onnx", "no model");
  const auto expect = [&](const std::string& text) { shop.write("case/expect", text); };
  expect("reject\nmention: not an ONNX model\nmention: model.onnx\n");
  expect_success(shop, "case");
  expect("reject\nmention:  model.onnx\n");
  expect_failure(shop, "case", "the message does not contain ' model.onnx'");
  expect("reject \n");
  expect_failure(shop, "case", "unknown verdict 'reject '");
  expect("reject\ncall: \n");
  expect_success(shop, "case");
  expect("reject\ncall: infer \n");
  expect_failure(shop, "case", "unknown call 'infer '");
}
