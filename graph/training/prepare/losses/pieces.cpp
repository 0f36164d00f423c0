#include "graph/training/prepare/losses/pieces.h"

#include <algorithm>
#include <limits>

namespace ondine::graph {
namespace {

Tensor integer_tensor(const std::vector<std::int64_t>& values) {
  Tensor tensor(DType::int64, {static_cast<std::int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.mutable_values<std::int64_t>().begin());
  return tensor;
}

// The shape before write_moves() moved the classes to axis 1.
std::optional<std::vector<DimDef>> dims_before(const Prediction& prediction) {
  std::optional<std::vector<DimDef>> dims = prediction.dims;
  if (!dims || prediction.class_axis == 1) return dims;
  const auto end = dims->begin() + static_cast<std::ptrdiff_t>(prediction.class_axis) + 1;
  std::rotate(dims->begin() + 1, dims->begin() + 2, end);
  return dims;
}

}  // namespace

std::string mean(GraphWriter& writer, const std::string& value, const std::string& hint) {
  return writer.node("ReduceMean", {value}, hint, {{"keepdims", std::int64_t{0}}});
}

std::string mean(GraphWriter& writer, const PrepareOptions& options, const std::string& value,
                 DType dtype, const std::string& hint) {
  return mean(writer, weigh_rows(writer, options, value, dtype), hint);
}

std::string weights_name(const PrepareOptions& options) {
  return options.label + (options.privacy ? "_counted" : "_weights");
}

std::string weigh_rows(GraphWriter& writer, const PrepareOptions& options, const std::string& value,
                       DType dtype) {
  if (!options.row_weights) return value;
  const std::string rows =
      writer.node("Reshape", {value, integers(writer, "loss.row_shape", {0, -1})}, "loss.rows");
  const std::string column = writer.node(
      "Reshape", {weights_name(options), integers(writer, "loss.column_shape", {-1, 1})},
      "loss.row_weights");
  return writer.node("Mul", {rows, writer.cast(column, dtype, "loss.typed_weights")},
                     "loss.weighed_rows");
}

std::string sum(GraphWriter& writer, const std::string& value, const std::string& hint) {
  return writer.node("ReduceSum", {value}, hint, {{"keepdims", std::int64_t{0}}});
}

std::string reduce(GraphWriter& writer, const std::string& op, const std::string& value,
                   const std::vector<std::int64_t>& axes, bool keep, const std::string& hint) {
  Attributes attributes{{"keepdims", std::int64_t{keep ? 1 : 0}}};
  std::vector<std::string> inputs{value};
  if (writer.opset() >= (op == "ReduceSum" ? 13 : 18)) {
    inputs.push_back(integers(writer, hint + ".axes", axes));
  } else {
    attributes.emplace_back("axes", axes);
  }
  return writer.node(op, std::move(inputs), hint, std::move(attributes));
}

std::string unsqueeze(GraphWriter& writer, const std::string& value, std::int64_t axis,
                      const std::string& hint) {
  if (writer.opset() < 13) {
    return writer.node("Unsqueeze", {value}, hint, {{"axes", std::vector<std::int64_t>{axis}}});
  }
  return writer.node("Unsqueeze", {value, integers(writer, hint + ".axes", {axis})}, hint);
}

// LogSoftmax of before version 13 normalizes over all axes from `axis` on.
std::string log_softmax(GraphWriter& writer, const std::string& x, std::int64_t axis) {
  if (writer.opset() >= 13) {
    return writer.node("LogSoftmax", {x}, "loss.log_softmax", {{"axis", axis}});
  }
  const std::string scale = reduce(writer, "ReduceLogSumExp", x, {axis}, true, "loss.log_sum");
  return writer.node("Sub", {x, scale}, "loss.log_softmax");
}

std::string integers(GraphWriter& writer, const std::string& hint,
                     const std::vector<std::int64_t>& values) {
  return writer.initializer(hint, integer_tensor(values));
}

std::string integer(GraphWriter& writer, const std::string& hint, std::int64_t value) {
  return writer.initializer(hint, Tensor::scalar(value));
}

std::string size_of(GraphWriter& writer, const std::string& value, std::int64_t axis) {
  const std::string shape = writer.node("Shape", {value}, "loss.shape");
  return writer.node("Gather", {shape, integer(writer, "loss.axis", axis)}, "loss.size");
}

std::string counted(GraphWriter& writer, const std::string& size, const std::string& hint) {
  return writer.node(
      "Range", {integer(writer, hint + ".first", 0), size, integer(writer, hint + ".step", 1)},
      hint);
}

Compared write_compared(GraphWriter& writer, const Prediction& prediction,
                        const PrepareOptions& options) {
  write_label(writer, options.label, prediction.dtype, dims_before(prediction));
  Compared result{prediction.value, options.label, prediction.dtype};
  if (prediction.class_axis != 1) result.label = move_classes(writer, prediction, result.label);
  return result;
}

double least_of(DType dtype) {
  return dtype == DType::float64 ? 1e-150 : double{std::numeric_limits<float>::min()};
}

std::string safe_root(GraphWriter& writer, const std::string& squares, DType dtype) {
  const std::string least = writer.scalar("loss.least", least_of(dtype), dtype);
  const std::string is_zero = writer.node("Less", {squares, least}, "loss.is_zero");
  const std::string bounded = writer.node("Where", {is_zero, least, squares}, "loss.bounded");
  const std::string zero = writer.scalar("loss.zero", 0, dtype);
  return writer.node("Where", {is_zero, zero, writer.node("Sqrt", {bounded}, "loss.root")},
                     "loss.distance");
}

std::string mean_of_some(GraphWriter& writer, const std::string& total, const std::string& count,
                         DType dtype, const std::string& hint) {
  const std::string one = writer.scalar("loss.one", 1, dtype);
  return writer.node("Div", {total, writer.node("Max", {count, one}, "loss.count")}, hint);
}

}  // namespace ondine::graph
