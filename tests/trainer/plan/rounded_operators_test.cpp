// Operators that state in their OpDef that they take values in bfloat16 (OpDef::rounded).
#include <algorithm>
#include <cstring>

#include <catch2/catch.hpp>

#include "core/float_formats.h"
#include "graph/contract/catalogue.h"
#include "graph/contract/infer_node.h"
#include "tests/support/op_harness.h"
#include "tests/support/random_tensor.h"
#include "trainer/plan/place/static_bind.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

using namespace ondine::graph;  // NOLINT

Tensor rounded(const Tensor& x) {
  Tensor y(DType::bfloat16, x.shape());
  std::ranges::transform(x.values<float>(), y.mutable_values<bfloat16>().begin(), to_bfloat16);
  return y;
}

Tensor widened(const Tensor& x) {
  Tensor y(DType::float32, x.shape());
  std::ranges::transform(x.values<bfloat16>(), y.mutable_values<float>().begin(),
                         [](bfloat16 value) { return to_float(value); });
  return y;
}

// A call of a kernel whose shapes are known.
class Call final : public KernelContext {
 public:
  Call(const std::vector<Slot>& inputs, const std::vector<Slot>& outputs, void* workspace,
       ThreadPool& pool) {
    inputs_ = inputs;
    outputs_ = outputs;
    workspace_ = workspace;
    pool_ = &pool;
  }
  Value value(std::size_t) const override { return {}; }
  Value owned_value(std::size_t) const override { return {}; }
  void* allocate(std::size_t, const Shape&) override { return nullptr; }
  void set_value(std::size_t, Value) override {}
  void check_cancelled() const override {}
  void count_iteration() override {}
  const std::shared_ptr<MemoryBudget>& budget() const override { return budget_; }

 private:
  std::shared_ptr<MemoryBudget> budget_;
};

// An operator with float32 inputs that bfloat16 holds.
struct Case {
  std::string_view name, domain;
  std::int64_t version;
  std::vector<Shape> inputs;
  std::size_t outputs = 1;
  Attributes attributes = {};
  std::vector<std::int64_t> shape = {};  // a last input, if not empty
  std::uint32_t stored = 0;              // inputs that are bfloat16 in any case, as a mask
  std::uint32_t omitted = 0;             // inputs that the node leaves out, as a mask
};

const Shape plane{2, 3, 9, 9}, channels{3}, rows{6, 41};
const Shape heads{2, 3, 20, 16}, long_heads{1, 520, 2, 16};
const Attributes beside{{"interleaved", std::int64_t{1}}};
const Attributes descent{{"optimizer", std::string("SgdUpdate")},
                         {"gradient", std::int64_t{1}},
                         {"like", std::int64_t{5}}};
const Attributes sum{{"optimizer", std::string("FusedElementwise")},
                     {"gradient", std::int64_t{0}},
                     {"like", std::int64_t{5}},
                     {"ops", std::vector<std::string>{"Mul", "Add"}},
                     {"operands", std::vector<std::int64_t>{0, 1, 3, 2}},
                     {"results", std::vector<std::int64_t>{1}}};
const Attributes relu{{"relu", std::int64_t{1}}}, bounds{{"low", -0.5F}, {"high", 0.5F}};
const Attributes training{{"training_mode", std::int64_t{1}}};
const Attributes relu_in_training{{"relu", std::int64_t{1}}, {"training_mode", std::int64_t{1}}};
const Attributes by_gelu{{"activation", std::string("Gelu")}};
const Attributes partly{{"rotary_dim", std::int64_t{8}}};
const Attributes relu6{{"activation", std::string("Relu6")}};
const Attributes transposed{{"transA", std::int64_t{1}}, {"transB", std::int64_t{1}}};
const Attributes padded_groups{{"group", std::int64_t{3}},
                               {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}};
