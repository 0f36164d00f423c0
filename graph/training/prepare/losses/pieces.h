// Pieces that several losses are written with.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/training/prepare/loss.h"

namespace ondine::graph {

// Throws Error(unsupported) where the model imports an older ai.onnx.
void require_opset(const GraphWriter& writer, std::int64_t needed, std::string_view what);

// Adds an input. Error(mismatch) where the model has a value of this name.
void write_label(GraphWriter& writer, const std::string& name, DType dtype,
                 std::optional<std::vector<DimDef>> dims);
// options.label as int64 classes [N, ...] of a prediction [N, C, ...]. `what` for messages:
// "softmax cross entropy needs logits".
void write_class_label(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options, std::string_view what);

// Error(mismatch) for a prediction of rank 0 or 1. `what` as above.
void require_classes(const Prediction& prediction, std::string_view what);
Tensor class_weight_tensor(const std::vector<float>& weights, DType dtype);
// Error(mismatch) where the number of weights is not that of the classes, if it is known.
void check_class_weights(const Prediction& prediction, const PrepareOptions& options);
// options.class_weights, shaped to be multiplied with the prediction.
std::string write_class_weights(GraphWriter& writer, const Prediction& prediction,
                                const PrepareOptions& options, DType dtype);

// What needs some version of ai.onnx, for messages.
inline constexpr const char* weighted_rows = "a loss with weights of rows";
// PrepareOptions::row_weights: the input that has them; with privacy, the one that counts rows.
std::string weights_name(const PrepareOptions& options);
// Values whose first axis counts rows, as [rows, values of a row] times the weights of the rows;
// the values themselves where rows count alike.
std::string weigh_rows(GraphWriter& writer, const PrepareOptions& options, const std::string& value,
                       DType dtype);

// Whether to write the accuracy: PrepareOptions::accuracy, or its default.
bool writes_accuracy(const Prediction& prediction, const PrepareOptions& options);
// Accuracy: how often the largest entry along axis 1 is the label; "" where it is not written.
std::string write_accuracy(GraphWriter& writer, const Prediction& prediction,
                           const std::string& label, const PrepareOptions& options);

// Mean of all elements, of rank 0.
std::string mean(GraphWriter& writer, const std::string& value, const std::string& hint = "loss");
// Mean of weighed rows, of rank 0.
std::string mean(GraphWriter& writer, const PrepareOptions& options, const std::string& value,
                 DType dtype, const std::string& hint = "loss");
std::string sum(GraphWriter& writer, const std::string& value, const std::string& hint);
// Over some axes, which are an attribute or an input, depending on the opset.
std::string reduce(GraphWriter& writer, const std::string& op, const std::string& value,
                   const std::vector<std::int64_t>& axes, bool keep, const std::string& hint);
std::string unsqueeze(GraphWriter& writer, const std::string& value, std::int64_t axis,
                      const std::string& hint);
std::string log_softmax(GraphWriter& writer, const std::string& x, std::int64_t axis);
std::string integers(GraphWriter& writer, const std::string& hint,
                     const std::vector<std::int64_t>& values);
std::string integer(GraphWriter& writer, const std::string& hint, std::int64_t value);
// The size of an axis: int64 of rank 0.
std::string size_of(GraphWriter& writer, const std::string& value, std::int64_t axis);
// 0, 1, ... size - 1.
std::string counted(GraphWriter& writer, const std::string& size, const std::string& hint);

// A prediction and the label of its shape that a loss compares in one type.
struct Compared {
  std::string prediction;
  std::string label;
  DType dtype = DType::undefined;
};
// Adds options.label with the type and the shape of the prediction: of what the model gives, before
// its classes were moved to axis 1; the label's are moved likewise.
Compared write_compared(GraphWriter& writer, const Prediction& prediction,
                        const PrepareOptions& options);

// Log(p), not below -100. Below the smallest normal number the derivative is 0: that of Log is too
// large for the type there.
std::string clamped_log(GraphWriter& writer, const std::string& p, DType dtype);
// Below it a derivative would overflow.
double least_of(DType dtype);
// The root of a sum of squares; 0 with derivative 0 at 0.
std::string safe_root(GraphWriter& writer, const std::string& squares, DType dtype);
// total / max(count, 1).
std::string mean_of_some(GraphWriter& writer, const std::string& total, const std::string& count,
                         DType dtype, const std::string& hint = "loss");

}  // namespace ondine::graph
