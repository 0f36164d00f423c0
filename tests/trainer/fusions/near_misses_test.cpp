// Forms that passes recognize, and others that differ from them in one place: these keep their own
// operators, and all give the results that they give without any pass.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/form_writer.h"
#include "tests/support/fusions_run.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
using Writer = FormWriter;

// Variation of x (1 + erf(x / sqrt 2)) / 2.
struct Gelu {
  double half = 0.5;
  double one = 1;
  double root = std::sqrt(2.0);
  bool other_inside = false;   // erf of another value
  bool other_outside = false;  // times another value
  bool read_twice = false;     // the sum is an output, too
  bool by_product = false;     // times 1 / root
  const char* curve = "Erf";
};

std::size_t gelus(const Gelu& form) {
  Writer w;
  const std::string x = w.input("x", {4, 8});
  const std::string z = w.input("z", {4, 8});
  const std::string inside = form.other_inside ? z : x;
  const std::string scaled = form.by_product ? w.op("Mul", {inside, w.number(1 / form.root)})
                                             : w.op("Div", {inside, w.number(form.root)});
  const std::string sum = w.op("Add", {w.op(form.curve, {scaled}), w.number(form.one)});
  if (form.read_twice) w.output(sum, {4, 8});
  const std::string product = w.op("Mul", {form.other_outside ? z : x, sum});
  w.output(w.op("Mul", {product, w.number(form.half)}), {4, 8});
  return w.count("Gelu-");
}

// Variation of x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2.
struct TanhGelu {
  double half = 0.5;
  double one = 1;
  double scale = std::sqrt(2 / 3.14159265358979323846);
  double cubic = 0.044715;
  double power = 3;
  bool factored = false;  // x (1 + 0.044715 x^2) instead of x + 0.044715 x^3
  double inner_one = 1;   // of the factored form
  bool other = false;     // another value beside the cube
  bool sine = false;
};

std::size_t tanh_gelus(const TanhGelu& form) {
  Writer w;
  const std::string x = w.input("x", {4, 8});
  const std::string z = w.input("z", {4, 8});
  const std::string cube =
      w.op("Mul", {w.number(form.cubic), w.op("Pow", {x, w.number(form.power)})});
  std::string inner;
  if (form.factored) {
    inner = w.op("Mul", {form.other ? z : x, w.op("Add", {w.number(form.inner_one), cube})});
  } else {
    inner = w.op("Add", {form.other ? z : x, cube});
  }
  inner = w.op("Mul", {inner, w.number(form.scale)});
  const std::string curve = w.op(form.sine ? "Sin" : "Tanh", {inner});
  const std::string half = w.op("Mul", {w.number(form.half), x});
  w.output(w.op("Mul", {half, w.op("Add", {w.number(form.one), curve})}), {4, 8});
  return w.count("Gelu-");
}

// Variation of softmax(q k / 2 + mask) v.
struct Attention {
  std::int64_t axis = -1;
  std::int64_t opset = 17;
  Shape mask{1, 1, 5, 5};
  bool masked = true;
  bool mask_first = false;
  Shape scale{};  // of a constant
  bool read_twice = false;
  Int64s k{2, 3, 4, 5};
  Int64s v{2, 3, 5, 4};
  const char* join = "Add";
};

std::size_t attentions(const Attention& form) {
  Writer w(form.opset);
  const std::string q = w.input("q", {2, 3, 5, 4});
  const std::string k = w.input("k", form.k);
  const std::string v = w.input("v", form.v);
  const std::string scale = form.scale.rank() == 0 ? w.number(2) : w.random(form.scale, 1, 2);
  std::string scores = w.op("Div", {w.op("MatMul", {q, k}), scale});
  if (form.masked) {
    const std::string mask = w.random(form.mask);
    scores = form.mask_first ? w.op(form.join, {mask, scores}) : w.op(form.join, {scores, mask});
  }
  const std::string weights = w.op("Softmax", {scores}, {{"axis", form.axis}});
  if (form.read_twice) w.output(weights, {2, 3, 5, 5});
  w.output(w.op("MatMul", {weights, v}), {2, 3, 5, 4});
  return w.count("ScaledAttention-");
}