const Attributes padded_channels{{"group", std::int64_t{20}},
                                 {"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                                 {"inner_activation", std::string("Relu")}};
const Shape image{2, 18, 9, 9};
const Attributes depthwise{{"group", std::int64_t{3}},
                           {"pads", std::vector<std::int64_t>{1, 1, 1, 1}},
                           {"relu", std::int64_t{1}}};

const std::vector<Case>& cases() {
  static const std::vector<Case> all{
      {"Abs", "", 13, {rows}},
      {"Relu", "", 14, {rows}},
      {"Sigmoid", "", 13, {rows}},
      {"Tanh", "", 13, {rows}},
      {"Gelu", "", 20, {rows}},
      {"Swish", "", 24, {rows}, 1, {{"alpha", 1.5F}}},
      {"HardSwish", "", 14, {rows}},
      {"Add", "", 14, {rows, rows}},
      {"Add", "", 14, {rows, Shape{41}}},
      {"Sub", "", 14, {Shape{6, 1}, rows}},
      {"Mul", "", 14, {rows, Shape{1}}},
      {"Div", "", 14, {rows, rows}},
      {"GeluGrad", ondine_domain, 1, {rows, rows}},
      {"GeluGrad", ondine_domain, 1, {rows, rows}, 2},
      {"SwishGrad", ondine_domain, 1, {rows, rows}},
      {"GatedActivation", ondine_domain, 1, {rows, rows}, 1, by_gelu},
      {"GatedActivationGrad", ondine_domain, 1, {rows, rows, rows}, 3, by_gelu},
      {"RotatePairs", ondine_domain, 1, {plane, Shape{9, 8}, Shape{1, 8}}, 1, partly},
      {"HardSwishGrad", ondine_domain, 1, {rows, rows}},
      {"ReluGrad", ondine_domain, 1, {rows, rows}},
      {"ClipGrad", ondine_domain, 1, {rows, rows}, 1, bounds},
      {"SoftmaxGrad", ondine_domain, 1, {rows, rows}, 1, {{"axis", std::int64_t{-1}}}},
      {"SoftmaxGrad", ondine_domain, 1, {plane, plane}, 1, {{"axis", std::int64_t{1}}}},
      {"LayerNormalization", "", 17, {rows, Shape{41}, Shape{41}}, 3},
      {"LayerNormalization", "", 17, {rows, Shape{1}}},
      {"LayerNormalization", "", 17, {Shape{3, 1100}, Shape{1100}, Shape{1100}}},
      {"LayerNormalizationGrad", ondine_domain, 1, {rows, rows, Shape{41}}, 3},
      {"LayerNormalizationGrad",
       ondine_domain,
       1,
       {rows, rows, Shape{41}},
       2,
       {{"centred", std::int64_t{0}}}},
      {"RMSNormalization", "", 23, {rows, Shape{41}}},
      {"RMSNormalization", "", 23, {Shape{3, 1100}, Shape{1100}}},
      {"Normalize", ondine_domain, 1, {rows}, 3},
      {"BatchNormalization", "", 15, {plane, channels, channels, channels, channels}},
      {"BatchNormalization", "", 15, {plane, channels, channels, channels, channels}, 3, training},
      {"BatchNormalizationGrad", ondine_domain, 1, {plane, plane, channels, channels, channels}, 3},
      {"BatchNormalizationActivation",
       ondine_domain,
       1,
       {plane, channels, channels, channels, channels, plane},
       3,
       relu_in_training},
      {"BatchNormalizationActivationGrad",
       ondine_domain,
       1,
       {plane, plane, channels, channels, channels, channels},
       3,
       relu},
      {"ScaledAttention", ondine_domain, 1, {heads, heads, heads}},
      {"ScaledAttention", ondine_domain, 1, {long_heads, long_heads, long_heads}, 1, beside},
      {"PackedAttention", ondine_domain, 1, {Shape{2, 20, 3, 3, 16}}},
      {"ScaledAttentionGrad", ondine_domain, 1, {heads, heads, heads, heads}, 3},
      {"ScaledAttentionGrad",
       ondine_domain,
       1,
       {long_heads, long_heads, long_heads, long_heads},
       3,
       beside},
      {"PackedAttentionGrad", ondine_domain, 1, {Shape{2, 20, 3, 16}, Shape{2, 20, 3, 3, 16}}},
      {"PackedAttentionGrad",
       ondine_domain,
       1,
       {Shape{1, 140, 2, 16}, Shape{1, 140, 3, 2, 16}, Shape{140, 140}},
       2},
      {"NormalizedConv",
       ondine_domain,
       1,
       {plane, channels, channels, channels, channels, Shape{3, 1, 3, 3}},
       5,
       depthwise},
      {"ConvGrads",
       ondine_domain,
       1,
       {plane, plane, Shape{3, 1, 3, 3}, channels, channels, channels, channels},
       4,
       depthwise},
      {"SumTo", ondine_domain, 1, {Shape{7, 6, 41}}, 1, {}, {41}},
      {"SumTo", ondine_domain, 1, {Shape{7, 6, 41}}, 1, {}, {7, 1, 1}},
      {"MatMul", "", 13, {Shape{2, 20, 34}, Shape{34, 40}}},
      {"MatMul", "", 13, {Shape{2, 20, 33}, Shape{2, 33, 40}}},
      {"MatMulT", ondine_domain, 1, {Shape{24, 20}, Shape{40, 24}, Shape{40}}, 1, transposed},
      {"MatMulT", ondine_domain, 1, {Shape{20, 900}, Shape{900, 40}, Shape{40}, Shape{20, 40}}},
      {"MatMulT", ondine_domain, 1, {Shape{20, 32}, Shape{32, 40}, Shape{40}, Shape{20, 40}}},
      {"Gemm", "", 13, {Shape{20, 32}, Shape{32, 40}, Shape{20, 40}}},
      {"Gemm", "", 13, {Shape{20, 32}, Shape{32, 40}, Shape{1}}},
      {"Gemm", "", 13, {Shape{20, 32}, Shape{32, 40}, Shape{20, 40}}, 1, {{"alpha", 0.0F}}},
      {"GemmActivation", ondine_domain, 7, {Shape{20, 32}, Shape{32, 40}, Shape{40}}, 1, relu6},
      {"DequantizeMatMul", ondine_domain, 1, {Shape{20, 32}, Shape{32, 40}}, 1, {}, {}, 0b10},
      {"GemmUpdate",
       ondine_domain,
       1,
       {Shape{}, Shape{}, Shape{}, Shape{20, 32}, Shape{32, 40}, Shape{20, 40}, Shape{}},
       1,
       descent,
       {},
       0,
       0b111},
      {"GemmUpdate",
       ondine_domain,
       1,
       {Shape{}, Shape{}, Shape{}, Shape{20, 32}, Shape{32, 40}, Shape{20, 40}, Shape{20, 40}},
       1,
       sum,
       {},
       0,
       0b111},
      {"Conv", "", 11, {image, Shape{20, 18, 1, 1}, Shape{20}}},
      {"Conv", "", 11, {Shape{13, 18, 7, 7}, Shape{150, 18, 1, 1}, Shape{150}}},
      {"Conv", "", 11, {plane, Shape{3, 1, 3, 3}, channels}, 1, padded_groups},
      {"ConvActivation", ondine_domain, 1, {image, Shape{20, 18, 1, 1}, Shape{20}}, 1, relu6},
      {"ConvChain",
       ondine_domain,
       1,
       {image, Shape{20, 18, 1, 1}, Shape{20}, Shape{20, 1, 3, 3}, Shape{20}},
       1,
       padded_channels},
      {"ConvChain",
       ondine_domain,
       1,
       {image, Shape{20, 18, 1, 1}, Shape{20}, Shape{20, 1, 3, 3}, Shape{20}, Shape{17, 20, 1, 1},
        Shape{17}},
       1,
       padded_channels},
  };
  return all;
}

struct Operator {
  Graph graph;
  Node node;
  std::vector<Tensor> inputs;
  Limits limits;

  explicit Operator(const Case& one) {
    node.op = test::catalogue().find(one.domain, one.name);
    REQUIRE(node.op != nullptr);
    node.version = one.version;
    node.attributes = one.attributes;
    std::uint64_t seed = 1;
    for (const Shape& shape : one.inputs) {
      if ((one.omitted >> inputs.size() & 1U) != 0) {
        inputs.emplace_back();
        node.inputs.push_back(no_value);
        continue;
      }
      // Values are positive because some are variances.
      inputs.push_back(widened(rounded(random_floats(shape, seed++, 0.25F, 2))));
      node.inputs.push_back(graph.add_temporary("x", Type::tensor(DType::float32, shape)));
      const std::size_t last = inputs.size() - 1;
      if ((one.stored >> last & 1U) == 0) continue;
      inputs[last] = rounded(inputs[last]);
      graph[node.inputs[last]].type.dtype = DType::bfloat16;
    }
    if (!one.shape.empty()) {
      const auto count = static_cast<std::int64_t>(one.shape.size());
      inputs.push_back(Tensor::of<std::int64_t>({count}, one.shape));
      node.inputs.push_back(
          graph.add_temporary("shape", Type::tensor(DType::int64, inputs.back().shape())));
      graph[node.inputs.back()].constant = inputs.back();
    }
    for (std::size_t i = 0; i < one.outputs; ++i) node.outputs.push_back(graph.add_temporary("y"));
    infer_node(node, graph);
  }

  // Planner's knowledge of the operator: the inputs that it reads rounded, and whether it writes a
  // rounded result.
  std::uint32_t reads(Precision precision) const {
    return trainer::rounded_inputs(node, graph, {.limits = limits, .precision = precision}).read;
  }
  bool writes(Precision precision) const {
    return trainer::rounded_result(node, graph, {.limits = limits, .precision = precision}) !=
           RoundedResult::never;
  }

  // Outputs with the inputs of `narrow` in bfloat16.
  std::vector<Tensor> run(std::uint32_t narrow, int threads,
                          Precision precision = Precision::float32) {
    std::vector<Tensor> given = inputs;
    for (std::size_t i = 0; i < given.size(); ++i) {
      if (!given[i].defined()) continue;
      const bool is_narrow = (narrow >> i & 1U) != 0;
      if (is_narrow) given[i] = rounded(given[i]);
      graph[node.inputs[i]].type.dtype = given[i].dtype();
    }
    const auto bound = trainer::bind_static(
        node, graph, {.limits = limits, .threads = threads, .precision = precision});
    REQUIRE(bound);
    std::vector<Tensor> results;
    std::vector<KernelContext::Slot> in, out;
    for (const Tensor& tensor : given) {
      in.push_back({tensor.defined() ? const_cast<void*>(tensor.data()) : nullptr, nullptr});
    }
    for (const ValueId id : node.outputs) {
      results.emplace_back();
      if (id != no_value) results.back() = Tensor(graph[id].type.dtype, *graph[id].type.shape());
      out.push_back({id != no_value ? results.back().mutable_data() : nullptr, nullptr});
    }
    std::vector<std::max_align_t> workspace(bound->workspace_bytes / sizeof(std::max_align_t) + 8);
    void* memory = workspace.data();
    std::size_t room = workspace.size() * sizeof(std::max_align_t);
    std::align(64, bound->workspace_bytes, memory, room);
    ThreadPool pool(threads);
    Call call(in, out, memory, pool);
    bound->kernel(call);
    return results;
  }
};

void check_same(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i].identical(want[i]));
  }
}

}  // namespace

