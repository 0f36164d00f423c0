// Pooling and convolutions.
#include "tests/deadline/case_parts.h"

namespace ondine::test {

namespace {

// The window of a pooling or a convolution: as large as the plane, with half of it around.
Attributes window(std::int64_t size, Attributes more = {}) {
  const std::int64_t half = size / 2;
  more.emplace_back("kernel_shape", Ints{size, size});
  more.emplace_back("pads", Ints{half, half, half, half});
  return more;
}

std::vector<MakeCase> pooling(const std::string& name, const std::string& domain = {}) {
  constexpr std::int64_t wide = std::int64_t{1} << 22;
  return {
      [=] {
        return op(name, {floats({1, 1, 2001, 2001})}, window(2001), 1, domain);
      },
      // Along a line, and along columns.
      [=] {
        return op(name, {floats({1, 1, wide})}, {{"kernel_shape", Ints{wide / 2}}}, 1, domain);
      },
      [=] {
        return op(name, {floats({1, 1, 1 << 18, 8})}, {{"kernel_shape", Ints{1 << 17, 2}}}, 1,
                  domain);
      },
      // Taps far apart.
      [=] {
        return op(name, {floats({1, 1, wide})},
                  {{"kernel_shape", Ints{wide / 8}}, {"dilations", Ints{4}}}, 1, domain);
      },
  };
}

std::vector<MakeCase> pooling_gradient(const std::string& name) {
  return {[=] {
    return op(name, {floats({1, 1, 2001, 2001}), shape_of({1, 1, 2001, 2001})}, window(2001), 1,
              ondine_domain);
  }};
}

// x and w of a convolution and its attributes.
struct ConvCase {
  Shape x, w;
  Attributes attributes;
};

std::vector<ConvCase> convolutions() {
  const auto padded = [](std::int64_t pad, std::int64_t group = 1) {
    return Attributes{{"pads", Ints{pad, pad, pad, pad}}, {"group", group}};
  };
  return {
      {{1, 1, 1501, 1501}, {1, 1, 1501, 1501}, padded(750)},
      {{1, 2, 1501, 1501}, {2, 1, 1501, 1501}, padded(750, 2)},
      {{4096, 8, 16, 16}, {8, 1, 15, 15}, padded(7, 8)},
      {{1, 64, 1024, 1024}, {64, 1, 31, 31}, padded(15, 64)},
      {{1, 8, 512, 512}, {64, 8, 15, 15}, padded(7)},
      {{1, 64, 256, 256}, {64, 8, 15, 15}, padded(7, 8)},
      {{64, 512, 16, 16}, {512, 512, 3, 3}, padded(1)},
      {{1, 1, 1, 1 << 20}, {1, 1, 1, 1 << 19}, {}},
      {{2048, 64, 8, 8}, {256, 64, 3, 3}, padded(1)},
  };
}

std::vector<MakeCase> conv() {
  std::vector<MakeCase> cases;
  for (const ConvCase& one : convolutions()) {
    cases.emplace_back([=] { return op("Conv", {floats(one.x), floats(one.w)}, one.attributes); });
  }
  cases.emplace_back([] {
    return op("Conv", {floats({1, 1, 2001, 2001}), floats({1, 1, 201, 201})},
              {{"dilations", Ints{9, 9}}});
  });
  cases.emplace_back([] {
    return op(
        "Conv",
        {zeros(DType::float64, {1, 2, 1001, 1001}), zeros(DType::float64, {2, 1, 1001, 1001})},
        {{"pads", Ints{500, 500, 500, 500}}, {"group", std::int64_t{2}}});
  });
  return cases;
}

// y of a convolution with `w` that has the dims of x but for channels.
Shape result_of(const ConvCase& one) {
  Shape y = one.x;
  y[1] = one.w[0];
  if (one.w[3] > 1000 && one.w[2] == 1) y[3] = one.x[3] - one.w[3] + 1;
  return y;
}

std::vector<MakeCase> conv_grad_input() {
  std::vector<MakeCase> cases;
  for (const ConvCase& one : convolutions()) {
    cases.emplace_back([=] {
      return op("ConvGradInput",
                {floats(result_of(one)), floats(one.w), shape_of(Ints(one.x.begin(), one.x.end()))},
                one.attributes, 1, ondine_domain);
    });
  }
  return cases;
}

std::vector<MakeCase> conv_grad_weight() {
  std::vector<MakeCase> cases;
  for (const ConvCase& one : convolutions()) {
    cases.emplace_back([=] {
      return op("ConvGradWeight",
                {floats(one.x), floats(result_of(one)), shape_of(Ints(one.w.begin(), one.w.end()))},
                one.attributes, 1, ondine_domain);
    });
  }
  return cases;
}

std::vector<MakeCase> conv_transpose() {
  return {[] {
            return op("ConvTranspose", {floats({1, 1, 1001, 1001}), floats({1, 1, 1001, 1001})});
          },
          [] {
            return op("ConvTranspose", {floats({1, 2, 1001, 1001}), floats({2, 1, 1001, 1001})},
                      {{"group", std::int64_t{2}}});
          },
          [] {
            return op("ConvTranspose", {floats({1, 1, 1 << 19}), floats({1, 1, 1 << 19})});
          }};
}

OpCase quantized_conv(Shape x, Shape w, Attributes attributes) {
  const Tensor scale = Tensor::of<float>({}, {0.5F});
  const Tensor zero = Tensor::of<std::uint8_t>({}, {3});
  return op("QLinearConv",
            {bytes(std::move(x)), scale, zero, bytes(std::move(w)), scale, zero, scale, zero},
            std::move(attributes));
}

}  // namespace

std::map<std::string, std::vector<MakeCase>> window_cases() {
  return {
      {":MaxPool", pooling("MaxPool")},
      {":AveragePool", pooling("AveragePool")},
      {"ai.ondine:SumPool", pooling("SumPool", ondine_domain)},
      {"ai.ondine:AveragePoolGrad", pooling_gradient("AveragePoolGrad")},
      {"ai.ondine:SumPoolGrad", pooling_gradient("SumPoolGrad")},
      {":Conv", conv()},
      {":ConvTranspose", conv_transpose()},
      {"ai.ondine:ConvGradInput", conv_grad_input()},
      {"ai.ondine:ConvGradWeight", conv_grad_weight()},
      {":QLinearConv",
       {[] {
          return quantized_conv({1, 2, 1001, 1001}, {2, 1, 1001, 1001},
                                {{"pads", Ints{500, 500, 500, 500}}, {"group", std::int64_t{2}}});
        },
        [] {
          return quantized_conv({1, 256, 256, 256}, {512, 256, 5, 5}, {});
        },
        [] {
          return quantized_conv({1, 16, 2048, 2048}, {16, 1, 7, 7}, {{"group", std::int64_t{16}}});
        }}},
  };
}

}  // namespace ondine::test