// Variation of a layer normalization over the last two axes of [2, 3, 4].
struct LayerNorm {
  Int64s mean_axes{-2, -1};
  Int64s variance_axes{1, 2};
  std::int64_t keepdims = 1;
  double power = 2;
  bool by_product = false;
  bool other_square = false;  // of another value
  bool other_mean = false;
  Shape scale{3, 4};
  Shape bias{3, 4};
  bool swapped = false;  // operands of the sums and products
  bool read_twice = false;
  double epsilon = 1e-3;
};

Writer layer_norm(const LayerNorm& form) {
  Writer w(13);
  const std::string x = w.input("x", {2, 3, 4});
  const std::string z = w.input("z", {2, 3, 4});
  const auto mean = [&](const std::string& of, const Int64s& axes) {
    return w.op("ReduceMean", {of}, {{"axes", axes}, {"keepdims", form.keepdims}});
  };
  const auto pair = [&](const char* op, const std::string& a, const std::string& b) {
    return form.swapped ? w.op(op, {b, a}) : w.op(op, {a, b});
  };
  const std::string d = w.op("Sub", {x, mean(form.other_mean ? z : x, form.mean_axes)});
  const std::string of = form.other_square ? z : d;
  const std::string square =
      form.by_product ? w.op("Mul", {d, of}) : w.op("Pow", {of, w.number(form.power)});
  const std::string root =
      w.op("Sqrt", {pair("Add", mean(square, form.variance_axes), w.number(form.epsilon))});
  const std::string normal = w.op("Div", {d, root});
  if (form.read_twice) w.output(normal, {2, 3, 4});
  const std::string scaled = pair("Mul", normal, w.random(form.scale, 0.5F, 1.5F));
  w.output(pair("Add", scaled, w.random(form.bias)), {2, 3, 4});
  return w;
}

std::size_t layer_norms(const LayerNorm& form) {
  return layer_norm(form).count(" LayerNormalization-17(");
}

// Sums that no operator takes in.
std::size_t sums(const LayerNorm& form) { return layer_norm(form).count(" Add-"); }

std::size_t normalizes(const LayerNorm& form) { return layer_norm(form).count("Normalize-"); }

}  // namespace

TEST_CASE("only what is Gelu by the error function becomes Gelu") {
  if (!fusions_run()) return;
  CHECK(gelus({}) == 1);
  CHECK(gelus({.by_product = true}) == 1);
  CHECK(gelus({.half = 0.6}) == 0);
  CHECK(gelus({.half = 1}) == 0);
  CHECK(gelus({.one = 2}) == 0);
  CHECK(gelus({.root = 1.5}) == 0);
  CHECK(gelus({.root = -std::sqrt(2.0)}) == 0);
  CHECK(gelus({.other_inside = true}) == 0);
  CHECK(gelus({.other_outside = true}) == 0);
  CHECK(gelus({.read_twice = true}) == 0);
  CHECK(gelus({.curve = "Tanh"}) == 0);
}

TEST_CASE("only what is Gelu by tanh becomes Gelu, in either form of the cubic") {
  if (!fusions_run()) return;
  CHECK(tanh_gelus({}) == 1);
  CHECK(tanh_gelus({.half = 0.25}) == 0);
  CHECK(tanh_gelus({.one = 0.5}) == 0);
  CHECK(tanh_gelus({.scale = 0.8}) == 0);
  CHECK(tanh_gelus({.cubic = 0.05}) == 0);
  CHECK(tanh_gelus({.power = 2}) == 0);
  CHECK(tanh_gelus({.other = true}) == 0);
  CHECK(tanh_gelus({.sine = true}) == 0);
  CHECK(tanh_gelus({.power = 2, .factored = true}) == 1);
  CHECK(tanh_gelus({.power = 3, .factored = true}) == 0);
  CHECK(tanh_gelus({.scale = 0.8, .power = 2, .factored = true}) == 0);
  CHECK(tanh_gelus({.cubic = 0.05, .power = 2, .factored = true}) == 0);
  CHECK(tanh_gelus({.power = 2, .factored = true, .inner_one = 2}) == 0);
  CHECK(tanh_gelus({.power = 2, .factored = true, .other = true}) == 0);
}

