#include <cstring>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/parallel.h"
#include "graph/contract/infer.h"
#include "graph/contract/kernel.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::graph;  // NOLINT

namespace {

using Int64s = std::vector<std::int64_t>;

// Binds without showing the elements of any input: what a plan does for parameters that are
// computed in the call.
class BlindBind final : public BindContext {
 public:
  BlindBind(const Node& node, const std::vector<Type>& inputs, const std::vector<Type>& outputs)
      : BindContext(node), inputs_(&inputs), outputs_(&outputs) {}

  const Type& input_type(std::size_t i) const override { return (*inputs_)[i]; }
  const Type& output_type(std::size_t i) const override { return (*outputs_)[i]; }
  const Tensor* constant(std::size_t) const override { return nullptr; }
  void request_workspace(std::size_t bytes) override { workspace = std::max(workspace, bytes); }
  SubgraphRunner* subgraph(std::size_t) override { return nullptr; }
  const Limits& limits() const override { return limits_; }

  std::size_t workspace = 0;

 private:
  const std::vector<Type>* inputs_;
  const std::vector<Type>* outputs_;
  Limits limits_;
};

class Call final : public KernelContext {
 public:
  Call(std::vector<Tensor>& inputs, std::vector<Tensor>& outputs, std::size_t workspace,
       ThreadPool& pool)
      : outputs_of_(&outputs), memory_(workspace / sizeof(double) + 1) {
    for (Tensor& tensor : inputs) slots_.push_back({tensor.mutable_data(), nullptr});
    for (Tensor& tensor : outputs) slots_.push_back({tensor.mutable_data(), nullptr});
    inputs_ = std::span<const Slot>(slots_).first(inputs.size());
    outputs_ = std::span<const Slot>(slots_).subspan(inputs.size());
    workspace_ = memory_.data();
    pool_ = &pool;
  }

  Value value(std::size_t) const override { return {}; }
  Value owned_value(std::size_t) const override { return {}; }
  void* allocate(std::size_t i, const Shape& shape) override {
    Tensor& output = (*outputs_of_)[i];
    output = Tensor(output.dtype(), shape);
    return output.mutable_data();
  }
  void set_value(std::size_t, Value) override {}
  void check_cancelled() const override {}
  void count_iteration() override {}
  const std::shared_ptr<MemoryBudget>& budget() const override { return budget_; }

 private:
  std::vector<Tensor>* outputs_of_;
  std::vector<Slot> slots_;
  std::vector<double> memory_;
  std::shared_ptr<MemoryBudget> budget_;
};

// Runs the operator bound blindly. `declared`: shapes of the outputs that the plan relies on;
// without it the kernel finds them.
std::vector<Tensor> run_blind(const OpCase& op_case, const std::vector<Shape>& declared = {}) {
  Node node;
  node.op = catalogue().find(op_case.domain, op_case.op);
  node.version = op_case.version;
  node.attributes = op_case.attributes;
  std::vector<Type> inputs;
  std::vector<Tensor> tensors;
  std::vector<InferContext::Input> infer_inputs(op_case.inputs.size());
  for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
    tensors.push_back(op_case.inputs[i].tensor());
    inputs.push_back(Type::tensor(tensors[i].dtype(), tensors[i].shape()));
    node.inputs.push_back(static_cast<ValueId>(i));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) infer_inputs[i].type = &inputs[i];
  for (std::size_t i = 0; i < op_case.outputs; ++i) node.outputs.push_back(static_cast<ValueId>(i));
  InferContext infer(node, infer_inputs);
  node.op->infer(infer);
  std::vector<Type> types;
  std::vector<Tensor> outputs;
  for (std::size_t i = 0; i < op_case.outputs; ++i) {
    Type type = infer.outputs()[i].type;
    if (!declared.empty()) type = merge(type, Type::tensor(type.dtype, declared[i]));
    types.push_back(type);
    outputs.emplace_back(type.dtype, type.shape().value_or(Shape{0}));
  }
  BlindBind bind(node, inputs, types);
  const Kernel kernel = node.op->bind(bind);
  ThreadPool pool(2);
  Call call(tensors, outputs, bind.workspace, pool);
  kernel(call);
  return outputs;
}

}  // namespace

TEST_CASE("Parameters that are known only in the call give what known ones give") {
  const Tensor x = random_tensor({2, 3, 1, 4}, 1);
  const Tensor axis = Tensor::scalar<std::int64_t>(-1);
  const std::vector<OpCase> cases = {
      {.op = "Reshape", .inputs = {x, int64s({4, -1})}},
      {.op = "Squeeze", .inputs = {x, int64s({2})}},
      {.op = "Unsqueeze", .inputs = {x, int64s({0, -1})}},
      {.op = "Slice", .inputs = {x, int64s({1}), int64s({-9}), int64s({3}), int64s({-1})}},
      {.op = "Expand", .inputs = {x, int64s({2, 3, 5, 4})}},
      {.op = "Tile", .inputs = {x, int64s({1, 2, 3, 1})}},
      {.op = "Pad", .inputs = {x, int64s({0, 1, 0, 0, 0, 2, 0, -1})}},
      {.op = "Pad",
       .inputs = {x, int64s({0, 1, 0, 0, 0, 2, 0, -1})},
       .attributes = {{"mode", std::string("reflect")}}},
      {.op = "Split", .inputs = {x, int64s({1, 2})}, .attributes = {{"axis", 1L}}, .outputs = 2},
      {.op = "CenterCropPad", .inputs = {x, int64s({1, 5, 1, 2})}},
      {.op = "ReduceSum", .inputs = {x, int64s({1, -1})}},
      {.op = "ReduceLogSumExp", .inputs = {x, int64s({0})}, .attributes = {{"keepdims", 0L}}},
      {.op = "CumSum", .inputs = {x, axis}},
      {.op = "CumProd", .inputs = {x, axis}},
      {.op = "TopK", .inputs = {x, int64s({2})}, .outputs = 2},
      {.op = "OneHot", .inputs = {int64s({0, 2}), int64s({3}), random_tensor({2}, 2)}},
      {.op = "SumTo", .inputs = {x, int64s({3, 1, 1})}, .domain = std::string(ondine_domain)},
      {.op = "SliceGrad",
       .inputs = {x, int64s({2, 3, 1, 9}), int64s({1}), int64s({5}), int64s({3})},
       .domain = std::string(ondine_domain)},
  };
  for (const OpCase& op_case : cases) {
    INFO(op_case.op);
    const auto want = run_op(op_case);
    std::vector<Shape> shapes;
    for (const Value& value : want) shapes.push_back(value.tensor().shape());
    const auto found = run_blind(op_case);
    const auto planned = run_blind(op_case, shapes);
    for (std::size_t i = 0; i < want.size(); ++i) {
      CHECK(found[i].identical(want[i].tensor()));
      CHECK(planned[i].identical(want[i].tensor()));
    }
  }
}

TEST_CASE("A shape in the call that is not the declared one is an error") {
  const Tensor x = iota({2, 3});
  CHECK_THROWS_AS(run_blind({.op = "Reshape", .inputs = {x, int64s({3, 2})}}, {Shape{6, 1}}),
                  Error);
  CHECK_THROWS_AS(
      run_blind({.op = "Slice", .inputs = {x, int64s({0}), int64s({1})}}, {Shape{2, 3}}), Error);
  CHECK_THROWS_AS(run_blind({.op = "Expand", .inputs = {x, int64s({2, 2, 3})}}, {Shape{1, 2, 3}}),
                  Error);
}
