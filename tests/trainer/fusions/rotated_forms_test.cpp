// Rotary position embeddings as exporters compose them, and forms that differ from them in one
// place.
#include <catch2/catch.hpp>
#include <limits>

#include <ondine/model.h>

#include "tests/support/form_writer.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t width = 8;
constexpr std::int64_t end = std::numeric_limits<std::int64_t>::max();

// Where the elements of pairs come from, and how the rotation is written: x cos + r(x) sin, by
// Slices or a Split, or the two halves apart.
enum class Written { slices, split, halves, stacked };

struct Form {
  Written written = Written::slices;
  bool last_first = false;     // r(x) sin + x cos
  bool numbers_first = false;  // cos x
  bool computed_axis = false;  // the end of the first half is computed from the shape of x
  bool swapped = false;        // (x1, -x2) in place of (-x2, x1)
  bool positive = false;       // (x2, x1)
  bool other_x = false;        // another value is multiplied by cos
  bool uneven = false;         // parts of 3 and 5 elements
  bool other_axis = false;     // halves of the positions
  bool read_twice = false;     // r(x) is an output, too
  bool difference = false;     // x cos - r(x) sin
  std::int64_t table_steps = 6;
};

class Composer {
 public:
  explicit Composer(const Form& form) : form_(form), w_(20) {}

  FormWriter write() {
    const std::string fed = w_.input("x", {"N", 6, width}, random_floats({2, 6, width}, 1, -2, 2));
    const std::string w = w_.builder().initializer("w", random_floats({width, width}, 2));
    const std::string x = w_.op("MatMul", {fed, w});
    const std::int64_t numbers = form_.written == Written::halves ? width / 2 : width;
    cos_ = w_.random({form_.table_steps, numbers});
    sin_ = w_.random({1, form_.table_steps, numbers});
    const std::string y = form_.written == Written::halves ? halves(x) : sum(x, fed);
    w_.named_output(y, {"N", 6, width});
    return std::move(w_);
  }

 private:
  std::string product(const std::string& x, const std::string& table) {
    return w_.op("Mul", form_.numbers_first ? std::vector{table, x} : std::vector{x, table});
  }
  std::string part(const std::string& x, std::int64_t from, const std::string& to,
                   std::int64_t axis, std::int64_t step = 1) {
    return w_.op("Slice", {x, w_.integers({from}), to, w_.integers({axis}), w_.integers({step})});
  }
  std::vector<std::string> parts(const std::string& x) {
    const std::int64_t axis = form_.other_axis ? 1 : 2;
    const std::int64_t size = form_.other_axis ? 6 : width;
    const std::int64_t cut = form_.uneven ? 3 : size / 2;
    if (form_.written == Written::stacked) {
      return {part(x, 0, w_.integers({end}), axis, 2), part(x, 1, w_.integers({end}), axis, 2)};
    }
    if (form_.written != Written::slices) {
      const std::vector<std::string> names{"a" + x, "b" + x};
      w_.builder().node("Split", "", {x, w_.integers({cut, size - cut})}, names,
                        {{"axis", std::int64_t{axis}}});
      return names;
    }
    std::string middle = w_.integers({cut});
    if (form_.computed_axis) {
      const std::string dim = w_.op("Gather", {w_.op("Shape", {x}), w_.integers({axis})});
      middle = w_.op("Div", {dim, w_.integers({2})});
    }
    return {part(x, 0, middle, axis), part(x, cut, w_.integers({end}), axis)};
  }
  std::string crossed(const std::string& x) {
    const auto both = parts(x);
    const std::string negative =
        form_.positive ? both[1] : w_.op("Neg", {both[form_.swapped ? 0 : 1]});
    std::vector<std::string> result{negative, both[form_.swapped ? 1 : 0]};
    if (form_.written != Written::stacked) {
      return w_.op("Concat", result, {{"axis", std::int64_t{form_.other_axis ? 1 : -1}}});
    }
    for (std::string& one : result) one = w_.op("Unsqueeze", {one, w_.integers({-1})});
    return w_.op("Reshape", {w_.op("Concat", result, {{"axis", std::int64_t{-1}}}),
                             w_.integers({0, 6, width})});
  }
  std::string sum(const std::string& x, const std::string& other) {
    const std::string turned = crossed(x);
    if (form_.read_twice) w_.named_output(turned, {"N", 6, width});
    const std::string plain = product(form_.other_x ? other : x, cos_);
    const std::string added = product(turned, sin_);
    return w_.op(form_.difference ? "Sub" : "Add",
                 form_.last_first ? std::vector{added, plain} : std::vector{plain, added});
  }
  std::string halves(const std::string& x) {
    const auto both = parts(x);
    const std::string& a = both[0];
    const std::string& b = form_.swapped ? both[0] : both[1];
    const std::string first =
        w_.op(form_.difference ? "Add" : "Sub", {product(a, cos_), product(b, sin_)});
    const std::string b_cos = product(both[1], form_.other_x ? sin_ : cos_);
    const std::string a_sin = product(both[0], sin_);
    const std::string second =
        w_.op("Add", form_.last_first ? std::vector{a_sin, b_cos} : std::vector{b_cos, a_sin});
    return w_.op("Concat", {first, second}, {{"axis", std::int64_t{2}}});
  }

