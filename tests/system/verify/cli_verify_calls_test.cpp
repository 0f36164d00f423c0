// Calls of hostile cases and of `replay`, values that are drawn, and maps.
#include <catch2/catch.hpp>

#include <ondine/data.h>

#include "tests/support/models.h"
#include "tests/system/verify/verify_cases.h"

using Catch::Contains;
using namespace cli_test;  // NOLINT
using namespace ondine;
namespace fs = std::filesystem;

namespace {

// linear_regression() whose initialization sets w to rows 0 and `second` of [[5], [6]]; a row that
// is drawn is not known before the call.
graph::ModelDef starting(float second) {
  graph::ModelDef model = test::linear_regression(0.1F);
  graph::GraphDef start;
  start.name = "start";
  start.initializers = {{"rows", Tensor::of<float>({2, 1}, {5, 6}), "", {}},
                        {"zero", Tensor::of<std::int64_t>({1}, {0}), "", {}}};
  start.nodes = {
      test::node("RandomUniform", {}, {"drawn"},
                 {{"shape", std::vector<std::int64_t>{1}}, {"low", second}, {"high", second}}),
      test::node("Cast", {"drawn"}, {"second"}, {{"to", std::int64_t{7}}}),
      test::node("Concat", {"zero", "second"}, {"both"}, {{"axis", std::int64_t{0}}}),
      test::node("Gather", {"rows", "both"}, {"w_start"})};
  start.outputs = {
      test::tensor_value("w_start", DType::float32, {std::int64_t{2}, std::int64_t{1}})};
  model.training[0].initialization = std::move(start);
  model.training[0].initialization_binding = {{"w", "w_start"}};
  return model;
}

void write_model(const Workshop& shop, const std::string& folder, const graph::ModelDef& model) {
  fs::create_directories(shop / folder);
  shop.write(folder + "/model.onnx", text_of(test::encode(model)));
}

// Fifty of a hundred elements are 1, the others 0, from `first` on; `scale` in place of 1.
Tensor halves(std::int64_t first, std::int64_t ones = 50, float scale = 1) {
  std::vector<float> values(100, 0);
  for (std::int64_t i = 0; i < ones; ++i)
    values[static_cast<std::size_t>((first + i) % 100)] = scale;
  return Tensor::of<float>({100}, values);
}

}  // namespace

TEST_CASE("a hostile case makes the call that it names, and no other") {
  const Workshop shop;
  struct Row {
    const char* call;
    float second;  // row of the initialization: 1, or 7, which is none
    bool fits;     // the feeds
    const char* verdict;
    const char* failure;  // null: passes
  };
  const std::vector<Row> rows{{"initialize", 1, true, "accept", nullptr},
                              {"initialize", 1, true, "reject-run", "accepted"},
                              {"initialize", 7, true, "reject-run", nullptr},
                              {"initialize", 7, true, "reject", "loaded; the call failed: "},
                              {"initialize", 7, true, "accept", "refused: "},
                              {"train_step", 7, true, "accept", nullptr},
                              {"train_step", 7, true, "reject-run", "accepted"},
                              {"train_step", 7, false, "reject-run", nullptr},
                              {"infer", 7, true, "accept", nullptr},
                              {"infer", 7, false, "reject-run", nullptr}};
  for (const Row& row : rows) {
    CAPTURE(row.call, row.second, row.fits, row.verdict);
    write_model(shop, "case", starting(row.second));
    const bool trains = std::string(row.call) == "train_step";
    fs::remove(shop / "case/input_1.pb");
    save_value(shop / "case/input_0.pb",
               {"x", row.fits ? line_x() : Tensor(DType::float32, {3, 3})});
    if (trains) save_value(shop / "case/input_1.pb", {"t", line_t()});
    shop.write("case/expect", std::string(row.verdict) + "\nwhy\ncall: " + row.call + "\n");
    if (row.failure == nullptr) {
      expect_success(shop, "case");
    } else {
      expect_failure(shop, "case", row.failure);
    }
  }
  shop.write("case/expect", "reject-run\nwhy\ncall: initialize\nmention: nobody says this\n");
  write_model(shop, "case", starting(7));
  expect_failure(shop, "case", "the message does not contain 'nobody says this': ");
  shop.write("case/expect", "reject-run\nwhy\ncall: initialize\nmention: Gather\n");
  expect_success(shop, "case");
  shop.write("case/expect", "refuse\n");
  expect_failure(shop, "case", "unknown verdict 'refuse'");
  shop.write("case/expect", "accept\nwhy\ncall: train\n");
  expect_failure(shop, "case", "unknown call 'train'");
}

