// Gated activations as exporters compose them, and forms that differ from them in one place.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/form_writer.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

constexpr std::int64_t width = 6;

// Variation of f(x) z, or with one of their linear layers, f(x W) (x V).
struct Form {
  std::string activation = "Swish";  // x sigmoid(x), Gelu or Sigmoid alone
  bool first = true;                 // the activation is the first factor
  bool read_twice = false;           // the activation is an output, too
  bool broadcast = false;            // the other factor is a row
  bool sum = false;                  // in place of the product
};

std::string activated(FormWriter& w, const std::string& name, const std::string& x) {
  if (name == "Gelu") {
    const std::string inner = w.op("Erf", {w.op("Div", {x, w.number(1.4142135623730951)})});
    const std::string twice = w.op("Mul", {x, w.op("Add", {inner, w.number(1)})});
    return w.op("Mul", {twice, w.number(0.5)});
  }
  const std::string s = w.op("Sigmoid", {x});
  return name == "Swish" ? w.op("Mul", {x, s}) : s;
}

FormWriter gated(const Form& form) {
  FormWriter w;
  const std::string x = w.input("x", {"N", "T", width}, random_floats({2, 3, width}, 1, -2, 2));
  const auto weights = [&](const std::string& name, std::uint64_t seed) {
    return w.builder().initializer(name, random_floats({width, width}, seed));
  };
  const std::string gate = activated(w, form.activation, w.op("MatMul", {x, weights("wg", 2)}));
  if (form.read_twice) w.named_output(gate, {"N", "T", width});
  const std::string up = form.broadcast ? w.random({width}) : w.op("MatMul", {x, weights("wu", 3)});
  w.named_output(
      w.op(form.sum ? "Add" : "Mul", form.first ? std::vector{gate, up} : std::vector{up, gate}),
      {"N", "T", width});
  return w;
}

std::size_t found(const Form& form) { return gated(form).count("GatedActivation-"); }

std::vector<float> trained(const Form& form, const LoadOptions& options, std::string& text) {
  return gated(form).trained({}, {2, 3, width}, options, text);
}

}  // namespace

TEST_CASE("Swish or Gelu times another tensor becomes GatedActivation") {
  if (!fusions_run()) return;
  for (const char* activation : {"Swish", "Gelu"}) {
    CHECK(found({.activation = activation}) == 1);
    CHECK(found({.activation = activation, .first = false}) == 1);
  }
}

TEST_CASE("what differs from a gated activation in one place stays as it is") {
  if (!fusions_run()) return;
  CHECK(found({.activation = "Sigmoid"}) == 0);
  CHECK(found({.read_twice = true}) == 0);
  CHECK(found({.broadcast = true}) == 0);
  CHECK(found({.sum = true}) == 0);
}

TEST_CASE("a gated activation trains with the bits of its own nodes") {
  for (const char* activation : {"Swish", "Gelu"}) {
    const Form form{.activation = activation};
    std::string text;
    const auto own =
        trained(form, {.no_fusion = fusions_from_name("recognize_gated_activation")}, text);
    CHECK(count(text, "GatedActivation") == 0);
    const auto fused = trained(form, {}, text);
    CHECK(fused == own);
    if (!fusions_run()) continue;
    CHECK(count(text, "GatedActivation-") == 1);
    CHECK(count(text, "GatedActivationGrad-") == 1);
    CHECK(count(text, std::string(activation) + "Grad-") == 0);
  }
}

}  // namespace ondine::test
