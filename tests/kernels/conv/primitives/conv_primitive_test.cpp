#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

// Every implementation that supports the shape, in every direction.
template <class T>
void check_all(const ConvShape& s) {
  using enum ConvDirection;
  using enum Activation;
  const ConvCase<T> c(s);
  const std::pair<ConvDesc, bool> descs[] = {{{s, forward, relu}, true},
                                             {{s, forward, relu6}, true},
                                             {{s, backward_data, none}, false},
                                             {{s, backward_data, none}, true},
                                             {{s, backward_weights, none}, false}};
  INFO(to_string(s));
  for (const auto* kernels : all_kernels()) {
    INFO(isa_name(*kernels));
    for (const auto& [desc, with_bias] : descs) {
      int supported = 0;
      for (const auto& entry : conv_implementations<T>()) {
        if (!entry.supports(desc, *kernels)) continue;
        INFO(entry.name << ", direction " << static_cast<int>(desc.direction));
        if (supported++ == 0) {
          CHECK(ConvPrimitive<T>::make(desc, 1, *kernels).name() == entry.name);
        }
        check_implementation(c, desc, entry.name, with_bias, *kernels);
      }
      CHECK(supported > 0);
    }
  }
}

}  // namespace

TEMPLATE_TEST_CASE("convolution and both gradients follow the definition", "", float, double) {
  using T = TestType;
  SECTION("pointwise") {
    check_all<T>(shape2(2, 3, 5, 1, 4, 6, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(3, 20, 40, 1, 9, 9, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(2, 8, 12, 4, 5, 7, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(2, 70, 50, 1, 30, 31, 1, 1, 1, 1, 0, 0));
  }
  // One to four columns beyond whole vectors of 16 or of 4, five, and other images joined last.
  SECTION("pointwise with few columns more than vectors hold") {
    check_all<T>(shape2(1, 40, 33, 1, 7, 7, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(4, 150, 70, 1, 7, 7, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(11, 33, 70, 1, 7, 7, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(3, 32, 20, 1, 14, 14, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(1, 34, 20, 1, 5, 10, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(1, 34, 20, 1, 1, 19, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(1, 40, 33, 1, 3, 7, 1, 1, 1, 1, 0, 0));
  }
  SECTION("pointwise with a stride or padding") {
    check_all<T>(shape2(2, 6, 5, 1, 9, 8, 1, 1, 2, 1, 0, 0));
    check_all<T>(shape2(2, 6, 5, 1, 4, 4, 1, 1, 1, 1, 1, 2));
  }
  SECTION("general") {
    check_all<T>(shape2(1, 1, 1, 1, 5, 5, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 3, 8, 1, 12, 13, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 3, 4, 1, 14, 11, 5, 3, 2, 1, 2, 1));
    check_all<T>(shape2(1, 4, 6, 2, 9, 10, 3, 3, 1, 2, 2, 2));
    check_all<T>(shape2(2, 4, 6, 2, 9, 10, 2, 4, 3, 1, 0, 3));
    check_all<T>(shape2(1, 40, 33, 1, 20, 23, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 3, 16, 1, 40, 37, 7, 7, 2, 1, 3, 3));
    check_all<T>(shape2(1, 2, 3, 1, 4, 4, 3, 3, 1, 1, 5, 5));
  }
  SECTION("3 x 3 windows with many channels") {
    for (const auto& [pad, pad_end] : {std::pair(0, 0), {1, 1}, {2, 2}, {0, 2}, {2, 1}}) {
      check_all<T>(shape2(3, 16, 19, 1, 9, 12, 3, 3, 1, 1, pad, pad_end));
      check_all<T>(shape2(2, 37, 16, 1, 10, 7, 3, 3, 1, 1, pad, pad_end));
    }
    check_all<T>(shape2(1, 64, 64, 1, 32, 32, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(8, 70, 130, 1, 4, 4, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(7, 140, 150, 1, 5, 4, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(1, 128, 20, 1, 9, 10, 3, 3, 1, 1, 0, 2));
    check_all<T>(shape2(40, 16, 16, 1, 3, 3, 3, 3, 1, 1, 0, 1));
    check_all<T>(shape2(1, 16, 16, 1, 6, 200, 3, 3, 1, 1, 1, 1));
    // Not for tiles: too much padding, a dilation, groups, a flat depth.
    check_all<T>(shape2(2, 16, 16, 1, 9, 9, 3, 3, 1, 1, 3, 3));
    check_all<T>(shape2(2, 16, 16, 1, 9, 9, 3, 3, 1, 2, 2, 2));
    check_all<T>(shape2(2, 32, 32, 2, 9, 9, 3, 3, 1, 1, 1, 1));
    check_all<T>({2, 16, 16, 1, {2, 9, 9}, {1, 3, 3}, {2, 9, 9}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}});
  }
  SECTION("strided windows") {
    for (const auto& [pad, pad_end] : {std::pair(0, 0), {1, 1}, {0, 1}, {1, 0}, {4, 2}, {0, 5}}) {
      check_all<T>(shape2(4, 16, 24, 1, 9, 12, 3, 3, 2, 1, pad, pad_end));
      check_all<T>(shape2(7, 37, 40, 1, 10, 7, 3, 3, 2, 1, pad, pad_end));
      check_all<T>(shape2(2, 5, 64, 1, 15, 34, 5, 4, 2, 1, pad, pad_end));
    }
    check_all<T>(shape2(3, 64, 100, 1, 16, 16, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(1, 3, 64, 1, 62, 61, 7, 7, 2, 1, 3, 3));
    check_all<T>(shape2(2, 3, 32, 1, 50, 64, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(5, 130, 150, 1, 7, 7, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(2, 24, 48, 1, 19, 20, 3, 3, 2, 2, 2, 2));
    check_all<T>(shape2(2, 24, 48, 1, 18, 21, 2, 3, 2, 3, 1, 4));
    check_all<T>(shape2(70, 16, 16, 1, 1, 1, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(40, 16, 16, 1, 4, 1, 2, 2, 2, 1, 1, 1));
    check_all<T>(shape2(1, 16, 33, 1, 6, 1100, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(2, 32, 64, 2, 13, 14, 3, 3, 2, 1, 1, 1));
    check_all<T>(
        {2, 20, 40, 1, {1, 9, 30}, {1, 3, 5}, {1, 5, 28}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}});
    check_all<T>(
        {2, 20, 40, 1, {1, 9, 31}, {1, 3, 5}, {1, 8, 15}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}});
    check_all<T>(
        {2, 17, 32, 1, {1, 1, 50}, {1, 1, 7}, {1, 1, 22}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}});
  }
  SECTION("few channels") {
    check_all<T>(shape2(5, 1, 8, 1, 28, 28, 5, 5, 1, 1, 2, 2));
    check_all<T>(shape2(9, 8, 16, 1, 14, 14, 5, 5, 1, 1, 2, 2));
    check_all<T>(shape2(3, 3, 20, 1, 17, 40, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 5, 3, 1, 9, 11, 2, 4, 1, 1, 0, 3));
    check_all<T>(shape2(2, 4, 7, 1, 12, 19, 3, 3, 1, 2, 4, 1));
    check_all<T>({3, 2, 5, 1, {1, 1, 50}, {1, 1, 7}, {1, 1, 48}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}});
  }
  SECTION("groups of few channels") {
    for (const Index channels : {2, 3, 4, 6, 8, 12, 17, 24, 33}) {
      check_all<T>(shape2(3, 3 * channels, 3 * channels, 3, 7, 5, 3, 3, 1, 1, 1, 1));
      check_all<T>(shape2(2, 5 * channels, 10 * channels, 5, 6, 7, 3, 3, 2, 1, 1, 1));
    }
    for (const auto& [pad, pad_end] : {std::pair(0, 0), {2, 1}, {0, 2}, {4, 4}, {1, 7}}) {
      check_all<T>(shape2(2, 40, 30, 5, 9, 8, 3, 3, 1, 1, pad, pad_end));
      check_all<T>(shape2(2, 24, 40, 4, 8, 11, 3, 4, 2, 1, pad, pad_end));
      check_all<T>(shape2(2, 16, 16, 2, 10, 13, 3, 2, 3, 1, pad, pad_end));
    }
    check_all<T>(shape2(2, 32, 32, 4, 17, 16, 3, 3, 1, 3, 3, 2));
    check_all<T>(shape2(2, 32, 32, 4, 17, 16, 3, 3, 2, 2, 2, 2));
    check_all<T>(shape2(2, 16, 24, 2, 6, 9, 5, 5, 1, 1, 2, 2));
    check_all<T>(shape2(2, 16, 24, 2, 6, 9, 1, 1, 2, 1, 0, 0));
    check_all<T>(shape2(17, 16, 16, 2, 1, 1, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(1, 16, 16, 2, 90, 61, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(1, 64, 32, 2, 40, 40, 3, 3, 1, 1, 1, 1));
    check_all<T>(
        {2, 16, 32, 2, {1, 1, 50}, {1, 1, 7}, {1, 1, 22}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}});
  }
  SECTION("depthwise over small planes with many channels") {
    check_all<T>(shape2(3, 20, 20, 20, 7, 7, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 37, 37, 37, 14, 14, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(2, 16, 16, 16, 13, 11, 3, 3, 2, 1, 0, 1));
    check_all<T>(shape2(2, 33, 33, 33, 8, 9, 5, 5, 1, 1, 2, 2));
    check_all<T>(shape2(1, 17, 17, 17, 9, 8, 4, 2, 3, 2, 1, 0));
    check_all<T>(shape2(2, 16, 16, 16, 5, 6, 3, 3, 1, 2, 2, 2));
    check_all<T>(shape2(2, 18, 18, 18, 5, 6, 2, 2, 1, 1, 3, 3));
    check_all<T>(shape2(1, 16, 16, 16, 1, 1, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 18, 18, 18, 56, 56, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 18, 18, 18, 111, 112, 3, 3, 2, 1, 1, 1));
    check_all<T>(
        {2, 24, 24, 24, {1, 1, 30}, {1, 1, 5}, {1, 1, 32}, {1, 1, 1}, {1, 1, 1}, {0, 0, 3}});
  }
  SECTION("depthwise") {
    check_all<T>(shape2(2, 3, 3, 3, 12, 13, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 5, 5, 5, 17, 40, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(1, 4, 4, 4, 17, 20, 5, 5, 2, 1, 2, 1));
    check_all<T>(shape2(1, 4, 4, 4, 17, 20, 3, 5, 1, 3, 4, 2));
    check_all<T>(shape2(1, 4, 4, 4, 20, 17, 4, 2, 3, 2, 1, 0));
    check_all<T>(shape2(2, 3, 3, 3, 7, 7, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(1, 2, 2, 2, 100, 700, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(1, 2, 2, 2, 100, 700, 3, 3, 2, 1, 0, 1));
    check_all<T>(shape2(1, 2, 2, 2, 4, 4, 3, 3, 4, 1, 5, 5));
    check_all<T>(shape2(2, 3, 6, 3, 9, 9, 3, 3, 1, 1, 1, 1));
  }
  SECTION("one and three dimensions") {
    check_all<T>({2, 4, 6, 1, {1, 1, 30}, {1, 1, 5}, {1, 1, 13}, {1, 1, 2}, {1, 1, 1}, {0, 0, 0}});
    check_all<T>({2, 4, 4, 4, {1, 1, 30}, {1, 1, 5}, {1, 1, 32}, {1, 1, 1}, {1, 1, 1}, {0, 0, 3}});
    check_all<T>({2, 3, 4, 1, {5, 6, 7}, {3, 3, 3}, {5, 3, 7}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}});
    check_all<T>({1, 3, 3, 3, {5, 6, 7}, {1, 3, 3}, {5, 6, 7}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}});
    check_all<T>({1, 3, 3, 3, {5, 6, 7}, {2, 3, 3}, {4, 4, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}});
  }
  SECTION("nothing") {
    auto s = shape2(0, 3, 8, 1, 12, 13, 3, 3, 1, 1, 1, 1);
    check_all<T>(s);
    s = shape2(2, 3, 8, 1, 12, 13, 3, 3, 1, 1, 1, 1);
    s.out[1] = 0;
    check_all<T>(s);
  }
}
