// Lowered training steps give what training gives.
#include <catch2/catch.hpp>

#include "proto/import.h"
#include "tests/support/models.h"
#include "tests/trainer/lower/lowered_steps.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

std::string dense(ModelBuilder& b, const std::string& x) {
  return b.node("Gemm", {x, b.initializer("w", random_floats({3, 4}, 5)),
                         b.initializer("b", random_floats({4}, 6))});
}

// A convolution before the layer, so that a derivative flows through it.
Layers after_conv(const std::string& op, const ModelBuilder::Attributes& attributes) {
  return [=](ModelBuilder& b, const std::string& x) {
    return b.node(op, {conv(b, "Conv", x, {2, 2, 1, 1}, {})}, attributes);
  };
}

}  // namespace

TEST_CASE("a lowered step of each optimizer follows the training") {
  const Shape x{5, 3};
  const Shape y{5, 4};
  const Optimizer optimizers[] = {Sgd{.weight_decay = 0.1F},
                                  Momentum{.weight_decay = 0.1F},
                                  Nesterov{},
                                  Adagrad{.learning_rate = 0.1F},
                                  Adam{.weight_decay = 0.1F},
                                  AdamW{.weight_decay = 0.1F},
                                  Lion{.weight_decay = 0.1F},
                                  Adafactor{},
                                  ScheduleFree{.weight_decay = 0.1F}};
  for (const Optimizer& optimizer : optimizers) {
    CAPTURE(optimizer.index());
    Model model = trained_network(x, y, dense, optimizer);
    const LowerReport report = check_lowered(model, network_feeds(x, y), {}, 4);
    CHECK(report.opset == 18);
    CHECK(report.next_state.size() >= 2);
    CHECK(report.nodes > 0);
  }
}

TEST_CASE("lowered derivatives of convolutions follow the training") {
  const Shape x{2, 4, 7, 6};
  check_network(x, {2, 6, 5, 4}, [](ModelBuilder& b, const std::string& in) {
    return conv(b, "Conv", in, {6, 4, 3, 3}, {});
  });
  check_network(x, {2, 6, 4, 3}, [](ModelBuilder& b, const std::string& in) {
    const std::string inner =
        conv(b, "Conv", in, {6, 2, 3, 3},
             {{"group", 2}, {"strides", Ints{2, 2}}, {"pads", Ints{1, 1, 1, 1}}});
    return b.node("Conv", {inner, b.initializer("v", random_floats({6, 1, 3, 3}, 8))},
                  {{"group", 6}, {"pads", Ints{2, 2, 2, 2}}, {"dilations", Ints{2, 2}}});
  });
  check_network(x, {2, 3, 4, 3}, [](ModelBuilder& b, const std::string& in) {
    const std::string inner =
        b.node("Conv", {in, b.initializer("v", random_floats({4, 4, 2, 2}, 8))},
               {{"auto_pad", std::string("SAME_LOWER")}});
    return conv(b, "Conv", inner, {3, 4, 3, 2},
                {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Ints{2, 2}}});
  });
}

TEST_CASE("lowered derivatives of transposed convolutions follow the training") {
  const Shape x{2, 4, 3, 5};
  check_network(x, {2, 4, 8, 9}, [](ModelBuilder& b, const std::string& in) {
    const std::string inner =
        b.node("Conv", {in, b.initializer("v", random_floats({4, 4, 1, 1}, 8))});
    return conv(b, "ConvTranspose", inner, {4, 2, 3, 3},
                {{"group", 2},
                 {"strides", Ints{3, 2}},
                 {"pads", Ints{1, 1, 1, 1}},
                 {"output_padding", Ints{1, 0}}});
  });
  check_network(x, {2, 3, 6, 10}, [](ModelBuilder& b, const std::string& in) {
    const std::string inner =
        b.node("Conv", {in, b.initializer("v", random_floats({4, 4, 1, 1}, 8))});
    return conv(b, "ConvTranspose", inner, {4, 3, 3, 3},
                {{"strides", Ints{2, 2}}, {"output_shape", Ints{6, 10}}});
  });
}

