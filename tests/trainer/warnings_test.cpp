// Violations that leave a model usable: warnings for use, errors when loaded strictly.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/error.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/proto/wire.h"
#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/tensors.h"

using namespace ondine;         // NOLINT
using namespace ondine::test;   // NOLINT
using namespace ondine::graph;  // NOLINT

namespace {

using Bytes = std::vector<std::byte>;

const LoadOptions strict{.strict = true};

ValueDef floats(const std::string& name, std::vector<DimDef> dims) {
  return tensor_value(name, DType::float32, std::move(dims));
}

DimDef named(const char* name) { return DimName(name); }

// y = x w with w of shape [2, 3].
ModelDef linear(ValueDef x, ValueDef y) {
  ModelDef model;
  model.ir_version = 10;
  model.opsets = {{"", 18}};
  model.graph.name = "main";
  model.graph.inputs = {std::move(x)};
  model.graph.outputs = {std::move(y)};
  model.graph.nodes = {node("MatMul", {"x", "w"}, {"h"}), node("Relu", {"h"}, {"y"})};
  model.graph.initializers = {{"w", iota({2, 3}), "", {}}};
  return model;
}

ModelDef usual() {
  return linear(floats("x", {named("N"), std::int64_t{2}}),
                floats("y", {named("N"), std::int64_t{3}}));
}

// The only warning of a model that is an error when it is loaded strictly.
std::string warning_of(const Bytes& bytes) {
  CHECK_THROWS_AS(Model::load(bytes, strict), Error);
  const std::vector<std::string> warnings = Model::load(bytes).warnings();
  REQUIRE(warnings.size() == 1);
  return warnings[0];
}

void check_rows(const Bytes& bytes, std::int64_t rows) {
  const Model model = Model::load(bytes);
  const Tensor y = model.infer({{"x", iota({rows, 2})}})["y"].tensor();
  CHECK(y.shape() == Shape{rows, 3});
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto a = static_cast<float>(2 * i);
    CHECK(y.values<float>()[static_cast<std::size_t>(3 * i)] == a * 0 + (a + 1) * 3);
  }
}

}  // namespace

TEST_CASE("a model without flaws has no warnings") {
  const Model model = Model::load(encode(usual()), strict);
  CHECK(model.warnings().empty());
  CHECK(Model::load(encode(usual())).warnings().empty());
}

TEST_CASE("an output whose declared size inference contradicts has the inferred one") {
  const Bytes bytes = encode(linear(floats("x", {named("N"), std::int64_t{2}}),
                                    floats("y", {named("N"), std::int64_t{7}})));
  CHECK_THAT(warning_of(bytes), Catch::Contains("'y' is declared as"));
  check_rows(bytes, 4);
  CHECK(Model::load(bytes).outputs()[0].dims == std::vector<std::int64_t>{-1, 3});
}

TEST_CASE("a value_info of another rank than inference finds is ignored") {
  ModelDef model = usual();
  model.graph.value_infos = {floats("h", {std::int64_t{3}})};
  CHECK_THAT(warning_of(encode(model)), Catch::Contains("'h' is declared as"));
  check_rows(encode(model), 2);
}

