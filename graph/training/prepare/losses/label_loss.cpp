#include "graph/training/prepare/losses/label_loss.h"

#include <array>
#include <numeric>

#include "core/message.h"

namespace ondine::graph {
namespace {

std::size_t rank_of(const Prediction& prediction) {
  if (prediction.dims) return prediction.dims->size();
  fail(ErrorCode::mismatch, "before ai.onnx 12 a loss of class labels needs to know the rank of ",
       quoted(prediction.value));
}

Tensor counting_to(std::int64_t count) {
  Tensor result(DType::int64, Shape{count});
  const auto values = result.mutable_values<std::int64_t>();
  std::iota(values.begin(), values.end(), std::int64_t{0});
  return result;
}

struct Classes {
  std::string numbers;  // [C]: 0, 1, ...
  std::string count;    // [1]: C
};

Classes write_classes(GraphWriter& writer, const std::string& log, const Prediction& prediction) {
  const auto* count = std::get_if<std::int64_t>(&(*prediction.dims)[1]);
  if (count != nullptr) {
    return {writer.initializer("loss.classes", counting_to(*count)),
            writer.initializer("loss.count", Tensor::of<std::int64_t>({1}, std::array{*count}))};
  }
  if (writer.opset() < 9) {
    fail(ErrorCode::mismatch, "before ai.onnx 9 a loss of class labels needs to know how many ",
         "classes ", quoted(prediction.value), " has");
  }
  const auto ints = [&](const char* hint, std::int64_t value) {
    return writer.initializer(hint, Tensor::of<std::int64_t>({1}, std::array{value}));
  };
  const std::string shape = writer.node("Shape", {log}, "loss.shape");
  const auto last = static_cast<std::int64_t>(rank_of(prediction)) - 1;
  Classes classes;
  classes.count = writer.node("Gather", {shape, ints("loss.last", last)}, "loss.count");
  const Tensor one = Tensor::of<std::int64_t>({1}, std::array{std::int64_t{1}});
  const std::string ones =
      writer.node("ConstantOfShape", {classes.count}, "loss.ones", {{"value", one}});
  const std::string numbers = writer.node("NonZero", {ones}, "loss.numbers");
  classes.numbers = writer.node("Reshape", {numbers, ints("loss.flat", -1)}, "loss.classes");
  return classes;
}

// The labels, read from the classes, so that one that is none fails. Negative ones, which would
// count from the end, become C.
std::string checked(GraphWriter& writer, const std::string& label, const Classes& classes) {
  // Less compares integers since version 9.
  const std::string number =
      writer.opset() >= 9 ? label : writer.cast(label, DType::float32, "loss.label_number");
  const Tensor zero = writer.opset() >= 9 ? Tensor::scalar(std::int64_t{0}) : Tensor::scalar(0.0F);
  const std::string negative =
      writer.node("Less", {number, writer.initializer("loss.zero", zero)}, "loss.negative");
  const std::string index =
      write_choice(writer, negative, classes.count, label, DType::int64, "loss.index");
  return writer.node("Gather", {classes.numbers, index}, "loss.checked");
}

}  // namespace

std::string classes_last(GraphWriter& writer, const std::string& value,
                         const Prediction& prediction) {
  const std::size_t rank = rank_of(prediction);
  if (rank == 2) return value;
  std::vector<std::int64_t> order{0};
  for (std::size_t i = 2; i < rank; ++i) order.push_back(static_cast<std::int64_t>(i));
  order.push_back(1);
  return writer.node("Transpose", {value}, "loss.classes_last", {{"perm", std::move(order)}});
}

std::string write_log_softmax(GraphWriter& writer, const Prediction& prediction) {
  const std::string logits = classes_last(writer, prediction.value, prediction);
  const auto last = static_cast<std::int64_t>(rank_of(prediction)) - 1;
  return writer.node("LogSoftmax", {logits}, "loss.log", {{"axis", last}});
}

std::string write_label_loss(GraphWriter& writer, const std::string& log, const std::string& label,
                             const Prediction& prediction, DType dtype) {
  const auto last = static_cast<std::int64_t>(rank_of(prediction)) - 1;
  const Classes classes = write_classes(writer, log, prediction);
  const std::string each =
      writer.node("Unsqueeze", {checked(writer, label, classes)}, "loss.each_label",
                  {{"axes", std::vector<std::int64_t>{last}}});
  const std::string hit = writer.node("Equal", {each, classes.numbers}, "loss.is_label");
  const std::string zero = writer.scalar("loss.none", 0, dtype);
  const std::string chosen = write_choice(writer, hit, log, zero, dtype, "loss.chosen");
  const std::string sum =
      writer.node("ReduceSum", {chosen}, "loss.log_likelihood",
                  {{"axes", std::vector<std::int64_t>{last}}, {"keepdims", std::int64_t{0}}});
  const std::string mean =
      writer.node("ReduceMean", {sum}, "loss.mean", {{"keepdims", std::int64_t{0}}});
  return writer.node("Neg", {mean}, "loss");
}

std::string write_choice(GraphWriter& writer, const std::string& condition, const std::string& a,
                         const std::string& b, DType dtype, const std::string& hint) {
  if (writer.opset() >= 9) return writer.node("Where", {condition, a, b}, hint);
  const std::string yes = writer.cast(condition, dtype, hint + ".yes");
  const std::string no =
      writer.cast(writer.node("Not", {condition}, hint + ".not"), dtype, hint + ".no");
  const std::string first = writer.node("Mul", {yes, a}, hint + ".first");
  return writer.node("Add", {first, writer.node("Mul", {no, b}, hint + ".second")}, hint);
}

}  // namespace ondine::graph
