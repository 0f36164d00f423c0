// Losses of embeddings [N, D] by Euclidean distances within a batch, whose labels [N] say which
// belong together.
#include "core/message.h"
#include "graph/training/prepare/losses/table.h"

namespace ondine::graph {
namespace {

class BatchDistances {
 public:
  BatchDistances(GraphWriter& writer, const Prediction& prediction, const PrepareOptions& options)
      : writer_(&writer), dtype_(prediction.dtype) {
    require_opset(writer, 11, "a loss of embeddings");
    if (prediction.dims && prediction.dims->size() != 2) {
      fail(ErrorCode::mismatch, "a loss of embeddings needs [batch, size], found rank ",
           prediction.dims->size(), " in ", quoted(prediction.value));
    }
    std::optional<std::vector<DimDef>> dims = prediction.dims;
    if (dims) dims->pop_back();
    write_label(writer, options.label, DType::int64, std::move(dims));
    write_distances(prediction.value);
    write_pairs(options.label);
    margin_ = writer.scalar("loss.margin", options.margin, dtype_);
    zero_ = writer.scalar("loss.zero", 0, dtype_);
  }

  // max(0, d(a, p) - d(a, n) + margin) of all triplets of an anchor, another row of its label and a
  // row of another label.
  LossValues triplet() {
    const std::string difference =
        writer_->node("Sub",
                      {unsqueeze(*writer_, distances_, 2, "loss.to_positive"),
                       unsqueeze(*writer_, distances_, 1, "loss.to_negative")},
                      "loss.difference");
    const std::string violation = writer_->node(
        "Relu", {writer_->node("Add", {difference, margin_}, "loss.violation")}, "loss.hinge");
    const std::string positive = unsqueeze(*writer_, positive_, 2, "loss.positives");
    const std::string negative =
        unsqueeze(*writer_, writer_->node("Not", {same_}, "loss.negative"), 1, "loss.negatives");
    return mean_where(writer_->node("And", {positive, negative}, "loss.is_triplet"), violation);
  }

  // d^2 of two rows of one label, max(0, margin - d)^2 of two others, over all pairs.
  LossValues contrastive() {
    const std::string rest = writer_->node(
        "Relu", {writer_->node("Sub", {margin_, distances_}, "loss.gap")}, "loss.hinge");
    const std::string apart = writer_->node("Mul", {rest, rest}, "loss.apart");
    const std::string each = writer_->node("Where", {same_, squares_, apart}, "loss.each");
    return mean_where(writer_->node("Not", {itself_}, "loss.is_pair"), each);
  }

 private:
  void write_distances(const std::string& x) {
    const std::string d = writer_->node(
        "Sub", {unsqueeze(*writer_, x, 1, "loss.rows"), unsqueeze(*writer_, x, 0, "loss.columns")},
        "loss.difference");
    squares_ = reduce(*writer_, "ReduceSum", writer_->node("Mul", {d, d}, "loss.square"), {2},
                      false, "loss.squares");
    distances_ = safe_root(*writer_, squares_, dtype_);
  }

  void write_pairs(const std::string& label) {
    same_ = equal(label, "loss.is_same");
    itself_ = equal(counted(*writer_, size_of(*writer_, label, 0), "loss.row"), "loss.is_itself");
    positive_ = writer_->node("And", {same_, writer_->node("Not", {itself_}, "loss.other")},
                              "loss.positive");
  }

  std::string equal(const std::string& value, const std::string& hint) {
    return writer_->node("Equal",
                         {unsqueeze(*writer_, value, 1, hint + ".row"),
                          unsqueeze(*writer_, value, 0, hint + ".column")},
                         hint);
  }

  LossValues mean_where(const std::string& mask, const std::string& value) {
    const std::string kept = writer_->node("Where", {mask, value, zero_}, "loss.kept");
    const std::string count =
        sum(*writer_, writer_->cast(mask, dtype_, "loss.mask"), "loss.kept_count");
    return {mean_of_some(*writer_, sum(*writer_, kept, "loss.sum"), count, dtype_), {}, dtype_};
  }

  GraphWriter* writer_;
  DType dtype_;
  std::string squares_;  // [N, N], as all that follow
  std::string distances_;
  std::string same_;      // of one label
  std::string itself_;    // one row
  std::string positive_;  // two rows of one label
  std::string margin_;
  std::string zero_;
};

}  // namespace

LossValues triplet(GraphWriter& writer, const Prediction& prediction,
                   const PrepareOptions& options) {
  return BatchDistances(writer, prediction, options).triplet();
}

LossValues contrastive(GraphWriter& writer, const Prediction& prediction,
                       const PrepareOptions& options) {
  return BatchDistances(writer, prediction, options).contrastive();
}

}  // namespace ondine::graph
