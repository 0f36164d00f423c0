#include "graph/training/prepare/loss.h"

#include <cmath>
#include <limits>

#include "core/message.h"
#include "graph/training/prepare/label_loss.h"
#include "graph/training/prepare/paths.h"

namespace ondine::graph {
namespace {

// The first version with operators for losses of class labels.
constexpr std::int64_t first_with_label_losses = 12;

// A name that the output has twice is believed the first time: PyTorch's exporter may call other
// axes by the batch's name.
void open_repeated_names(std::vector<DimDef>& dims) {
  Strings seen;
  for (DimDef& dim : dims) {
    const auto* name = std::get_if<DimName>(&dim);
    if (name != nullptr && !seen.insert(*name).second) dim = std::monostate();
  }
}

void write_label(GraphWriter& writer, const PrepareOptions& options, DType dtype,
                 std::optional<std::vector<DimDef>> dims) {
  if (dims) open_repeated_names(*dims);
  if (writer.names().contains(options.label)) {
    fail(ErrorCode::mismatch, "the model already has a value named ", quoted(options.label),
         "; choose another name for the label");
  }
  ValueDef label;
  label.name = writer.names().fresh(options.label);
  label.type = tensor_type(dtype, std::move(dims));
  writer.graph().inputs.push_back(std::move(label));
}

std::string mean(GraphWriter& writer, const std::string& value) {
  return writer.node("ReduceMean", {value}, "loss", {{"keepdims", std::int64_t{0}}});
}

std::string write_accuracy(GraphWriter& writer, const Prediction& prediction,
                           const std::string& label) {
  const std::string best = writer.node("ArgMax", {prediction.value}, "loss.best",
                                       {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
  const std::string hit = writer.node("Equal", {best, label}, "loss.hit");
  const std::string number = writer.cast(hit, DType::float32, "loss.hit_number");
  return writer.node("ReduceMean", {number}, "accuracy", {{"keepdims", std::int64_t{0}}});
}

// Classes are axis 1 of the prediction.
void write_class_label(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options) {
  std::optional<std::vector<DimDef>> dims = prediction.dims;
  if (dims) {
    if (dims->size() < 2) {
      const bool is_nll = options.loss == Loss::nll;
      fail(ErrorCode::mismatch,
           is_nll ? "negative log likelihood needs probabilities"
                  : "softmax cross entropy needs logits",
           " of rank 2 or more, found rank ", dims->size(), " in ", quoted(prediction.value));
    }
    dims->erase(dims->begin() + 1);
  }
  write_label(writer, options, DType::int64, std::move(dims));
}

LossValues cross_entropy(GraphWriter& writer, const Prediction& prediction,
                         const PrepareOptions& options) {
  write_class_label(writer, prediction, options);
  LossValues result{{}, {}, prediction.dtype};
  if (writer.opset() >= first_with_label_losses) {
    result.loss = writer.node("SoftmaxCrossEntropyLoss", {prediction.value, options.label}, "loss");
  } else {
    result.loss = write_label_loss(writer, write_log_softmax(writer, prediction), options.label,
                                   prediction, prediction.dtype);
  }
  if (options.accuracy) result.accuracy = write_accuracy(writer, prediction, options.label);
  return result;
}

// softplus(x) - x z: its derivative sigmoid(x) - z holds at x = 0 too.
std::string binary_cross_entropy(GraphWriter& writer, const std::string& x,
                                 const std::string& label) {
  const std::string product = writer.node("Mul", {x, label}, "loss.product");
  const std::string softplus = writer.node("Softplus", {x}, "loss.softplus");
  return mean(writer, writer.node("Sub", {softplus, product}, "loss.each"));
}

// Min broadcasts since version 8.
std::string write_minimum(GraphWriter& writer, const std::string& distance,
                          const std::string& delta, const PrepareOptions& options) {
  if (writer.opset() >= 8) return writer.node("Min", {distance, delta}, "loss.bounded");
  return writer.node("Clip", {distance}, "loss.bounded", {{"max", options.huber_delta}});
}

// q (|d| - q / 2) with q = min(|d|, delta).
std::string huber(GraphWriter& writer, const std::string& distance, const PrepareOptions& options,
                  DType dtype) {
  const std::string delta = writer.scalar("loss.delta", options.huber_delta, dtype);
  const std::string half = writer.scalar("loss.half", 0.5, dtype);
  const std::string q = write_minimum(writer, distance, delta, options);
  const std::string half_q = writer.node("Mul", {q, half}, "loss.half_bounded");
  const std::string rest = writer.node("Sub", {distance, half_q}, "loss.rest");
  return mean(writer, writer.node("Mul", {q, rest}, "loss.each"));
}

std::string regression(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options) {
  const std::string d = writer.node("Sub", {prediction.value, options.label}, "loss.difference");
  if (options.loss == Loss::mse) return mean(writer, writer.node("Mul", {d, d}, "loss.each"));
  const std::string distance = writer.node("Abs", {d}, "loss.distance");
  return options.loss == Loss::mae ? mean(writer, distance)
                                   : huber(writer, distance, options, prediction.dtype);
}

// Log(p), not below -100. Below the smallest normal number the derivative is 0: that of Log is too
// large for the type there.
std::string clamped_log(GraphWriter& writer, const std::string& p, DType dtype) {
  const double least =
      dtype == DType::float64 ? std::exp(-100.0) : double{std::numeric_limits<float>::min()};
  const std::string bound = writer.scalar("loss.least", least, dtype);
  const std::string lowest = writer.scalar("loss.lowest", -100, dtype);
  const std::string below = writer.node("Less", {p, bound}, "loss.below");
  const std::string bounded = write_choice(writer, below, bound, p, dtype, "loss.bounded");
  const std::string log = writer.node("Log", {bounded}, "loss.log");
  return write_choice(writer, below, lowest, log, dtype, "loss.clamped_log");
}

// In float where the type is a half one, whose logarithms lose too much.
std::string as_computed(GraphWriter& writer, const std::string& value, DType& dtype) {
  if (dtype == DType::float32 || dtype == DType::float64) return value;
  dtype = DType::float32;
  return writer.cast(value, dtype, "loss.float");
}

LossValues negative_log_likelihood(GraphWriter& writer, const Prediction& prediction,
                                   const PrepareOptions& options) {
  write_class_label(writer, prediction, options);
  DType dtype = prediction.dtype;
  std::string log = as_computed(writer, prediction.value, dtype);
  if (!prediction.is_log) log = clamped_log(writer, log, dtype);
  LossValues result;
  if (writer.opset() >= first_with_label_losses) {
    result.loss = writer.node("NegativeLogLikelihoodLoss", {log, options.label}, "loss");
  } else {
    result.loss = write_label_loss(writer, classes_last(writer, log, prediction), options.label,
                                   prediction, dtype);
  }
  result.dtype = dtype;
  if (options.accuracy) result.accuracy = write_accuracy(writer, prediction, options.label);
  return result;
}

// - t log(p) - (1 - t) log(1 - p)
LossValues probability_cross_entropy(GraphWriter& writer, const Prediction& prediction,
                                     const PrepareOptions& options) {
  write_label(writer, options, prediction.dtype, prediction.dims);
  LossValues result{{}, {}, prediction.dtype};
  const std::string p = as_computed(writer, prediction.value, result.dtype);
  const std::string t = result.dtype == prediction.dtype
                            ? options.label
                            : writer.cast(options.label, result.dtype, "loss.label");
  const std::string one = writer.scalar("loss.one", 1, result.dtype);
  const std::string q = writer.node("Sub", {one, p}, "loss.complement");
  const std::string rest = writer.node("Sub", {one, t}, "loss.other_label");
  const std::string hit = writer.node("Mul", {t, clamped_log(writer, p, result.dtype)}, "loss.hit");
  const std::string miss =
      writer.node("Mul", {rest, clamped_log(writer, q, result.dtype)}, "loss.miss");
  const std::string sum = writer.node("Add", {hit, miss}, "loss.log_likelihood");
  result.loss = mean(writer, writer.node("Neg", {sum}, "loss.each"));
  return result;
}

}  // namespace

LossValues write_loss(GraphWriter& writer, const Prediction& prediction,
                      const PrepareOptions& options) {
  LossValues result{{}, {}, prediction.dtype};
  if (options.loss == Loss::softmax_cross_entropy) {
    result = cross_entropy(writer, prediction, options);
  } else if (options.loss == Loss::nll) {
    result = negative_log_likelihood(writer, prediction, options);
  } else if (options.loss == Loss::bce_probabilities) {
    result = probability_cross_entropy(writer, prediction, options);
  } else {
    write_label(writer, options, prediction.dtype, prediction.dims);
    result.loss = options.loss == Loss::bce_with_logits
                      ? binary_cross_entropy(writer, prediction.value, options.label)
                      : regression(writer, prediction, options);
  }
  writer.output(result.loss, result.dtype, std::vector<DimDef>{});
  if (!result.accuracy.empty()) {
    writer.output(result.accuracy, DType::float32, std::vector<DimDef>{});
  }
  return result;
}

}  // namespace ondine::graph
