// Numbers that multiply products, as the scales of adapters do.
#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/form_writer.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

constexpr std::int64_t width = 6;

// Variation of (x A B) s + x W.
struct Form {
  double scale = 2;
  bool first = true;        // of the factors
  bool read_twice = false;  // the product is an output, too
  bool as_row = false;      // one number for each column
  std::int64_t rank = 2;
};

FormWriter adapter(const Form& form) {
  FormWriter w;
  const std::string x = w.input("x", {"N", "T", width}, random_floats({2, 3, width}, 1, -2, 2));
  const auto weights = [&](const std::string& name, const Shape& shape) {
    return w.builder().initializer(name, random_floats(shape, static_cast<std::uint64_t>(name[1])));
  };
  const std::string inner = w.op("MatMul", {x, weights("wa", {width, form.rank})});
  const std::string y = w.op("MatMul", {inner, weights("wb", {form.rank, width})});
  if (form.read_twice) w.named_output(y, {"N", "T", width});
  const std::string scale = form.as_row ? w.random({width}) : w.number(form.scale);
  const std::string scaled =
      w.op("Mul", form.first ? std::vector{y, scale} : std::vector{scale, y});
  w.named_output(w.op("Add", {w.op("MatMul", {x, weights("wc", {width, width})}), scaled}),
                 {"N", "T", width});
  return w;
}

std::vector<float> trained(const Form& form, const LoadOptions& options, std::string& text) {
  return adapter(form).trained({"wa", "wb"}, {2, 3, width}, options, text);
}

const LoadOptions& without() {
  static const LoadOptions options{.no_fusion = fusions_from_name("scale_before_product")};
  return options;
}

}  // namespace

TEST_CASE("a number times the last product of an adapter multiplies its few columns instead") {
  if (!fusions_run()) return;
  for (const bool first : {true, false}) {
    // The sum goes into a product, which can take it then.
    CHECK(adapter({.first = first}).count("MatMulT-") == 1);
  }
}

TEST_CASE("what is no number times a wider product is multiplied as before") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{.read_twice = true}, Form{.as_row = true}, Form{.rank = width}, Form{.rank = 9}}) {
    std::string moved, kept;
    trained(form, {}, moved);
    trained(form, without(), kept);
    CHECK(count(moved, " Mul-") == count(kept, " Mul-"));
  }
}

TEST_CASE("scales that are powers of 2 change no bit where they stand, others round") {
  for (const double scale : {2.0, 0.25, -4.0, 0.3}) {
    CAPTURE(scale);
    const Form form{.scale = scale};
    std::string text;
    const auto own = trained(form, without(), text);
    const auto moved = trained(form, {}, text);
    REQUIRE(moved.size() == own.size());
    if (scale != 0.3) CHECK(moved == own);
    for (std::size_t i = 0; i < own.size(); ++i) {
      CHECK(moved[i] == Approx(own[i]).epsilon(1e-5).margin(1e-6));
    }
  }
}

}  // namespace ondine::test