  Form form_;
  FormWriter w_;
  std::string cos_, sin_;
};

std::size_t found(const Form& form) { return Composer(form).write().count("RotatePairs-"); }

std::vector<float> trained(const Form& form, const LoadOptions& options, std::string& text) {
  return Composer(form).write().trained({"w"}, {2, 6, width}, options, text);
}

}  // namespace

TEST_CASE("rotary position embeddings become RotatePairs in each of their forms") {
  if (!fusions_run()) return;
  for (const Written written :
       {Written::slices, Written::split, Written::halves, Written::stacked}) {
    CAPTURE(static_cast<int>(written));
    CHECK(found({.written = written}) == 1);
    CHECK(found({.written = written, .last_first = true}) == 1);
    CHECK(found({.written = written, .numbers_first = true}) == 1);
    CHECK(found({.written = written, .table_steps = 1}) == 1);
  }
  CHECK(found({.computed_axis = true}) == 1);
}

TEST_CASE("what differs from a rotation in one place stays as it is") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{.swapped = true}, Form{.positive = true}, Form{.other_x = true}, Form{.uneven = true},
        Form{.other_axis = true}, Form{.read_twice = true}, Form{.difference = true},
        Form{.written = Written::split, .swapped = true},
        Form{.written = Written::split, .uneven = true},
        Form{.written = Written::halves, .swapped = true},
        Form{.written = Written::halves, .other_x = true},
        Form{.written = Written::halves, .difference = true},
        Form{.written = Written::stacked, .swapped = true},
        Form{.written = Written::stacked, .other_x = true},
        Form{.written = Written::stacked, .difference = true}}) {
    CAPTURE(static_cast<int>(form.written), form.swapped, form.positive, form.other_x, form.uneven,
            form.other_axis, form.read_twice, form.difference);
    CHECK(found(form) == 0);
  }
}

TEST_CASE("a recognized rotation trains with the bits of its own nodes") {
  for (const Written written :
       {Written::slices, Written::split, Written::halves, Written::stacked}) {
    CAPTURE(static_cast<int>(written));
    const Form form{.written = written};
    std::string text;
    const auto own = trained(form, {.no_fusion = fusions_from_name("recognize_rotation")}, text);
    CHECK(count(text, "RotatePairs") == 0);
    const auto fused = trained(form, {}, text);
    CHECK(fused == own);
    if (!fusions_run()) continue;
    CHECK(count(text, "RotatePairs-") == 2);
    CHECK(count(text, "inverse = 1") == 1);
    CHECK(count(text, " Split-") + count(text, " Slice-") + count(text, " Neg-") == 0);
  }
}

}  // namespace ondine::test