TEST_CASE("verify bounds the arena and the weights of hostile models, not only single tensors") {
  const Workshop shop;
  // Two tensors of 0.75 GB that are needed at once.
  graph::ModelDef wide = identity(DType::float32, {1});
  const std::int64_t count = 200'000'000;
  wide.graph.initializers = {{"dims", Tensor::of<std::int64_t>({1}, {count}), "", {}}};
  wide.graph.outputs = {test::tensor_value("y", DType::float32, {count})};
  wide.graph.nodes = {test::node("Expand", {"x", "dims"}, {"a"}), test::node("Exp", {"a"}, {"b"}),
                      test::node("CumSum", {"b", "x_axis"}, {"c"}),
                      test::node("Sub", {"b", "c"}, {"y"})};
  wide.graph.initializers.push_back({"x_axis", Tensor::scalar(std::int32_t{0}), "", {}});
  write_model(shop, "wide", wide);
  save_value(shop / "wide/input_0.pb", {"x", Tensor::of<float>({1}, {1})});
  shop.write("wide/expect", "reject-run\nit takes too much\ncall: infer\n");
  expect_success(shop, "wide");
}

TEST_CASE("a training case with a file named initialize begins with an initialization") {
  const Workshop shop;
  write_model(shop, "case", starting(1));
  const fs::path set = shop / "case/train_data_set_0";
  fs::create_directories(set / "expected_initial");
  fs::create_directories(set / "expected_state");
  const auto want = [&](float first, float second) {
    const Tensor w = Tensor::of<float>({2, 1}, {first, second});
    for (const char* folder : {"expected_initial", "expected_state"}) {
      save_value(set / folder / "0.pb", {"w", w});
      save_value(set / folder / "1.pb", {"b", Tensor::of<float>({1}, {0.25F})});
    }
  };
  want(0.5F, -1);
  expect_success(shop, "case");
  shop.write("case/train_data_set_0/initialize", "");
  expect_failure(shop, "case", "'w'");
  want(5, 6);
  expect_success(shop, "case");
}

TEST_CASE("replay writes outputs and state of each call in its order") {
  const Workshop shop;
  write_model(shop, "case", starting(1));
  const std::string state = R"("state": ["w"]})";
  const std::string step = R"({"call": "train", "algorithm": 0, "outputs": ["loss"], )" + state;
  shop.write("case/case.json", R"({"calls": [{"call": "load", )" + state +
                                   R"(, {"call": "initialize", )" + state + ", " + step +
                                   R"(, {"call": "infer", "outputs": [], )" + state + "]}");
  const auto input = [&](const std::string& set, const char* file, const NamedValue& value) {
    fs::create_directories(shop / ("case/" + set));
    save_value(shop / ("case/" + set) / file, value);
  };
  input("call_2", "input_0.pb", {"x", line_x()});
  input("call_2", "input_1.pb", {"t", line_t()});
  input("call_3", "input_0.pb", {"x", line_x()});
  shop.succeed("replay case results");
  const auto w = [&](int call) {
    const std::string file = "results/call_" + std::to_string(call) + "/state_0.pb";
    const NamedValue found = load_value(shop / file, "");
    CHECK(found.first == "w");
    return found.second.tensor();
  };
  CHECK(w(0).identical(Tensor::of<float>({2, 1}, {0.5F, -1})));
  CHECK(w(1).identical(Tensor::of<float>({2, 1}, {5, 6})));
  CHECK_FALSE(w(2).identical(w(1)));
  CHECK(w(3).identical(w(2)));
  CHECK(load_value(shop / "results/call_2/output_0.pb", "").first == "loss");
  CHECK_FALSE(fs::exists(shop / "results/call_3/output_0.pb"));
  const Tensor trained = w(2);
  const std::string iterate = R"({"call": "iterate", "algorithms": [0], )" + state;
  shop.write("case/case.json", R"({"calls": [{"call": "load", )" + state +
                                   R"(, {"call": "initialize", )" + state + ", " + iterate + "]}");
  shop.succeed("replay case results");
  CHECK(w(2).identical(trained));
  shop.write("case/case.json", R"({"calls": [{"call": "load", )" + state +
                                   R"(, {"call": "guess", "outputs": [], )" + state + "]}");
  shop.refuse("replay case results", "unknown call 'guess'");
}