TEST_CASE("operators that read bfloat16 give what they give for the same numbers in float32") {
  for (const Case& one : cases()) {
    CAPTURE(one.name, one.inputs.size());
    Operator op(one);
    for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
      const std::vector<Tensor> want = op.run(0, 1, precision);
      const std::uint32_t reads = op.reads(precision) & ~one.stored;
      for (std::uint32_t mask = reads; mask != 0; mask = (mask - 1) & reads) {
        CAPTURE(mask);
        for (const int threads : {1, 3}) check_same(op.run(mask, threads, precision), want);
      }
    }
  }
}

TEST_CASE("operators that write bfloat16 round what they compute") {
  for (const Case& one : cases()) {
    CAPTURE(one.name, one.inputs.size());
    for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
      Operator op(one);
      if (!op.writes(precision)) continue;
      const std::uint32_t reads = op.reads(precision) & ~one.stored;
      const Tensor want = rounded(op.run(0, 1, precision)[0]);
      op.graph[op.node.outputs[0]].type.dtype = DType::bfloat16;
      for (const std::uint32_t mask : {0U, reads}) {
        for (const int threads : {1, 3}) CHECK(op.run(mask, threads, precision)[0].identical(want));
      }
    }
  }
}

TEST_CASE("operators that copy their input in bfloat16 round each element of it") {
  for (const Case& one : cases()) {
    CAPTURE(one.name, one.inputs.size());
    Operator op(one);
    const std::size_t copy = op.node.op->rounded.copy;
    if (copy == 0) continue;
    op.inputs[0] = random_floats(one.inputs[0], 9);
    std::vector<Tensor> want = op.run(0, 1);
    want.resize(copy);
    want.push_back(rounded(op.inputs[0]));
    op.node.outputs.resize(copy, no_value);
    op.node.outputs.push_back(
        op.graph.add_temporary("copy", Type::tensor(DType::bfloat16, one.inputs[0])));
    for (const int threads : {1, 3}) {
      const std::vector<Tensor> got = op.run(0, threads);
      CHECK(got[copy].identical(want[copy]));
      for (std::size_t i = 0; i < one.outputs; ++i) CHECK(got[i].identical(want[i]));
    }
  }
}

TEST_CASE("every operator that takes values in bfloat16 is tested here") {
  for (const OpDef* op : test::catalogue().all()) {
    CAPTURE(op->name);
    const RoundedStorage& storage = op->rounded;
    const bool depends = storage.inputs != nullptr || storage.result != nullptr;
    if (storage.reads == 0 && !storage.writes && storage.copy == 0 && !depends) continue;
    CHECK(std::ranges::any_of(cases(), [&](const Case& one) {
      return one.name == op->name && one.domain == op->domain;
    }));
  }
}
