// verify must fail where a runtime is wrong: each case passes as it is and fails with one change.
#include <catch2/catch.hpp>
#include <cmath>
#include <complex>
#include <fstream>
#include <functional>
#include <limits>

#include <ondine/data.h>

#include "tests/support/models.h"
#include "tests/system/verify/verify_cases.h"

using Catch::Contains;
using namespace cli_test;  // NOLINT
using namespace ondine;
namespace fs = std::filesystem;

TEST_CASE("verify compares numbers within a tolerance and everything else exactly") {
  const Workshop shop;
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float infinite = std::numeric_limits<float>::infinity();
  using Complex = std::complex<float>;
  using WideComplex = std::complex<double>;
  struct Row {
    const char* name;
    Tensor x;
    Tensor want;
    const char* failure;  // null: passes
  };
  const std::vector<Row> rows{
      {"near", pair(1000.0F, 2.0F), pair(1000.9F, 2.0F), nullptr},
      {"far", pair(1000.0F, 2.0F), pair(1001.1F, 2.0F),
       "output 'y': 1 of 2 elements differ, the first at 0: got 1000, want 1001.1"},
      {"second", pair(1.0F, 2.0F), pair(1.0F, -2.0F), "1 of 2 elements differ, the first at 1"},
      {"both", pair(1.0F, 2.0F), pair(3.0F, -2.0F), "2 of 2 elements differ, the first at 0"},
      {"tiny", pair(1e-8F, 0.0F), pair(0.0F, 1e-8F), nullptr},
      {"small", pair(1e-6F, 0.0F), pair(0.0F, 0.0F), "1 of 2 elements differ"},
      {"nans", pair(nan, infinite), pair(nan, infinite), nullptr},
      {"nan_missing", pair(1.0F, 2.0F), pair(nan, 2.0F), "want nan"},
      {"nan_found", pair(nan, 2.0F), pair(1.0F, 2.0F), "got nan"},
      {"infinite_found", pair(infinite, 2.0F), pair(1.0F, 2.0F), "got inf"},
      {"infinite_missing", pair(1.0F, 2.0F), pair(infinite, 2.0F), "want inf"},
      {"other_infinity", pair(-infinite, 2.0F), pair(infinite, 2.0F), "got -inf, want inf"},
      {"doubles", pair(1.0, 2.0), pair(1.0, 2.1), "the first at 1"},
      {"integers", pair<std::int64_t>(10'000, 2), pair<std::int64_t>(10'001, 2),
       "got 10000, want 10001"},
      {"all_digits", pair<std::int64_t>(-9'007'199'254'740'993, 2),
       pair<std::int64_t>(-9'007'199'254'740'992, 2),
       "got -9007199254740993, want -9007199254740992"},
      {"unsigned_digits", pair<std::uint64_t>(18'446'744'073'709'551'615U, 2),
       pair<std::uint64_t>(18'446'744'073'709'551'614U, 2),
       "got 18446744073709551615, want 18446744073709551614"},
      {"narrow_digits", pair<std::int32_t>(2, -2'147'483'648), pair<std::int32_t>(2, 1'234'567),
       "got -2147483648, want 1234567"},
      {"second_byte", pair<std::uint8_t>(7, 8), pair<std::uint8_t>(7, 9), "the first at 1"},
      {"texts", pair<std::string>("a", "b"), pair<std::string>("a", "c"), "got 'b', want 'c'"},
      {"same_texts", pair<std::string>("a", "b"), pair<std::string>("a", "b"), nullptr},
      {"real_parts", pair(Complex(1, 2), Complex(3, 4)), pair(Complex(1, 2), Complex(5, 4)),
       "1 of 2 elements differ"},
      {"imaginary_parts", pair(Complex(1, 2), Complex(3, 4)), pair(Complex(1, 9), Complex(3, 4)),
       "1 of 2 elements differ"},
      {"wide_complex", pair(WideComplex(1, 2), WideComplex(3, 4)),
       pair(WideComplex(1, 2), WideComplex(3, 5)), "1 of 2 elements differ"},
      {"equal_complex", pair(Complex(1, 2), Complex(3, 4)), pair(Complex(1, 2), Complex(3, 4)),
       nullptr},
      {"types", pair(1.0F, 2.0F), pair(1.0, 2.0), "got float[2], want double[2]"},
      {"shapes", pair(1.0F, 2.0F), Tensor::of<float>({2, 1}, {1, 2}),
       "got float[2], want float[2, 1]"}};
  for (const Row& row : rows) {
    CAPTURE(row.name);
    write_copy(shop, row.name, row.x, row.want);
    if (row.failure == nullptr) {
      expect_success(shop, row.name);
    } else {
      expect_failure(shop, row.name, row.failure);
    }
  }
}

TEST_CASE("verify runs every data set of a case and every file of a set") {
  const Workshop shop;
  write_copy(shop, "copy", pair(1.0F, 2.0F), pair(1.0F, 2.0F));
  fs::copy(shop / "copy/test_data_set_0", shop / "copy/test_data_set_1");
  expect_success(shop, "copy");
  save_value(shop / "copy/test_data_set_1/output_0.pb", {"y", pair(1.0F, 3.0F)});
  expect_failure(shop, "copy", "the first at 1: got 2, want 3");
  fs::remove_all(shop / "copy/test_data_set_1");
  save_value(shop / "copy/test_data_set_0/output_1.pb", {"z", pair(1.0F, 2.0F)});
  expect_failure(shop, "copy", "the model has no output_1");
  fs::remove(shop / "copy/test_data_set_0/output_1.pb");
  fs::remove(shop / "copy/test_data_set_0/output_0.pb");
  expect_failure(shop, "copy", "got 1 outputs, want 0");
}

TEST_CASE("verify follows a training case through its steps, its state and an inference") {
  const Workshop shop;
  write_line(shop, "right");
  expect_success(shop, "right");
  // Changes to a copy of the case, and what verify says of each.
  const auto replaced = [](const std::string& file, const NamedValue& value) {
    return [=](const fs::path& set) { save_value(set / file, value); };
  };
  const auto one = [](float value) { return Tensor::scalar(value); };
  struct Row {
    std::function<void(const fs::path&)> change;
    const char* failure;
  };
  const std::vector<Row> rows{
      {replaced("step_0/output_0.pb", {"loss", one(9)}), "output 'loss' (step_0)"},
      {replaced("step_1/output_0.pb", {"loss", one(9)}), "output 'loss' (step_1)"},
      {replaced("step_0/input_1.pb", {"t", Tensor(DType::float32, {3, 1})}), "(step_0)"},
      {replaced("expected_initial/1.pb", {"b", Tensor::of<float>({1}, {0.3F})}),
       "state variable 'b' (expected_initial)"},
      {replaced("expected_state/0.pb", {"w", Tensor::of<float>({2, 1}, {0.5F, -1})}),
       "state variable 'w' (expected_state)"},
      {[](const fs::path& set) { fs::remove(set / "expected_state/1.pb"); },
       "the model has 2 state variables, expected_state lists 1"},
      {replaced("infer/output_0.pb", {"y", Tensor::of<float>({1, 1}, {77})}), "output 'y' (infer)"},
      {[](const fs::path& set) { fs::copy(set / "step_1", set / "step_2"); }, "(step_2)"},
      {[](const fs::path& set) { std::ofstream(set / "step_1/algorithm") << "1"; }, "algorithm 1"},
      {[](const fs::path& set) { std::ofstream(set / "tolerance") << "1e-3"; },
       "file 'tolerance' has no two numbers"}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string folder = "wrong" + std::to_string(i);
    fs::copy(shop / "right", shop / folder, fs::copy_options::recursive);
    rows[i].change(shop / (folder + "/train_data_set_0"));
    expect_failure(shop, folder, rows[i].failure);
  }
  const fs::path loose = shop / "wrong0/train_data_set_0";
  shop.write("wrong0/train_data_set_0/tolerance", "1 100");
  expect_success(shop, "wrong0");
  // A step may be without expected outputs.
  fs::remove(loose / "tolerance");
  fs::remove(loose / "step_0/output_0.pb");
  expect_success(shop, "wrong0");
}

TEST_CASE("verify judges models that must be refused by stage, message and state") {
  const Workshop shop;
  const auto expect = [&](const std::string& text) { shop.write("hostile/expect", text); };
  fs::create_directories(shop / "hostile");
  shop.write("hostile/model.onnx", text_of(test::encode(test::linear_regression(0.1F))));
  const NamedValue x{"x", line_x()};
  save_value(shop / "hostile/input_0.pb", x);
  expect("accept\nit runs\ncall: infer\n");
  expect_success(shop, "hostile");
  expect("accept\nno t is given\ncall: train_step\n");
  expect_failure(shop, "hostile", "refused: ");
  expect("reject-run\nno t is given\ncall: train_step\n");
  expect_success(shop, "hostile");
  expect("reject-run\nno t is given\nmention: 't'\ncall: train_step\n");
  expect_success(shop, "hostile");
  expect("reject-run\nno t is given\nmention: elephants\ncall: train_step\n");
  expect_failure(shop, "hostile", "the message does not contain 'elephants'");
  expect("reject\nit loads\ncall: train_step\n");
  expect_failure(shop, "hostile", "loaded; the call failed: ");
  for (const char* verdict : {"reject", "reject-run"}) {
    expect(std::string(verdict) + "\nit runs\ncall: infer\n");
    expect_failure(shop, "hostile", "accepted");
  }
  save_value(shop / "hostile/input_1.pb", {"t", line_t()});
  expect("accept\nit trains\ncall: train_step\n");
  expect_success(shop, "hostile");
  expect("accept\nthere is nothing to initialize\ncall: initialize\n");
  expect_success(shop, "hostile");
  expect("maybe\n");
  expect_failure(shop, "hostile", "unknown verdict 'maybe'");
  expect("accept\n\ncall: jump\n");
  expect_failure(shop, "hostile", "unknown call 'jump'");
}

TEST_CASE("verify prepares hostile cases in a copy by setup.sh, without what .gitignore names") {
  const Workshop shop;
  fs::create_directories(shop / "case/inside");
  fs::create_directories(shop / "outside");
  shop.write("outside/far.txt", "far");
  shop.write("case/inside/near.txt", "near");
  shop.write("case/made.txt", "left by an earlier run");
  shop.write("case/.gitignore", "/made.txt\n");
  shop.write("case/model.txt", text_of(test::encode(identity(DType::float32, {2}))));
  shop.write("case/expect", "accept\nmade by setup.sh\n");
  const auto setup = [&](const std::string& text) { shop.write("case/setup.sh", text); };
  setup(
      "set -e\ntest ! -e made.txt\ntest -e inside/near.txt\ntest -e ../outside/far.txt\n"
      "mv model.txt model.onnx\n");
  CHECK_THAT(shop.run("verify case").out, Contains("SKIPPED case: it is made by its setup.sh"));
  expect_success(shop, "--run-setup case");
  CHECK_FALSE(fs::exists(shop / "case/model.onnx"));
  setup("echo no such thing\nexit 3\n");
  const Result skipped = shop.run("verify --run-setup case");
  CHECK(skipped.exit_code == 0);
  CHECK_THAT(skipped.out, Contains("SKIPPED case: setup.sh: no such thing") &&
                              Contains("0 passed, 0 failed, 1 skipped"));
  CHECK(shop.run("verify case --none-skipped").exit_code == 1);
  shop.write("case/model.onnx", shop.read("case/model.txt"));
  fs::remove(shop / "case/setup.sh");
  CHECK(shop.run("verify case --none-skipped").exit_code == 0);
}

TEST_CASE("verify finds cases below folders, in the order of their names") {
  const Workshop shop;
  for (const char* name : {"all/b/late", "all/a", "all/b/early"}) {
    write_copy(shop, name, pair(1.0F, 2.0F), pair(1.0F, 5.0F));
  }
  fs::create_directories(shop / "all/empty");
  const Result result = shop.run("verify all/");
  CHECK(result.exit_code == 1);
  const std::size_t a = result.out.find("FAILED  all/a: ");
  const std::size_t early = result.out.find("FAILED  all/b/early: ");
  const std::size_t late = result.out.find("FAILED  all/b/late: ");
  REQUIRE(late != std::string::npos);
  CHECK(a < early);
  CHECK(early < late);
  CHECK_THAT(result.out, Contains("0 passed, 3 failed, 0 skipped"));
  shop.refuse("verify all/empty", "no cases found");
}

TEST_CASE("verify looks at random outputs as a whole") {
  const Workshop shop;
  graph::ModelDef model = identity(DType::float32, {1000});
  model.graph.initializers = {{"ratio", Tensor::scalar(0.5F), "", {}},
                              {"training", Tensor::scalar(true), "", {}}};
  model.graph.nodes = {test::node("Dropout", {"x", "ratio", "training"}, {"y"})};
  // Kept elements are scaled by `scale`; every `every`th element is dropped.
  const auto dropped = [](float scale, std::size_t every) {
    Tensor result(DType::float32, {1000});
    const auto values = result.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = i % every == 0 ? 0 : scale * static_cast<float>(1 + i);
    }
    return result;
  };
  const Tensor x = dropped(1, 2000);  // only the first is zero
  const auto check = [&](const std::string& name, const Tensor& want, const char* failure) {
    write_copy(shop, name, x, want);
    shop.write(name + "/model.onnx", text_of(test::encode(model)));
    if (failure == nullptr) {
      expect_success(shop, name);
    } else {
      expect_failure(shop, name, failure);
    }
  };
  check("training_dropout_a", dropped(2, 2), nullptr);
  check("training_dropout_b", dropped(4, 2), "neither 0 nor");
  check("training_dropout_c", dropped(2, 5), "of the elements are dropped, expected about 0.2");
  check("training_dropout_zero_ratio", dropped(2, 2), "elements differ");
  check("dropout", dropped(2, 2), "elements differ");
  model.graph.initializers.clear();
  model.graph.nodes = {test::node("Bernoulli", {"x"}, {"y"})};
  const auto fill = [&](float value) {
    Tensor result(DType::float32, {1000});
    for (float& one : result.mutable_values<float>()) one = value;
    return result;
  };
  write_copy(shop, "bernoulli", fill(0.5F), fill(1));
  shop.write("bernoulli/model.onnx", text_of(test::encode(model)));
  expect_success(shop, "bernoulli");
  shop.write("bernoulli/model.onnx", text_of(test::encode(identity(DType::float32, {1000}))));
  expect_failure(shop, "bernoulli", "values other than 0 and 1");
}
