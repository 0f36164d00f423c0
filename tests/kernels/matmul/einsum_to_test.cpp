// EinsumTo, which is every derivative of Einsum, in operators of the standard.
#include <catch2/catch.hpp>

#include <random>

#include "tests/support/random_tensor.h"
#include "tests/support/standard_form.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Sizes = std::vector<std::int64_t>;

// A random operand of letters that may repeat, with `...` for most of them.
struct Term {
  std::string text;
  Sizes dots;
  bool has_dots = false;

  Sizes dims() const {
    Sizes result;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '.') {
        result.push_back(text[i] == 'i' ? 2 : 3);
      } else {
        result.insert(result.end(), dots.begin(), dots.end());
        i += 2;
      }
    }
    return result;
  }
};

class Forms {
 public:
  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  Term term() {
    Term result;
    for (int left = below(4); left > 0; --left) result.text += "ij"[below(2)];
    result.has_dots = below(4) > 0;
    if (!result.has_dots) return result;
    result.text.insert(static_cast<std::size_t>(below(static_cast<int>(result.text.size()) + 1)),
                       "...");
    const Sizes all{4, 2};
    for (int k = below(3); k > 0; --k) {
      result.dots.push_back(below(3) == 0 ? 1 : all[all.size() - static_cast<std::size_t>(k)]);
    }
    return result;
  }

 private:
  std::mt19937 random_{11};
};

// The dims of `...` of both together.
Sizes broadcast(const Sizes& a, const Sizes& b) {
  Sizes result(std::max(a.size(), b.size()), 1);
  for (const Sizes* one : {&a, &b}) {
    for (std::size_t k = 1; k <= one->size(); ++k) {
      std::int64_t& to = result[result.size() - k];
      to = std::max(to, (*one)[one->size() - k]);
    }
  }
  return result;
}

Tensor values(const Sizes& dims, unsigned seed) {
  return random_tensor(Shape(std::span<const std::int64_t>(dims)), seed);
}

// With dynamic dims, for which `...` that the operands lack may be refused but is never wrong.
// Returns whether it was computed.
bool computes_or_refuses(const OwnOperator& own, const Tensor& expected) {
  std::vector<Value> found;
  try {
    found = run_standard_form(own, true);
  } catch (const Error&) {
    return false;
  }
  check_close(found[0].tensor(), expected, {1e-12, 1e-12});
  return true;
}

}  // namespace

TEST_CASE("derivatives of random forms of Einsum are those of standard operators") {
  Forms forms;
  int compared = 0;
  for (int n = 0; n < 150; ++n) {
    const Term x = forms.term();
    const Term other = forms.term();
    Term y;
    for (const char letter : {'i', 'j'}) {
      const bool is_there =
          (x.text + other.text).find(letter) != std::string::npos && forms.below(2) == 0;
      if (is_there) y.text += letter;
    }
    y.has_dots = (x.has_dots || other.has_dots) && forms.below(2) == 0;
    if (y.has_dots) {
      y.text.insert(static_cast<std::size_t>(forms.below(static_cast<int>(y.text.size()) + 1)),
                    "...");
      y.dots = broadcast(x.dots, other.dots);
    }
    const std::string equation = y.text + "," + other.text + "->" + x.text;
    const Sizes dims = x.dims();
    CAPTURE(equation, dims, other.dims());
    const Tensor shape = Tensor::of<std::int64_t>({static_cast<std::int64_t>(dims.size())}, dims);
    const OwnOperator own{"EinsumTo",
                          {shape, values(y.dims(), 1), values(other.dims(), 2)},
                          {{"equation", equation}}};
    const Tensor expected = run_kernel(own)[0].tensor();
    check_close(run_standard_form(own)[0].tensor(), expected, {1e-12, 1e-12});
    compared += computes_or_refuses(own, expected) ? 1 : 0;
  }
  CHECK(compared == 71);  // the others are refused
}
