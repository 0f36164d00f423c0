// The loss of pairs within a batch, as a loss model of standard operators.
#include <cmath>

#include <ondine/losses.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/ir/document.h"
#include "graph/training/prepare/losses/loss_model.h"
#include "graph/training/prepare/losses/pieces.h"
#include "proto/export.h"

namespace ondine {
namespace {

constexpr std::int64_t opset = 13;
constexpr std::int64_t loss_ir_version = 8;

class InBatchLoss {
 public:
  InBatchLoss() : names_(graph::ModelDef()), writer_(model_.graph, names_, opset) {
    model_.ir_version = loss_ir_version;
    model_.producer_name = "ondine";
    model_.opsets = {{"", opset}};
    model_.metadata = {{graph::no_labels, "true"}};
    model_.graph.name = "in_batch_loss";
  }

  std::string input(const std::string& name, const char* size) {
    graph::ValueDef& value = model_.graph.inputs.emplace_back();
    value.name = names_.fresh(name);
    value.type = graph::tensor_type(
        DType::float32, std::vector<graph::DimDef>{graph::DimName("batch"), graph::DimName(size)});
    return value.name;
  }

  // Cosines of each row of one with each row of the other, divided by the temperature.
  std::string cosines(const std::string& first, const std::string& second, float temperature) {
    const std::string scores =
        writer_.node("MatMul", {normal(first), turned(normal(second))}, "loss.cosines");
    const std::string scale = writer_.scalar("loss.scale", 1 / double{temperature}, DType::float32);
    return writer_.node("Mul", {scores, scale}, "loss.scores");
  }

  // The mean of the cross entropies of rows and of columns, whose classes are their own numbers.
  std::vector<std::byte> bytes(const std::string& scores) {
    const std::string rows = graph::size_of(writer_, scores, 0);
    const std::string column = graph::unsqueeze(writer_, rows, 0, "loss.rows");
    const std::string dims =
        writer_.node("Concat", {column, column}, "loss.square", {{"axis", std::int64_t{0}}});
    const std::string square = writer_.node("Reshape", {scores, dims}, "loss.square_scores");
    const std::string own = graph::counted(writer_, rows, "loss.own");
    const std::string both = writer_.node(
        "Add",
        {writer_.node("SoftmaxCrossEntropyLoss", {square, own}, "loss.of_rows"),
         writer_.node("SoftmaxCrossEntropyLoss", {turned(square), own}, "loss.of_columns")},
        "loss.both");
    const std::string half = writer_.scalar("loss.half", 0.5, DType::float32);
    writer_.output(writer_.node("Mul", {both, half}, "loss"), DType::float32,
                   std::vector<graph::DimDef>{});
    return export_model(model_);
  }

 private:
  // Rows of length 1; rows of zeros stay.
  std::string normal(const std::string& x) {
    const std::string squares =
        graph::reduce(writer_, "ReduceSum", writer_.node("Mul", {x, x}, "loss.square"), {1}, true,
                      "loss.squares");
    const std::string least = writer_.scalar("loss.least", 1e-24, DType::float32);
    const std::string length = writer_.node(
        "Sqrt", {writer_.node("Max", {squares, least}, "loss.bounded")}, "loss.length");
    return writer_.node("Div", {x, length}, "loss.normal");
  }
  std::string turned(const std::string& x) {
    return writer_.node("Transpose", {x}, "loss.turned",
                        {{"perm", std::vector<std::int64_t>{1, 0}}});
  }

  graph::ModelDef model_;
  graph::Names names_;
  graph::GraphWriter writer_;
};

}  // namespace

std::vector<std::byte> in_batch_loss(const std::string& first, const std::string& second,
                                     float temperature) {
  return guard_memory("write the loss", [&] {
    if (!std::isfinite(temperature) || temperature <= 0) {
      fail(ErrorCode::mismatch, "the temperature must be a positive number, found ",
           double{temperature});
    }
    if (first == second) {
      fail(ErrorCode::mismatch, "a pair within a batch has two outputs, found ", quoted(first),
           " twice");
    }
    InBatchLoss loss;
    const std::string a = loss.input(first, "size");
    const std::string b = loss.input(second, "size");
    return loss.bytes(loss.cosines(a, b, temperature));
  });
}

std::vector<std::byte> in_batch_loss(const std::string& scores) {
  return guard_memory("write the loss", [&] {
    InBatchLoss loss;
    return loss.bytes(loss.input(scores, "pairs"));
  });
}

}  // namespace ondine
