// RMSNormalization as exporters compose it, and forms that differ from it in one place.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/form_writer.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t width = 6;

enum class Inverse { div, reciprocal, ratio };  // x * (1 / r), x * Reciprocal(r), x / r

// Variation of an RMS normalization.
struct Form {
  Inverse inverse = Inverse::div;
  bool by_product = false;  // x * x in place of x^2
  double power = 2;
  double above = 1;  // the numerator of the inverse
  Int64s axes{-1};
  std::int64_t keepdims = 1;
  bool other_square = false;  // of another value
  bool other_x = false;       // another value is scaled
  bool read_twice = false;    // the normalized value is an output, too
  bool shifted = false;       // times 1 + scale
  Shape scale{width};
  bool fed_epsilon = false;
};

FormWriter rms_norm(const Form& form) {
  FormWriter w(18);
  const Tensor values = random_floats({2, 3, width}, 3);
  const std::string fed = w.input("x", {"N", "T", width}, values);
  const std::string z = w.input("z", {"N", "T", width}, random_floats({2, 3, width}, 4));
  const std::string x = w.op("Tanh", {fed});
  const std::string of = form.other_square ? z : x;
  const std::string square =
      form.by_product ? w.op("Mul", {of, of}) : w.op("Pow", {of, w.number(form.power)});
  const std::string mean =
      w.op("ReduceMean", {square, w.integers(form.axes)}, {{"keepdims", form.keepdims}});
  const std::string epsilon =
      form.fed_epsilon ? w.input("epsilon", std::vector<ModelBuilder::Dim>{}, Tensor::scalar(1e-3F))
                       : w.number(1e-3);
  const std::string root = w.op("Sqrt", {w.op("Add", {mean, epsilon})});
  const std::string scaled = form.other_x ? z : x;
  std::string normal;
  if (form.inverse == Inverse::ratio) {
    normal = w.op("Div", {scaled, root});
  } else {
    const std::string inverse = form.inverse == Inverse::div
                                    ? w.op("Div", {w.number(form.above), root})
                                    : w.op("Reciprocal", {root});
    normal = w.op("Mul", {scaled, inverse});
  }
  if (form.read_twice) w.named_output(normal, {"N", "T", width});
  std::string scale = w.builder().initializer("w", random_floats(form.scale, 5, 0.5F, 1.5F));
  if (form.shifted) scale = w.op("Add", {w.number(1), scale});
  w.named_output(w.op("Mul", {scale, normal}), {"N", "T", width});
  return w;
}

std::size_t norms(const Form& form) { return rms_norm(form).count(" RMSNormalization-23("); }

std::vector<float> trained(const Form& form, const LoadOptions& options, std::string& text) {
  return rms_norm(form).trained({"w"}, {2, 3, width}, options, text);
}

}  // namespace

TEST_CASE("x over the root of its mean square times a scale becomes RMSNormalization") {
  if (!fusions_run()) return;
  for (const Inverse inverse : {Inverse::div, Inverse::reciprocal, Inverse::ratio}) {
    CHECK(norms({.inverse = inverse}) == 1);
    CHECK(norms({.inverse = inverse, .by_product = true}) == 1);
    CHECK(norms({.inverse = inverse, .shifted = true}) == 1);
  }
  CHECK(norms({.axes = {2}}) == 1);
}

TEST_CASE("what differs from RMSNormalization in one place stays as it is") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{.power = 3}, Form{.above = 2}, Form{.axes = {1}}, Form{.axes = {0, 2}},
        Form{.other_square = true}, Form{.by_product = true, .other_square = true},
        Form{.other_x = true}, Form{.inverse = Inverse::ratio, .other_x = true},
        Form{.read_twice = true}, Form{.scale = {1, width}}, Form{.scale = {1}},
        Form{.fed_epsilon = true}}) {
    CHECK(norms(form) == 0);
  }
}

TEST_CASE("a recognized RMSNormalization trains as its own nodes do") {
  for (const bool shifted : {false, true}) {
    const Form form{.shifted = shifted};
    std::string text;
    const auto own = trained(form, {.no_fusion = fusions_from_name("all")}, text);
    const auto fused = trained(form, {}, text);
    REQUIRE(fused.size() == own.size());
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(fused[i] == Approx(own[i]).epsilon(1e-5).margin(1e-6));
    }
    if (!fusions_run()) continue;
    INFO(text);
    CHECK(count(text, "LayerNormalizationGrad-") == 1);
    CHECK(count(text, "Sqrt") == 0);
  }
}

}  // namespace ondine::test
