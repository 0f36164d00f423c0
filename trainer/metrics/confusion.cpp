#include "core/message.h"
#include "trainer/metrics/families.h"

namespace ondine::metrics {
namespace {

constexpr std::size_t max_classes = 4096;

// Of binary labels, all columns together, the classes are false and true.
class Confusion final : public Metric {
 public:
  explicit Confusion(Context context) : context_(std::move(context)) {}

  void add(const Batch& batch) override {
    const bool of_classes = context_.task == Task::classes;
    if (matrix_.classes == 0) start(of_classes ? batch.columns : 2);
    for (std::size_t i = 0; i < batch.labels.size(); ++i) {
      const std::size_t label = of_classes ? class_of(batch, i) : batch.labels[i] != 0 ? 1 : 0;
      const auto predicted = static_cast<std::size_t>(batch.prediction[i]);
      ++matrix_.counts[label * matrix_.classes + predicted];
    }
  }
  void write(Evaluation& to) const override { to.confusion = matrix_; }

 private:
  void start(std::size_t classes) {
    if (classes > max_classes) {
      fail(ErrorCode::limit, "a confusion matrix of ", classes, " classes; at most ", max_classes);
    }
    matrix_.classes = classes;
    matrix_.counts.assign(classes * classes, 0);
    if (context_.class_names.size() == classes) matrix_.names = context_.class_names;
  }

  Context context_;
  ConfusionMatrix matrix_;
};

}  // namespace

std::unique_ptr<Metric> make_confusion(const std::string&, const Context& context) {
  return std::make_unique<Confusion>(context);
}

}  // namespace ondine::metrics
