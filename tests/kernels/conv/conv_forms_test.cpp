// The derivatives of convolutions and average pools in operators of the standard give what their
// kernels give.
#include <catch2/catch.hpp>

#include "tests/support/standard_form.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

std::string text(const char* s) { return s; }
Tensor shape_of(const Tensor& x) {
  const Ints dims(x.shape().begin(), x.shape().end());
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(dims.size())}, dims);
}

// Checks the derivatives by x and by w. The kernel's dims are known, no others are.
void check_conv(const std::string& op, const Shape& x_shape, const Shape& w_shape,
                const graph::Attributes& attributes) {
  CAPTURE(op, x_shape.to_string(), w_shape.to_string());
  const Tensor x = random_tensor(x_shape, 1);
  const Tensor w = random_tensor(w_shape, 2);
  const Tensor y = run_op_tensor({op, {x, w}, attributes});
  const Tensor dy = random_tensor(y.shape(), 3);
  check_standard_form({op + "GradInput", {dy, w, shape_of(x)}, attributes, {1}});
  check_standard_form({op + "GradWeight", {x, dy, shape_of(w)}, attributes, {2}});
}

void check_pool(const std::string& op, const Shape& x_shape, const graph::Attributes& attributes) {
  CAPTURE(x_shape.to_string());
  const Tensor x = random_tensor(x_shape, 1);
  const std::string domain = op == "SumPool" ? std::string(graph::ondine_domain) : std::string();
  const Tensor y = run_op_tensor({op, {x}, attributes, 1, domain});
  check_standard_form({op + "Grad", {random_tensor(y.shape(), 3), shape_of(x)}, attributes});
  if (op == "SumPool") check_standard_form({op, {x}, attributes});
}

}  // namespace

TEST_CASE("derivatives of convolutions have a standard form for images of any size") {
  for (const std::int64_t height : {5, 6, 8}) {
    const Shape x{2, 4, height, 7};
    check_conv("Conv", x, {6, 4, 3, 2}, {});
    check_conv("Conv", x, {6, 2, 3, 3},
               {{"group", 2L}, {"strides", Ints{2, 3}}, {"pads", Ints{1, 0, 2, 1}}});
    check_conv("Conv", x, {4, 1, 2, 3},
               {{"group", 4L}, {"dilations", Ints{2, 1}}, {"strides", Ints{1, 2}}});
  }
  check_conv("Conv", {1, 2, 9}, {3, 2, 4}, {{"strides", Ints{3}}, {"pads", Ints{2, 1}}});
  check_conv("Conv", {1, 2, 5, 4, 6}, {3, 2, 2, 1, 3}, {{"strides", Ints{2, 1, 2}}});
}

TEST_CASE("derivatives of convolutions that pad by themselves have a standard form") {
  for (const char* pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
    for (const std::int64_t height : {5, 6, 8}) {
      CAPTURE(pad);
      const Shape x{2, 3, height, 7};
      check_conv("Conv", x, {4, 3, 3, 2}, {{"auto_pad", text(pad)}});
      check_conv("Conv", x, {4, 3, 4, 2}, {{"auto_pad", text(pad)}, {"strides", Ints{2, 3}}});
      check_conv("Conv", x, {4, 3, 2, 2},
                 {{"auto_pad", text(pad)}, {"strides", Ints{3, 1}}, {"dilations", Ints{2, 2}}});
    }
  }
}

TEST_CASE("derivatives of transposed convolutions have a standard form for images of any size") {
  for (const std::int64_t height : {2, 3, 5}) {
    const Shape x{2, 4, height, 3};
    check_conv("ConvTranspose", x, {4, 3, 3, 2}, {});
    check_conv("ConvTranspose", x, {4, 2, 3, 3},
               {{"group", 2L},
                {"strides", Ints{3, 2}},
                {"pads", Ints{1, 0, 1, 1}},
                {"output_padding", Ints{2, 1}}});
    for (const char* pad : {"SAME_UPPER", "SAME_LOWER", "VALID"}) {
      CAPTURE(pad);
      check_conv("ConvTranspose", x, {4, 3, 4, 3},
                 {{"auto_pad", text(pad)}, {"strides", Ints{2, 3}}});
      check_conv(
          "ConvTranspose", x, {4, 3, 4, 3},
          {{"auto_pad", text(pad)}, {"strides", Ints{2, 3}}, {"output_padding", Ints{1, 2}}});
    }
    // Less and more than the kernel reaches.
    check_conv("ConvTranspose", x, {4, 3, 4, 3},
               {{"output_shape", Ints{7, 8}}, {"strides", Ints{2, 2}}});
    check_conv(
        "ConvTranspose", x, {4, 3, 4, 3},
        {{"output_shape", Ints{7, 5}}, {"strides", Ints{2, 2}}, {"auto_pad", text("SAME_UPPER")}});
  }
}

TEST_CASE("derivatives of average pools have a standard form for images of any size") {
  for (const std::int64_t height : {5, 6, 7, 8}) {
    for (const std::int64_t included : {0, 1}) {
      CAPTURE(included);
      const Shape x{2, 3, height, 6};
      const auto with = [&](graph::Attributes more) {
        more.emplace_back("kernel_shape", Ints{3, 2});
        check_pool("SumPool", x, more);
        more.emplace_back("count_include_pad", included);
        check_pool("AveragePool", x, more);
      };
      with({});
      with({{"strides", Ints{2, 2}}, {"pads", Ints{1, 0, 1, 1}}});
      with({{"strides", Ints{2, 3}}, {"pads", Ints{1, 1, 2, 0}}, {"ceil_mode", 1L}});
      with({{"strides", Ints{3, 2}}, {"auto_pad", text("SAME_UPPER")}});
      with({{"strides", Ints{2, 1}}, {"auto_pad", text("SAME_LOWER")}, {"dilations", Ints{2, 1}}});
      with({{"strides", Ints{2, 2}}, {"auto_pad", text("VALID")}});
    }
  }
}