TEST_CASE("prepare tells the warnings of the model that it makes, from file to file too") {
  ModelDef model = usual();
  model.graph.value_infos = {floats("h", {named("N")})};
  const TemporaryFolder folder;
  const Bytes bytes = encode(model);
  std::ofstream(folder / "in.onnx", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  PrepareReport report;
  prepare(bytes, {.loss = Loss::mse}, {}, &report);
  const PrepareReport of_files =
      prepare(folder / "in.onnx", folder / "out.onnx", {.loss = Loss::mse});
  REQUIRE(report.warnings.size() == 1);
  CHECK_THAT(report.warnings[0], Catch::Contains("'h'"));
  CHECK(of_files.warnings == report.warnings);
  // Findings of decoding come first; the model that is written no longer has them.
  model.graph.inputs = {floats("x", {std::int64_t{-1}, std::int64_t{2}})};
  const Bytes sloppy = encode(model);
  std::ofstream(folder / "in.onnx", std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(sloppy.data()),
             static_cast<std::streamsize>(sloppy.size()));
  const PrepareReport both = prepare(folder / "in.onnx", folder / "out.onnx", {.loss = Loss::mse});
  REQUIRE(both.warnings.size() == 2);
  CHECK_THAT(both.warnings[0], Catch::Contains("dimension -1 is negative, in value 'x'"));
  CHECK_THAT(both.warnings[1], Catch::Contains("'h'"));
}

TEST_CASE("the element type of a declaration is never ignored") {
  ModelDef model = usual();
  model.graph.value_infos = {tensor_value("h", DType::float64, {{}, std::int64_t{3}})};
  CHECK_THROWS_AS(Model::load(encode(model)), Error);
}

TEST_CASE("an output whose declared size a call contradicts is a warning of that call") {
  // The batch is fixed in the output alone, as some exporters write it.
  const Bytes bytes = encode(linear(floats("x", {named("N"), std::int64_t{2}}),
                                    floats("y", {std::int64_t{1}, std::int64_t{3}})));
  const Model model = Model::load(bytes);
  CHECK(model.warnings().empty());
  model.infer({{"x", iota({1, 2})}});
  CHECK(model.warnings().empty());
  CHECK(model.infer({{"x", iota({5, 2})}})["y"].tensor().shape() == Shape{5, 3});
  model.infer({{"x", iota({5, 2})}});
  model.infer({{"x", iota({1, 2})}});
  REQUIRE(model.warnings().size() == 1);
  CHECK_THAT(model.warnings()[0], Catch::Contains("output 'y' is declared as"));
}

TEST_CASE("a dimension variable with two sizes at load is a warning") {
  ModelDef model = usual();
  model.graph.value_infos = {floats("h", {named("N"), named("M")})};
  model.graph.outputs = {floats("y", {named("N"), std::int64_t{3}}), floats("z", {named("M")})};
  model.graph.nodes.push_back(
      node("ReduceSum", {"w", "axes"}, {"z"}, {{"keepdims", std::int64_t{0}}}));
  model.graph.initializers.push_back({"axes", int64s({1}), "", {}});
  CHECK_THAT(warning_of(encode(model)), Catch::Contains("for dim 'M'"));
  check_rows(encode(model), 3);
}

TEST_CASE("dimension variables of inputs are compared in every case") {
  ModelDef model = usual();
  model.graph.inputs.push_back(floats("b", {named("N"), std::int64_t{1}}));
  model.graph.nodes.back() = node("Add", {"h", "b"}, {"y"});
  const Model loaded = Model::load(encode(model));
  CHECK_THROWS_WITH(loaded.infer({{"x", iota({2, 2})}, {"b", iota({1, 1})}}),
                    Catch::Contains("for dim 'N'"));
}

TEST_CASE("an entry that repeats another is left out") {
  ModelDef model = usual();
  SECTION("an input") { model.graph.inputs.push_back(model.graph.inputs[0]); }
  SECTION("an initializer") { model.graph.initializers.push_back(model.graph.initializers[0]); }
  SECTION("a value_info") {
    model.graph.value_infos.assign(2, floats("h", {named("N"), std::int64_t{3}}));
  }
  CHECK_THAT(warning_of(encode(model)), Catch::Contains("twice"));
  check_rows(encode(model), 2);
  CHECK(Model::load(encode(model)).inputs().size() == 1);
}

TEST_CASE("entries of one name that differ are errors") {
  ModelDef model = usual();
  SECTION("inputs") { model.graph.inputs.push_back(floats("x", {named("N"), {}})); }
  SECTION("initializers") { model.graph.initializers.push_back({"w", iota({3, 2}), "", {}}); }
  SECTION("elements of initializers") {
    model.graph.initializers.push_back({"w", Tensor(DType::float32, {2, 3}), "", {}});
  }
  SECTION("value_infos") {
    model.graph.value_infos = {floats("h", {named("N"), {}}),
                               floats("h", {named("N"), named("K")})};
  }
  CHECK_THROWS_WITH(Model::load(encode(model)), Catch::Contains("twice"));
}

TEST_CASE("a dim of -1 in a declared type is unknown") {
  const auto value = [](const std::string& name, std::uint64_t last) {
    const Wire minus = Wire().number(1, UINT64_MAX);
    const Wire shape = Wire().message(1, minus).message(1, Wire().number(1, last));
    const Wire tensor = Wire().number(1, 1).message(2, shape);
    return Wire().block(1, name).message(2, Wire().message(1, tensor));
  };
  Wire graph = Wire().block(2, "main").message(11, value("x", 2)).message(12, value("y", 2));
  graph.message(1, Wire().block(1, "x").block(2, "y").block(4, "Relu"));
  const Wire wire = Wire().number(1, 10).message(8, Wire().number(2, 17)).message(7, graph);
  const Model model = Model::load(wire.bytes());
  REQUIRE(model.warnings().size() == 2);
  CHECK_THAT(model.warnings()[0],
             Catch::Contains("dimension -1 is negative, in value 'x', in graph 'main'"));
  CHECK(model.inputs()[0].dims == std::vector<std::int64_t>{-1, 2});
  CHECK(model.infer({{"x", iota({6, 2})}})["y"].tensor().shape() == Shape{6, 2});
  CHECK_THROWS_WITH(Model::load(wire.bytes(), strict), Catch::Contains("-1 is negative"));
  const TemporaryFolder folder;
  std::ofstream(folder / "m.onnx", std::ios::binary) << wire.text();
  CHECK(check_model(folder / "m.onnx").size() == 2);
}

TEST_CASE("dims that are called ? are unknown, each for itself") {
  ModelDef model = linear(floats("x", {named("?"), named("?")}), floats("y", {named("?"), {}}));
  check_rows(encode(model), 5);
  CHECK(Model::load(encode(model)).warnings().empty());
}

TEST_CASE("an input without a shape is a warning") {
  ValueDef x = floats("x", {});
  x.type.dims.reset();
  const Bytes bytes = encode(linear(x, floats("y", {named("N"), std::int64_t{3}})));
  CHECK_THAT(warning_of(bytes), Catch::Contains("graph input 'x' has no shape"));
  check_rows(bytes, 2);
}

TEST_CASE("a training model takes the batch that its inputs have, whatever outputs declare") {
  ModelDef model = linear(floats("x", {named("N"), std::int64_t{2}}),
                          floats("y", {std::int64_t{1}, std::int64_t{3}}));
  PrepareReport report;
  Model trained = prepare(encode(model), {.loss = Loss::mse}, {}, &report);
  CHECK(report.warnings.empty());
  const NamedValues feeds{{"x", iota({4, 2})}, {"label", Tensor(DType::float32, {4, 3})}};
  const double first = trained.train_step(feeds).scalar("loss");
  // The mean of squares of x w.
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    for (int k = 0; k < 3; ++k) {
      const double y = 2 * i * k + (2 * i + 1) * (3 + k);
      sum += y * y;
    }
  }
  CHECK(first == Approx(sum / 12));
}

TEST_CASE("a warning callback hears what is known and what calls find later, each once") {
  // Loading finds that the first is wrong, a call the second.
  ModelDef def = linear(floats("x", {named("N"), std::int64_t{2}}),
                        floats("y", {std::int64_t{1}, std::int64_t{3}}));
  def.graph.value_infos = {floats("h", {std::int64_t{1}})};
  Model model = Model::load(encode(def));
  std::vector<std::string> heard;
  model.set_warning_callback([&](const std::string& warning) {
    heard.push_back(warning);
    CHECK(model.warnings().size() == heard.size());
  });
  REQUIRE(heard.size() == 1);
  model.infer({{"x", iota({5, 2})}});
  model.infer({{"x", iota({5, 2})}});
  REQUIRE(heard.size() == 2);
  CHECK(heard == model.warnings());
  model.set_warning_callback({});
  model.infer({{"x", iota({6, 2})}});
  CHECK(heard.size() == 2);
}