TEST_CASE("verify tests what is drawn by its values and the share of zeros") {
  const Workshop shop;
  const std::string bernoulli = "test_bernoulli";
  write_copy(shop, bernoulli, halves(0), halves(30, 20));
  expect_success(shop, bernoulli);
  write_copy(shop, bernoulli, halves(0, 50, 2), halves(30));
  expect_failure(shop, bernoulli, "values other than 0 and 1");
  write_copy(shop, bernoulli, halves(0), Tensor(DType::float32, {50}));
  expect_failure(shop, bernoulli, "got float[100], want float[50]");

  // y is x: what x has beside 0 is kept.
  const std::string dropout = "test_training_dropout";
  write_copy(shop, dropout, halves(0, 50, 3), halves(0, 50, 3));
  expect_success(shop, dropout);
  write_copy(shop, dropout, halves(0, 50, 3), halves(0, 50, 6));
  expect_failure(shop, dropout, "element 0 is 3, neither 0 nor 6");
  // Five deviations of the shares of 100 elements are 0.354.
  write_copy(shop, dropout, halves(0, 50, 3), halves(0, 15, 3));
  expect_success(shop, dropout);
  write_copy(shop, dropout, halves(0, 50, 3), halves(0, 14, 3));
  expect_failure(shop, dropout, "0.5 of the elements are dropped, expected about 0.86");
  // With a ratio of zero nothing is drawn.
  write_copy(shop, dropout + "_zero_ratio", halves(0, 50, 3), halves(0, 49, 3));
  expect_failure(shop, dropout + "_zero_ratio", "1 of 100 elements differ");
}

TEST_CASE("verify compares values, indices and shape of sparse tensors") {
  const Workshop shop;
  graph::ModelDef model = identity(DType::float32, {2, 3});
  for (auto* list : {&model.graph.inputs, &model.graph.outputs}) {
    list->front().name = "x";  // no operator takes it
    list->front().type.kind = graph::TypeKind::sparse_tensor;
    list->front().type.dims = std::vector<graph::DimDef>{"M", "N"};
  }
  model.graph.nodes.clear();
  write_model(shop, "case", model);
  fs::create_directories(shop / "case/test_data_set_0");
  const auto sparse = [](float value, std::int64_t index, const Shape& shape) {
    return Value::sparse(pair(1.0F, value), pair<std::int64_t>(0, index), shape);
  };
  save_value(shop / "case/test_data_set_0/input_0.pb", {"x", sparse(2, 4, {2, 3})});
  const auto want = [&](float value, std::int64_t index, const Shape& shape) {
    save_value(shop / "case/test_data_set_0/output_0.pb", {"x", sparse(value, index, shape)});
  };
  want(2, 4, {2, 3});
  expect_success(shop, "case");
  want(3, 4, {2, 3});
  expect_failure(shop, "case", "values: 1 of 2 elements differ, the first at 1");
  want(2, 5, {2, 3});
  expect_failure(shop, "case", "indices: 1 of 2 elements differ, the first at 1");
  want(2, 4, {3, 2});
  expect_failure(shop, "case", "got a sparse tensor of shape [2, 3], want one of [3, 2]");
}

TEST_CASE("verify compares the keys of maps") {
  const Workshop shop;
  graph::ModelDef model = identity(DType::float32, {1, 2});
  model.opsets.emplace_back("ai.onnx.ml", 1);
  graph::TypeDef map;
  map.kind = graph::TypeKind::map;
  map.dtype = DType::int64;
  map.element =
      std::make_shared<const graph::TypeDef>(test::tensor_value("", DType::float32, {}).type);
  model.graph.outputs[0].type = {};
  model.graph.outputs[0].type.kind = graph::TypeKind::sequence;
  model.graph.outputs[0].type.element = std::make_shared<const graph::TypeDef>(map);
  model.graph.nodes = {test::node("ZipMap", {"x"}, {"y"},
                                  {{"classlabels_int64s", std::vector<std::int64_t>{3, 5}}},
                                  "ai.onnx.ml")};
  write_model(shop, "case", model);
  fs::create_directories(shop / "case/test_data_set_0");
  save_value(shop / "case/test_data_set_0/input_0.pb", {"x", Tensor::of<float>({1, 2}, {1, 2})});
  const auto want = [&](std::int64_t key, float last) {
    save_value(shop / "case/test_data_set_0/output_0.pb",
               {"y", Value::sequence({Value::map(pair<std::int64_t>(3, key),
                                                 {Tensor::scalar(1.0F), Tensor::scalar(last)})})});
  };
  want(5, 2);
  expect_success(shop, "case");
  want(6, 2);
  expect_failure(shop, "case", "element 0: keys: 1 of 2 elements differ, the first at 1");
  want(5, 3);
  expect_failure(shop, "case", "element 0: element 1: 1 of 1 elements differ");
}