TEST_CASE("only a softmax over the keys becomes attention, with numbers and masks that fit") {
  if (!fusions_run()) return;
  CHECK(attentions({}) == 1);
  CHECK(attentions({.masked = false}) == 1);
  CHECK(attentions({.mask_first = true}) == 1);
  CHECK(attentions({.axis = 3}) == 1);
  CHECK(attentions({.mask = {5, 5}}) == 1);
  CHECK(attentions({.mask = {5}}) == 1);
  CHECK(attentions({.mask = {2, 3, 5, 5}}) == 1);
  CHECK(attentions({.axis = 2}) == 0);
  CHECK(attentions({.axis = 1, .opset = 11}) == 0);
  CHECK(attentions({.axis = 3, .opset = 11}) == 1);
  CHECK(attentions({.scale = {5}}) == 0);
  CHECK(attentions({.read_twice = true}) == 0);
  CHECK(attentions({.k = {1, 3, 4, 5}}) == 0);
  CHECK(attentions({.k = {4, 5}}) == 0);
  CHECK(attentions({.v = {2, 1, 5, 4}}) == 0);
  CHECK(attentions({.v = {5, 4}}) == 0);
  CHECK(attentions({.join = "Mul"}) == 0);
}

TEST_CASE("only a normalization over the last axes becomes one operator, with rows that fit") {
  if (!fusions_run()) return;
  CHECK(layer_norms({}) == 1);
  CHECK(layer_norms({.swapped = true}) == 1);
  CHECK(layer_norms({.by_product = true}) == 1);
  CHECK(layer_norms({.mean_axes = {2}, .variance_axes = {-1}, .scale = {4}, .bias = {4}}) == 1);
  CHECK(layer_norms({.mean_axes = {2, 1}}) == 1);
  // The scale or the bias has another shape than the normalized axes.
  CHECK(layer_norms({.scale = {4}}) == 0);
  CHECK(layer_norms({.scale = {1, 4}}) == 0);
  CHECK(layer_norms({.bias = {4}}) == 1);
  CHECK(layer_norms({.read_twice = true}) == 0);
  CHECK(normalizes({.read_twice = true}) == 1);
  CHECK(normalizes({.scale = {4}}) == 1);
  CHECK(sums({}) == 0);
  CHECK(sums({.swapped = true}) == 0);
  CHECK(sums({.bias = {4}}) == 1);
  for (const LayerNorm& form :
       {LayerNorm{.mean_axes = {1}}, LayerNorm{.variance_axes = {2}},
        LayerNorm{.mean_axes = {1}, .variance_axes = {1}},
        LayerNorm{.mean_axes = {0, 2}, .variance_axes = {0, 2}}, LayerNorm{.power = 4},
        LayerNorm{.by_product = true, .other_square = true}, LayerNorm{.other_square = true},
        LayerNorm{.other_mean = true}}) {
    CHECK(normalizes(form) + layer_norms(form) == 0);
  }
}

TEST_CASE("a bias that follows the model's own layer normalization is taken into it") {
  if (!fusions_run()) return;
  struct Form {
    bool has_bias = false;
    bool read_twice = false;
  };
  const auto left = [](const Form& form, const std::string& op) {
    Writer w(17);
    std::vector<std::string> operands{w.input("x", {2, 3, 4}), w.random({4})};
    if (form.has_bias) operands.push_back(w.random({4}));
    const std::string normal = w.op("LayerNormalization", operands);
    if (form.read_twice) w.output(normal, {2, 3, 4});
    w.output(w.op("Add", {normal, w.random({4})}), {2, 3, 4});
    return w.count(op);
  };
  for (const std::string op : {" LayerNormalization-17(", " Add-"}) {
    CHECK(left({}, op) == (op == " Add-" ? 0 : 1));
    CHECK(left({.has_bias = true}, op) == 1);
    CHECK(left({.read_twice = true}, op) == 1);
  }
}

