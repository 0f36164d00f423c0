#include <algorithm>
#include <map>
#include <numeric>

#include "trainer/metrics/families.h"

namespace ondine::metrics {
namespace {

constexpr std::size_t most_classes = 4096;  // of a matrix with all of them
constexpr std::size_t worst_classes = 255;  // of one that shows the worst

using Counts = std::map<std::pair<std::size_t, std::size_t>, std::uint64_t>;  // label, prediction

// The classes with the most errors, as labels or predictions, in ascending order.
std::vector<std::size_t> worst_of(const Counts& counts) {
  std::map<std::size_t, std::uint64_t> errors;
  for (const auto& [pair, count] : counts) {
    if (pair.first == pair.second) continue;
    errors[pair.first] += count;
    errors[pair.second] += count;
  }
  std::vector<std::pair<std::size_t, std::uint64_t>> order(errors.begin(), errors.end());
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  order.resize(std::min(order.size(), worst_classes));
  std::vector<std::size_t> classes;
  for (const auto& [one, count] : order) classes.push_back(one);
  std::sort(classes.begin(), classes.end());
  return classes;
}

// Confusion matrix. The classes of binary labels are false and true, over all columns together.
class Confusion final : public Metric {
 public:
  explicit Confusion(Context context) : context_(std::move(context)) {}

  void add(const Batch& batch) override {
    const bool of_classes = context_.task == Task::classes;
    if (classes_ == 0) {
      classes_ = of_classes ? batch.columns : 2;
      if (classes_ <= most_classes) whole_.assign(classes_ * classes_, 0);
    }
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      const std::size_t label = of_classes ? class_of(batch, i) : batch.labels[i] != 0 ? 1 : 0;
      const auto predicted = static_cast<std::size_t>(batch.prediction[i]);
      ++(whole_.empty() ? counts_[{label, predicted}] : whole_[label * classes_ + predicted]);
    }
  }

  void write(Evaluation& to) const override { to.confusion = whole_.empty() ? worst() : whole(); }

 private:
  ConfusionMatrix whole() const {
    ConfusionMatrix matrix{classes_, whole_, {}};
    if (context_.class_names.size() == classes_) matrix.names = context_.class_names;
    return matrix;
  }

  // The last class stands for all others.
  ConfusionMatrix worst() const {
    const std::vector<std::size_t> shown = worst_of(counts_);
    const std::size_t size = shown.size() + 1;
    ConfusionMatrix matrix{size, std::vector<std::uint64_t>(size * size), {}};
    const auto position = [&](std::size_t one) {
      const auto found = std::lower_bound(shown.begin(), shown.end(), one);
      return found != shown.end() && *found == one ? static_cast<std::size_t>(found - shown.begin())
                                                   : shown.size();
    };
    for (const auto& [pair, count] : counts_) {
      matrix.counts[position(pair.first) * size + position(pair.second)] += count;
    }
    const bool has_names = context_.class_names.size() == classes_;
    for (const std::size_t one : shown) {
      matrix.names.push_back(has_names ? context_.class_names[one] : std::to_string(one));
    }
    matrix.names.push_back("all " + std::to_string(classes_ - shown.size()) + " other classes");
    return matrix;
  }

  Context context_;
  std::size_t classes_ = 0;
  std::vector<std::uint64_t> whole_;
  Counts counts_;  // of more classes
};

}  // namespace

std::unique_ptr<Metric> make_confusion(const std::string&, const Context& context) {
  return std::make_unique<Confusion>(context);
}

}  // namespace ondine::metrics