TEST_CASE("lowered derivatives of pools follow the training") {
  const Shape x{2, 2, 7, 6};
  check_network(x, {2, 2, 3, 3},
                after_conv("MaxPool", {{"kernel_shape", Ints{3, 2}}, {"strides", Ints{2, 2}}}));
  check_network(x, {2, 2, 4, 3},
                after_conv("AveragePool", {{"kernel_shape", Ints{3, 3}},
                                           {"strides", Ints{2, 2}},
                                           {"pads", Ints{1, 1, 1, 1}}}));
  check_network(x, {2, 2, 4, 3},
                after_conv("AveragePool", {{"kernel_shape", Ints{3, 3}},
                                           {"strides", Ints{2, 2}},
                                           {"pads", Ints{1, 1, 1, 1}},
                                           {"count_include_pad", 1}}));
  check_network(
      x, {2, 2, 4, 3},
      after_conv("AveragePool",
                 {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", 1}}));
  check_network(
      x, {2, 2, 4, 3},
      after_conv("LpPool",
                 {{"kernel_shape", Ints{2, 2}}, {"strides", Ints{2, 2}}, {"ceil_mode", 1}}),
      18);
  check_network(x, {2, 2, 1, 1}, after_conv("GlobalAveragePool", {}));
}

TEST_CASE("lowered derivatives of moved elements follow the training") {
  const Shape x{2, 2, 4, 6};
  for (const char* mode : {"constant", "reflect", "edge"}) {
    check_network(x, {2, 2, 7, 7}, [&](ModelBuilder& b, const std::string& in) {
      const std::string pads =
          b.initializer("pads", Tensor::of<std::int64_t>({8}, Ints{0, 0, 1, 2, 0, 0, 2, -1}));
      return b.node("Pad", {conv(b, "Conv", in, {2, 2, 1, 1}, {}), pads},
                    {{"mode", std::string(mode)}});
    });
  }
  check_network(x, {2, 2, 2, 3}, [](ModelBuilder& b, const std::string& in) {
    const auto ints = [&](const char* name, const Ints& values) {
      return b.initializer(
          name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
    };
    const std::string inner = conv(b, "Conv", in, {2, 2, 1, 1}, {});
    const std::string first =
        b.node("Slice", {inner, ints("s", {1}), ints("e", {3}), ints("a", {2})});
    return b.node("Slice",
                  {first, ints("s2", {-1}), ints("e2", {-7}), ints("a2", {3}), ints("t2", {-2})});
  });
  check_network(x, {2, 3, 4, 6}, [](ModelBuilder& b, const std::string& in) {
    const std::string indices = b.initializer("i", Tensor::of<std::int64_t>({3}, Ints{1, -1, 0}));
    return b.node("Gather", {conv(b, "Conv", in, {2, 2, 1, 1}, {}), indices}, {{"axis", 1}});
  });
  check_network(x, {2, 2, 6}, [](ModelBuilder& b, const std::string& in) {
    const std::string indices =
        b.initializer("i", Tensor::of<std::int64_t>({2, 2, 2}, Ints{1, 3, -1, 0, 0, 2, 0, 2}));
    return b.node("GatherND", {conv(b, "Conv", in, {2, 2, 1, 1}, {}), indices},
                  {{"batch_dims", 1}});
  });
}

TEST_CASE("lowered derivatives of normalizations follow the training") {
  const Shape x{3, 2, 4, 5};
  const auto with_vectors = [](const std::string& op, const Shape& shape,
                               const ModelBuilder::Attributes& attributes, std::int64_t opset) {
    check_network(
        {3, 2, 4, 5}, {3, 2, 4, 5},
        [&](ModelBuilder& b, const std::string& in) {
          std::vector<std::string> inputs{conv(b, "Conv", in, {2, 2, 1, 1}, {}),
                                          b.initializer("scale", random_floats(shape, 8)),
                                          b.initializer("shift", random_floats(shape, 9))};
          if (op == "BatchNormalization") {
            inputs.push_back(b.initializer("mean", random_floats(shape, 10)));
            inputs.push_back(b.initializer("var", random_floats(shape, 11, 0.5F, 2)));
          }
          return b.node(op, inputs, attributes);
        },
        opset);
  };
  with_vectors("BatchNormalization", {2}, {}, 17);
  with_vectors("BatchNormalization", {2}, {}, 9);
  with_vectors("InstanceNormalization", {2}, {}, 17);
  with_vectors("LayerNormalization", {4, 5}, {{"axis", 2}}, 17);
  with_vectors("GroupNormalization", {2}, {{"num_groups", 1}}, 21);
  check_network(x, x, after_conv("LRN", {{"size", 3}}));
  check_network(x, x, after_conv("Softmax", {{"axis", 1}}), 11);
}

TEST_CASE("lowered derivatives of Resize, Einsum and Det follow the training") {
  for (const char* mode : {"nearest", "linear", "cubic"}) {
    check_network({2, 2, 3, 4}, {2, 2, 6, 6}, [&](ModelBuilder& b, const std::string& in) {
      const std::string sizes =
          b.initializer("sizes", Tensor::of<std::int64_t>({4}, Ints{2, 2, 6, 6}));
      return b.node("Resize", {conv(b, "Conv", in, {2, 2, 1, 1}, {}), "", "", sizes},
                    {{"mode", std::string(mode)}});
    });
  }
  check_network({2, 3}, {3, 2}, [](ModelBuilder& b, const std::string& in) {
    return b.node("Einsum", {in, b.initializer("w", random_floats({4, 2, 3}, 5))},
                  {{"equation", std::string("bi,kbi->ib")}});
  });
  // Derivatives that lie on a diagonal, or are repeated along letters of their own.
  struct Case {
    std::string equation;
    Shape x;
    Shape weight;
    Shape y;
  };
  for (const Case& one : {Case{"ii,ij->ij", {3, 3}, {3, 2}, {3, 2}},
                          {"ii,j->j", {3, 3}, {2}, {2}},
                          {"ii,jj->", {3, 3}, {2, 2}, {}},
                          {"bii,bi->b", {2, 3, 3}, {2, 3}, {2}},
                          {"iij,jkk->i", {3, 3, 2}, {2, 4, 4}, {3}},
                          {"iii,i->i", {3, 3, 3}, {3}, {3}},
                          {"iijj,ij->i", {2, 2, 3, 3}, {2, 3}, {2}},
                          {"ijij,ij->j", {2, 3, 2, 3}, {2, 3}, {3}},
                          {"...ii,i->...i", {2, 4, 3, 3}, {3}, {2, 4, 3}},
                          {"i...i,...->i...", {3, 2, 4, 3}, {2, 4}, {3, 2, 4}},
                          {"...ii,...->...", {2, 3, 3}, {2}, {2}},
                          {"...ij,...->...", {2, 3, 4}, {2}, {2}},
                          {"j...i,...->...", {4, 2, 3}, {2}, {2}},
                          // Dims of `...` that the other operand lacks, or has more of.
                          {"...ii,...i->i", {2, 3, 3}, {2, 3}, {3}},
                          {"...ii,...i->i", {2, 3, 3}, {1, 3}, {3}},
                          {"...ii,...i->i", {1, 3, 3}, {4, 3}, {3}},
                          {"...ii,...i->i", {4, 1, 3, 3}, {2, 3}, {3}},
                          {"i...i,...i->i", {3, 4, 3}, {2, 4, 3}, {3}},
                          {"i...,...i->i", {3, 1, 4}, {5, 2, 1, 3}, {3}},
                          {"...ii,i->i", {2, 3, 3}, {3}, {3}},
                          {"...ii,j->j", {2, 4, 3, 3}, {2}, {2}}}) {
    CAPTURE(one.equation);
    check_network(one.x, one.y, [&](ModelBuilder& b, const std::string& in) {
      // Both operands depend on weights.
      const std::string first = b.node("Mul", {in, b.initializer("v", random_floats(one.x, 7))});
      return b.node("Einsum", {first, b.initializer("w", random_floats(one.weight, 5))},
                    {{"equation", one.equation}});
    });
  }
  check_network({2, 3, 3}, {2}, [](ModelBuilder& b, const std::string& in) {
    return b.node("Det", {b.node("MatMul", {in, b.initializer("w", random_floats({3, 3}, 5))})});
  });
}

TEST_CASE("lowered derivatives of recurrent operators follow the training") {
  for (const auto& [op, gates] : {std::pair("RNN", 1), std::pair("GRU", 3), std::pair("LSTM", 4)}) {
    CAPTURE(op);
    check_network(
        {4, 2, 3}, {4, 2, 2, 5},
        [&, op = std::string(op), rows = gates * 5](ModelBuilder& b, const std::string& in) {
          const std::string y = "states";
          b.node(op, "",
                 {in, b.initializer("w", random_floats({2, rows, 3}, 5, -1, 1)),
                  b.initializer("r", random_floats({2, rows, 5}, 6, -1, 1)),
                  b.initializer("b", random_floats({2, 2 * rows}, 7, -1, 1))},
                 {y}, {{"hidden_size", 5}, {"direction", std::string("bidirectional")}});
          return y;
        });
  }
}

TEST_CASE("a lowered step of a quantized LSTM rounds its states as the training does") {
  const auto bytes = [](const Shape& shape, int start) {
    Tensor tensor(DType::int8, shape);
    int x = start;
    for (std::int8_t& value : tensor.mutable_values<std::int8_t>()) {
      x = (x * 37 + 11) % 201;
      value = static_cast<std::int8_t>(x - 100);
    }
    return tensor;
  };
  for (const bool backwards : {false, true}) {
    CAPTURE(backwards);
    const std::int64_t count = backwards ? 2 : 1;
    check_network({4, 2, 3}, {4, count, 2, 5}, [&](ModelBuilder& b, const std::string& in) {
      const auto scale = [&](const char* name, float value) {
        return b.initializer(
            name, Tensor::of<float>({count}, std::vector<float>(std::size_t(count), value)));
      };
      const std::string zero = b.initializer("zero", Tensor(DType::int8, {count}));
      const std::string y = "states";
      b.node("DynamicQuantizeLSTM", "com.microsoft",
             {b.node("Mul", {in, b.initializer("m", random_floats({3}, 4, 1, 2))}),
              b.initializer("w", bytes({count, 3, 20}, 1)),
              b.initializer("r", bytes({count, 5, 20}, 2)),
              b.initializer("b", random_floats({count, 40}, 7, -1, 1)), "", "", "", "",
              scale("ws", 0.01F), zero, scale("rs", 0.012F), zero},
             {y},
             {{"hidden_size", 5},
              {"direction", std::string(backwards ? "bidirectional" : "forward")}});
      return y;
    });
  }
}

TEST_CASE("lowered derivatives of DFT and AffineGrid follow the training") {
  // The derivative of DFT has no form before version 20.
  for (const std::int64_t onesided : {0, 1}) {
    for (const std::int64_t length : {0, 4, 9}) {
      CAPTURE(onesided, length);
      const std::int64_t n = length == 0 ? 6 : length;
      check_network(
          {2, 6, 1}, {2, onesided != 0 ? n / 2 + 1 : n, 2},
          [&](ModelBuilder& b, const std::string& in) {
            const std::string signal =
                b.node("Mul", {in, b.initializer("w", random_floats({6, 1}, 5))});
            const std::string size =
                length == 0 ? std::string() : b.initializer("n", Tensor::scalar(length));
            const std::string axis = b.initializer("axis", Tensor::scalar(std::int64_t{1}));
            return b.node("DFT", {signal, size, axis}, {{"onesided", onesided}});
          },
          20);
    }
  }
  check_network(
      {2, 2, 3}, {2, 3, 4, 2},
      [](ModelBuilder& b, const std::string& in) {
        const std::string theta = b.node("Mul", {in, b.initializer("w", random_floats({2, 3}, 5))});
        const std::string size =
            b.initializer("size", Tensor::of<std::int64_t>({4}, Ints{2, 1, 3, 4}));
        return b.node("AffineGrid", {theta, size}, {{"align_corners", 1}});
      },
      20);
}

TEST_CASE("lowering names an algorithm or initialization that is not there") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  CHECK_THROWS_WITH(lower(model, {.algorithm = 1}), Catch::Contains("algorithm 1"));
  CHECK_THROWS_WITH(lower(model, {.initialization = 0}), Catch::Contains("no initialization"));
  CHECK_THROWS_WITH(lower(model, {.initialization = 4}), Catch::Contains("information 4"));
}

TEST_CASE("a lowered step starts from the present state and names the next one") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  const NamedValues feeds{{"x", random_floats({3, 2}, 1)}, {"t", random_floats({3, 1}, 2)}};
  model.train_step(feeds);
  LowerReport report;
  const auto bytes = lower(model, {}, &report);
  CHECK(report.state == std::vector<std::string>{"w", "b"});
  const graph::ModelDef def = load_model(bytes);
  for (const graph::InitializerDef& one : def.graph.initializers) {
    if (one.name == "w") CHECK(one.value.identical(model.get_state("w")));
  }
  for (const auto& [variable, output] : report.next_state) {
    const auto found = std::find(def.metadata.begin(), def.metadata.end(),
                                 std::pair("ondine.state." + variable, output));
    CHECK(found != def.metadata.end());
  }
  // Without the state as inputs, its defaults count.
  const NamedValues lowered = Model::load(bytes).infer(feeds);
  model.train_step(feeds);
  for (const NamedValue& one : lowered) {
    for (const auto& [variable, output] : report.next_state) {
      if (one.first == output) check_close(one.second.tensor(), model.get_state(variable));
    }
  }
}

TEST_CASE("a lowered initialization gives the values that initialize gives") {
  Model model = trained_network({5, 3}, {5, 4}, dense, Adam{}, 17, WeightInit::zeros);
  LowerReport report;
  const auto bytes = lower(model, {.initialization = 0}, &report);
  model.train_step(network_feeds({5, 3}, {5, 4}));
  model.initialize();
  CHECK(report.results.empty());
  REQUIRE(!report.next_state.empty());
  const NamedValues made = Model::load(bytes).infer(NamedValues{});
  for (const auto& [variable, output] : report.next_state) {
    const auto found =
        std::find_if(made.begin(), made.end(),
                     [&name = output](const NamedValue& one) { return one.first == name; });
    REQUIRE(found != made.end());
    check_close(found->second.tensor(), model.get_state(variable));
  }
}
