// Metrics of the overlap between what is labelled as a class and what is predicted to be it.
#include "trainer/metrics/families.h"

namespace ondine::metrics {
namespace {

enum class Measure : std::uint8_t { precision, recall, f1, iou };
enum class Average : std::uint8_t { macro, micro, per_class };

struct OverlapCounts {
  double hits = 0;       // labelled and predicted
  double labelled = 0;   // true positives and false negatives
  double predicted = 0;  // true positives and false positives
};

// Zero where nothing is labelled or predicted that the measure could be a part of.
double measure(Measure kind, const OverlapCounts& counts) {
  double numerator = counts.hits;
  double denominator = 0;
  switch (kind) {
    case Measure::precision:
      denominator = counts.predicted;
      break;
    case Measure::recall:
      denominator = counts.labelled;
      break;
    case Measure::f1:
      numerator *= 2;
      denominator = counts.labelled + counts.predicted;
      break;
    case Measure::iou:
      denominator = counts.labelled + counts.predicted - counts.hits;
      break;
  }
  if (denominator == 0) return 0;
  return numerator / denominator;
}

class Overlap final : public Metric {
 public:
  Overlap(std::string name, std::string base, Measure kind, Average average, Context context)
      : name_(std::move(name)),
        base_(std::move(base)),
        kind_(kind),
        average_(average),
        context_(std::move(context)) {}

  void add(const Batch& batch) override {
    counts_.resize(batch.columns);
    if (context_.task == Task::classes) {
      add_classes(batch);
    } else {
      add_columns(batch);
    }
  }

  void write(Evaluation& to) const override {
    if (average_ == Average::per_class) {
      for (std::size_t c = 0; c < counts_.size(); ++c) {
        to.metrics.set(name_of_class(base_, c, context_), measure(kind_, counts_[c]));
      }
      return;
    }
    to.metrics.set(name_, average_ == Average::micro ? micro() : macro());
  }

 private:
  void add_classes(const Batch& batch) {
    for (std::size_t row = 0; row < batch.rows(); ++row) {
      const std::size_t label = class_of(batch, row);
      const auto predicted = static_cast<std::size_t>(batch.prediction[row]);
      const double weight = batch.weight(row);
      counts_[label].labelled += weight;
      counts_[predicted].predicted += weight;
      if (label == predicted) counts_[label].hits += weight;
    }
  }

  void add_columns(const Batch& batch) {
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      OverlapCounts& counts = counts_[i % batch.columns];
      const bool labelled = batch.labels[i] != 0;
      const bool predicted = batch.prediction[i] != 0;
      const double weight = batch.weight(i / batch.columns);
      counts.labelled += labelled ? weight : 0;
      counts.predicted += predicted ? weight : 0;
      counts.hits += labelled && predicted ? weight : 0;
    }
  }

  double micro() const {
    OverlapCounts sum;
    for (const OverlapCounts& one : counts_) {
      sum.hits += one.hits;
      sum.labelled += one.labelled;
      sum.predicted += one.predicted;
    }
    return measure(kind_, sum);
  }

  // Classes that neither a label nor a prediction names do not count; columns always do.
  double macro() const {
    double sum = 0;
    std::size_t number = 0;
    for (const OverlapCounts& one : counts_) {
      const bool occurs = one.labelled + one.predicted != 0;
      if (context_.task == Task::classes && !occurs) continue;
      sum += measure(kind_, one);
      ++number;
    }
    return number == 0 ? 0 : sum / static_cast<double>(number);
  }

  std::string name_;
  std::string base_;
  Measure kind_;
  Average average_;
  Context context_;
  std::vector<OverlapCounts> counts_;
};

}  // namespace

std::unique_ptr<Metric> make_overlap(const std::string& name, const Context& context) {
  const std::string base = name.substr(0, name.find('_'));
  Measure kind = Measure::precision;
  if (base == "recall") kind = Measure::recall;
  if (base == "f1" || base == "dice") kind = Measure::f1;
  if (base == "iou") kind = Measure::iou;
  Average average = Average::macro;
  if (name.ends_with("_micro")) average = Average::micro;
  if (name.ends_with("_per_class")) average = Average::per_class;
  return std::make_unique<Overlap>(name, base, kind, average, context);
}

}  // namespace ondine::metrics