TEST_CASE("a normalization with constants is folded into the convolution that it alone reads") {
  if (!fusions_run()) return;
  struct Form {
    bool read_twice = false;
    bool varying_scale = false;
    bool bias = false;
  };
  const auto norms = [](const Form& form) {
    Writer w(15);
    const std::string x = w.input("x", {2, 3, 5, 5});
    std::vector<std::string> operands{x, w.random({4, 3, 3, 3})};
    if (form.bias) operands.push_back(w.random({4}));
    const std::string y = w.op("Conv", operands);
    if (form.read_twice) w.output(y, {2, 4, 3, 3});
    const std::string scale = form.varying_scale ? w.input("s", {4}) : w.random({4});
    w.output(
        w.op("BatchNormalization", {y, scale, w.random({4}), w.random({4}), w.random({4}, 0.5F, 2)},
             {{"epsilon", 0.25F}}),
        {2, 4, 3, 3});
    return w.count("BatchNormalization-");
  };
  CHECK(norms({}) == 0);
  CHECK(norms({.bias = true}) == 0);
  CHECK(norms({.read_twice = true}) == 1);
  CHECK(norms({.varying_scale = true}) == 1);
}

TEST_CASE("Relu and Clip to [0, 6] join the product that they alone read, other bounds do not") {
  if (!fusions_run()) return;
  struct Form {
    bool relu = false;
    double low = 0;
    double high = 6;
    bool read_twice = false;
    bool conv = true;
    bool varying = false;  // the upper bound is an input
  };
  const auto joined = [](const Form& form) {
    Writer w;
    const Int64s dims = form.conv ? Int64s{2, 4, 3, 3} : Int64s{2, 4};
    const std::string y = form.conv
                              ? w.op("Conv", {w.input("x", {2, 3, 5, 5}), w.random({4, 3, 3, 3})})
                              : w.op("Gemm", {w.input("x", {2, 3}), w.random({3, 4})});
    if (form.read_twice) w.output(y, dims);
    const std::string high = form.varying ? w.input("high", {}) : w.number(form.high);
    w.output(form.relu ? w.op("Relu", {y}) : w.op("Clip", {y, w.number(form.low), high}), dims);
    return w.count(form.conv ? "ConvActivation-" : "GemmActivation-");
  };
  for (const bool conv : {true, false}) {
    CHECK(joined({.relu = true, .conv = conv}) == 1);
    CHECK(joined({.conv = conv}) == 1);
    CHECK(joined({.low = -1, .conv = conv}) == 0);
    CHECK(joined({.high = 5, .conv = conv}) == 0);
    CHECK(joined({.relu = true, .read_twice = true, .conv = conv}) == 0);
    CHECK(joined({.conv = conv, .varying = true}) == 0);
  }
}

TEST_CASE("a negative log likelihood of a LogSoftmax over the classes becomes one loss") {
  if (!fusions_run()) return;
  const auto losses = [](std::int64_t axis, std::int64_t opset, const Int64s& scores,
                         const Int64s& labels, bool read_twice) {
    Writer w(opset);
    const std::string logs = w.op("LogSoftmax", {w.input("x", scores)}, {{"axis", axis}});
    if (read_twice) w.output(logs, scores);
    w.output(w.op("NegativeLogLikelihoodLoss", {logs, w.input("label", labels, DType::int64)}), {});
    return w.count("SoftmaxCrossEntropyLoss-");
  };
  CHECK(losses(1, 17, {4, 5}, {4}, false) == 1);
  CHECK(losses(-1, 17, {4, 5}, {4}, false) == 1);
  CHECK(losses(1, 17, {4, 5, 3}, {4, 3}, false) == 1);
  CHECK(losses(0, 17, {4, 5}, {4}, false) == 0);
  CHECK(losses(-1, 17, {4, 5, 3}, {4, 3}, false) == 0);
  CHECK(losses(1, 17, {4, 5}, {4}, true) == 0);
  CHECK(losses(1, 12, {4, 5}, {4}, false) == 1);
  CHECK(losses(1, 12, {4, 5, 3}, {4, 3}, false) == 0);
}

}  // namespace ondine::test
