// At which element a tensor stops being a constant of one kind.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include "graph/training/prepare/parameters/constants.h"
#include "tests/graph/training/small_network.h"

using namespace ondine;
using namespace ondine::graph;
using namespace ondine::test;

namespace {

using Floats = std::vector<float>;

Tensor row(const Floats& values) {
  return Tensor::of<float>({1, static_cast<std::int64_t>(values.size())}, values);
}

// Why `value`, read by an `op`, is no parameter.
std::string reason(const Tensor& value, const std::string& op = "Add",
                   const std::string& name = "k") {
  ModelDef model = network();
  InitializerDef& added = model.graph.initializers.emplace_back();
  added.name = name;
  added.value = value;
  model.graph.nodes.push_back(named_node(op, {"logits", name}, {"extra"}));
  return constant_reason(name, value, DocumentUses(model.graph));
}

std::string reason(const Floats& values, const std::string& op = "Add") {
  return reason(row(values), op);
}

const std::string even = "counts up evenly, as positions do";
const std::string series = "a geometric series, as frequencies are";
const std::string grid = "a grid of whole and half numbers, as anchors are";
const std::string ones = "a mask of 0 and 1";
const std::string sines = "a table of sines and cosines";
const std::string buffer = "named as buffers are";

}  // namespace

TEST_CASE("an element that is not finite anywhere, or one of a million, is unfit") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  CHECK(unfit_values(row({1, 2, -infinity})) == "holds infinities or NaN, as masks do");
  CHECK(unfit_values(row({std::nanf(""), 1})) == "holds infinities or NaN, as masks do");
  CHECK(unfit_values(row({3, -1e6F})) == "holds elements of size 1e+06, as masks do");
  CHECK(unfit_values(row({3, -999'999})).empty());
  CHECK(unfit_values(row({0, -1000, 0, -1000})) == "a mask of 0 and -1000");
  CHECK(unfit_values(row({1000, 0})) == "a mask of 0 and 1000");
  CHECK(unfit_values(row({0, -999.9F})).empty());
  CHECK(unfit_values(row({0, -1000, 5})).empty());
  CHECK(unfit_values(row({-1000, -1000})).empty());
  CHECK(unfit_values(row({-1000})).empty());
  CHECK(unfit_values(row({0, 0})).empty());
  CHECK(unfit_values(Tensor::of<std::int64_t>({2}, {0, 10'000'000})).empty());
}

TEST_CASE("eight numbers at equal distances count up evenly") {
  CHECK(reason({3, 5, 7, 9, 11, 13, 15, 17}) == even);
  CHECK(reason({3, 2.9F, 2.8F, 2.7F, 2.6F, 2.5F, 2.4F, 2.3F}) == even);
  CHECK(reason({0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F}).empty());
  CHECK(reason({0.1F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, 0.81F}).empty());
  CHECK(reason({0.1F, 0.2F, 0.31F, 0.4F, 0.5F, 0.6F, 0.7F, 0.8F}).empty());
  CHECK(reason({0.1F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F, 0.1F}).empty());
  CHECK(reason({3, 5, 7, 9, 11, 13, 15, 17}, "MatMul").empty());
}

TEST_CASE("four numbers with one ratio, along one axis, are a geometric series for any reader") {
  CHECK(reason({0.3F, 0.6F, 1.2F, 2.4F}, "MatMul") == series);
  CHECK(reason({8, 2, 0.5F, 0.125F}) == series);
  CHECK(reason({0.3F, 0.6F, 1.2F}).empty());
  CHECK(reason({0.3F, 0.6F, 1.2F, 2.41F}).empty());
  CHECK(reason({0.3F, 0.61F, 1.2F, 2.4F}).empty());
  CHECK(reason({-0.3F, -0.6F, -1.2F, -2.4F}).empty());
  CHECK(reason({0.3F, 0.3F, 0.3F, 0.3F}).empty());
  CHECK(reason(Tensor::of<float>({2, 2}, {0.3F, 0.6F, 1.2F, 2.4F})).empty());
  CHECK(reason(Tensor::of<float>({4, 1}, {0.3F, 0.6F, 1.2F, 2.4F})) == series);
}

TEST_CASE("six halves of three kinds are a grid, zeros and ones of two dims a mask") {
  CHECK(reason({0.5F, 1.5F, 7, 0.5F, 0.5F, 0.5F}) == grid);
  CHECK(reason({0.5F, 1.5F, 7, 0.5F, 0.5F}).empty());
  CHECK(reason({0.5F, 1.5F, 0.5F, 0.5F, 0.5F, 0.5F}).empty());
  CHECK(reason({0.5F, 1.5F, 7, 0.5F, 0.5F, 0.25F}).empty());
  CHECK(reason({0.5F, 1.5F, 7, 0.5F, 0.5F, 0.5F}, "MatMul").empty());
  CHECK(reason({0, 1}) == ones);
  CHECK(reason({1, 0}, "Where") == ones);
  CHECK(reason({1, 1}).empty());
  CHECK(reason({0, 0}).empty());
  CHECK(reason({0, 0.9F}).empty());
  CHECK(reason({0, 1}, "MatMul").empty());
  CHECK(reason(Tensor::of<float>({2}, {0, 1})).empty());
  CHECK(reason(row({0})).empty());
}

TEST_CASE("a table of sines begins with zeros and ones and goes on with the sine of 1") {
  const auto table = [](std::int64_t rows, std::int64_t width, double first, double angle,
                        double factor = 1) {
    Tensor tensor(DType::float32, {rows, width});
    for (std::int64_t p = 0; p < rows; ++p) {
      for (std::int64_t i = 0; i < width; ++i) {
        const double at = static_cast<double>(p) * angle / std::pow(100, i / 2);
        const double value = i % 2 == 0 ? std::sin(at) : std::cos(at);
        tensor.mutable_values<float>()[static_cast<std::size_t>(p * width + i)] =
            static_cast<float>(factor * (p == 0 && i == 0 ? first : value));
      }
    }
    return tensor;
  };
  CHECK(reason(table(4, 6, 0, 1), "MatMul") == sines);
  CHECK(reason(table(2, 4, 0, 1)) == sines);
  CHECK(reason(table(3, 2, 0, 1)).empty());    // six elements
  CHECK(reason(table(1, 8, 0, 1)) == ones);    // one position
  CHECK(reason(table(8, 1, 0, 1)).empty());    // one channel
  CHECK(reason(table(4, 6, 0.5, 1)).empty());  // begins with another number
  CHECK(reason(table(4, 6, 0, 0.9)).empty());  // another frequency
  CHECK(reason(table(4, 6, 0, 1, 1.1)).empty());
  // Cosines first.
  Tensor cosines = table(2, 4, 0, 1);
  auto values = cosines.mutable_values<float>();
  for (std::size_t i = 0; i < 8; i += 2) std::swap(values[i], values[i + 1]);
  CHECK(reason(cosines) == sines);
}

TEST_CASE("names of buffers count at the end of a path, and only for readers of elements") {
  const Tensor any = row({0.3F, 0.7F, 0.2F});
  CHECK(reason(any, "Add", "layer.mask") == buffer);
  CHECK(reason(any, "Add", "a/b/inv_freq") == buffer);
  CHECK(reason(any, "Add", "scope.grid:0") == buffer);
  CHECK(reason(any, "Add", "grid") == buffer);
  CHECK(reason(any, "Add", "grid.weight").empty());
  CHECK(reason(any, "Add", "grid2").empty());
  CHECK(reason(any, "Add", "a::grid").empty());
  CHECK(reason(any, "MatMul", "layer.mask").empty());
  CHECK(reason(any, "MatMul", "window_buffer") == buffer);
}

TEST_CASE("exporters give some names to parameters alone") {
  for (const char* name : {"weight", "a.bias", "x/logit_scale", "logit_bias:0",
                           "dense/kernel/Read/ReadVariableOp", "block/ReadVariableOp:0"}) {
    INFO(name);
    CHECK(is_parameter_name(name, ""));
  }
  for (const char* name : {"weights", "a.b", "", "model.temperature"}) {
    INFO(name);
    CHECK_FALSE(is_parameter_name(name, "tf2onnx"));
  }
  for (const char* name : {"model.temperature", "a_b.c9", "Z", "z", "x0"}) {
    INFO(name);
    CHECK(is_parameter_name(name, "pytorch"));
  }
  for (const char* name :
       {"", "0x", "9a", "val_7", "_hidden", "constant3", "scalar_tensor_default", "lifted_tensor_0",
        "a/b", "a b", "a-b", "a:b", "a[b", "a{b", "a`b", "a@b"}) {
    INFO(name);
    CHECK_FALSE(is_parameter_name(name, "pytorch"));
  }
}
