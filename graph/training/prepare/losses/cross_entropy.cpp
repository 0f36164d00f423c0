// Cross entropy of class labels: with class weights w, label smoothing e and an ignored label, as
// in PyTorch, over the labels y that count,
//   ((1 - e) sum -w_y log p_y + e / C sum sum_c -w_c log p_c) / sum w_y.
// Weights of rows multiply both terms, and do not change the divisor: their mean is 1.
#include "graph/training/prepare/losses/label_loss.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

class WeightedCrossEntropy {
 public:
  WeightedCrossEntropy(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options)
      : writer_(&writer), prediction_(&prediction), options_(&options), dtype_(prediction.dtype) {}

  LossValues write() {
    x_ = prediction_->value;
    write_counts();
    LossValues result{{}, {}, dtype_};
    const float e = options_->label_smoothing;
    std::string loss = over_total(hits(), e == 0 ? "loss" : "loss.hits");
    if (e != 0) {
      const std::string rest = writer_->scalar("loss.rest", 1 - double{e}, dtype_);
      const std::string first = writer_->node("Mul", {loss, rest}, "loss.hit_part");
      loss = writer_->node("Add", {first, smooth_part()}, "loss");
    }
    result.loss = loss;
    if (!counts_.empty()) result.loss_weight = total_;
    if (writes_accuracy(*prediction_, *options_)) result.accuracy = accuracy(result);
    return result;
  }

 private:
  // Writes the weight of each label, 0 for an ignored one, and the sum.
  void write_counts() {
    std::string safe = options_->label;
    if (options_->ignore_index) {
      const std::string ignored = writer_->node(
          "Equal", {options_->label, integer(*writer_, "loss.ignored", *options_->ignore_index)},
          "loss.is_ignored");
      kept_ = writer_->cast(writer_->node("Not", {ignored}, "loss.is_kept"), dtype_, "loss.kept");
      const std::string first = integer(*writer_, "loss.first_class", 0);
      safe = writer_->node("Where", {ignored, first, safe}, "loss.safe_label");
    }
    if (!options_->class_weights.empty()) {
      weights_ = writer_->initializer("loss.class_weights",
                                      class_weight_tensor(options_->class_weights, dtype_));
      counts_ = writer_->node("Gather", {weights_, safe}, "loss.label_weights");
      if (!kept_.empty()) counts_ = writer_->node("Mul", {counts_, kept_}, "loss.counts");
    } else {
      counts_ = kept_;
    }
    if (counts_.empty()) {
      total_ = writer_->cast(writer_->node("Size", {safe}, "loss.labels"), dtype_, "loss.total");
    } else {
      total_ = sum(*writer_, counts_, "loss_weight");
    }
  }

  std::string hits() const {
    const bool adds_up = !options_->row_weights;
    Attributes attributes{{"reduction", std::string(adds_up ? "sum" : "none")}};
    if (options_->ignore_index) attributes.emplace_back("ignore_index", *options_->ignore_index);
    std::vector<std::string> inputs{x_, options_->label};
    if (!weights_.empty()) inputs.push_back(weights_);
    const std::string value =
        writer_->node("SoftmaxCrossEntropyLoss", std::move(inputs),
                      adds_up ? "loss.sum" : "loss.each", std::move(attributes));
    if (adds_up) return value;
    return sum(*writer_, weigh_rows(*writer_, *options_, value, dtype_), "loss.sum");
  }

  // 0 where nothing counts.
  std::string over_total(const std::string& value, const std::string& hint) const {
    const std::string zero = writer_->scalar("loss.zero", 0, dtype_);
    const std::string one = writer_->scalar("loss.one", 1, dtype_);
    const std::string some = writer_->node("Greater", {total_, zero}, "loss.some");
    return writer_->node(
        "Div", {value, writer_->node("Where", {some, total_, one}, "loss.divisor")}, hint);
  }

  std::string smooth_part() const {
    std::string log_p = log_softmax(*writer_, x_, 1);
    if (!weights_.empty()) {
      log_p = writer_->node("Mul",
                            {log_p, write_class_weights(*writer_, *prediction_, *options_, dtype_)},
                            "loss.weighted");
    }
    std::string each = reduce(*writer_, "ReduceSum", log_p, {1}, false, "loss.all_classes");
    if (!kept_.empty()) each = writer_->node("Mul", {each, kept_}, "loss.kept_classes");
    each = weigh_rows(*writer_, *options_, each, dtype_);
    const std::string smooth = over_total(sum(*writer_, each, "loss.smooth_sum"), "loss.smooth");
    const std::string classes = writer_->cast(size_of(*writer_, x_, 1), dtype_, "loss.classes");
    const std::string share = writer_->node(
        "Div",
        {writer_->scalar("loss.smoothing", -double{options_->label_smoothing}, dtype_), classes},
        "loss.share");
    return writer_->node("Mul", {smooth, share}, "loss.smooth_part");
  }

  // Accuracy over the labels that are not ignored.
  std::string accuracy(LossValues& values) const {
    if (kept_.empty()) return write_accuracy(*writer_, *prediction_, options_->label, *options_);
    const std::string best =
        writer_->node("ArgMax", {prediction_->value}, "loss.best",
                      {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}});
    const std::string hit = writer_->node("Equal", {best, options_->label}, "loss.hit");
    const DType number = DType::float32;
    const std::string kept = writer_->cast(kept_, number, "loss.kept_number");
    const std::string hits =
        weigh_rows(*writer_, *options_,
                   writer_->node("Mul", {writer_->cast(hit, number, "loss.hit_number"), kept},
                                 "loss.kept_hit"),
                   number);
    values.accuracy_weight = sum(*writer_, kept, "accuracy_weight");
    return mean_of_some(*writer_, sum(*writer_, hits, "loss.hit_count"), values.accuracy_weight,
                        number, "accuracy");
  }

  GraphWriter* writer_;
  const Prediction* prediction_;
  const PrepareOptions* options_;
  DType dtype_;
  std::string x_;
  std::string kept_;     // 0 or 1; "" where no label is ignored
  std::string weights_;  // of the classes; "" for none
  std::string counts_;   // of the labels; "" where all count 1
  std::string total_;
};

LossValues weighted_cross_entropy(GraphWriter& writer, const Prediction& prediction,
                                  const PrepareOptions& options) {
  require_opset(writer, 12, "softmax cross entropy with weights, smoothing or ignored labels");
  check_class_weights(prediction, options);
  write_class_label(writer, prediction, options, "softmax cross entropy needs logits");
  return WeightedCrossEntropy(writer, prediction, options).write();
}

bool is_weighted(const PrepareOptions& options) {
  return options.label_smoothing != 0 || options.ignore_index || !options.class_weights.empty() ||
         options.row_weights;
}

}  // namespace

LossValues cross_entropy(GraphWriter& writer, const Prediction& prediction,
                         const PrepareOptions& options) {
  if (is_weighted(options)) return weighted_cross_entropy(writer, prediction, options);
  write_class_label(writer, prediction, options, "softmax cross entropy needs logits");
  LossValues result{{}, {}, prediction.dtype};
  if (writer.opset() >= first_with_label_losses) {
    result.loss = writer.node("SoftmaxCrossEntropyLoss", {prediction.value, options.label}, "loss");
  } else {
    result.loss = write_label_loss(writer, write_log_softmax(writer, prediction), options.label,
                                   prediction, prediction.dtype);
  }
  result.accuracy = write_accuracy(writer, prediction, options.label, options);
  return result;
}

}  // namespace ondine::graph
