// Nodes and values that the rules of optimizers are written with.
#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "graph/training/prepare/updates/loss_scale.h"
#include "graph/training/prepare/updates/rate_groups.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// The step of one parameter.
struct ParameterStep {
  const InitializerDef* parameter = nullptr;
  DType dtype = DType::undefined;  // of x, g and states
  std::string x;                   // what the step starts from
  std::string g;                   // the gradient
  std::string next = {};           // hint for the name of what x becomes
  float decay = 0;                 // weight decay
  ScalarValue* rate = nullptr;     // learning rate

  const Shape& shape() const noexcept { return parameter->value.shape(); }
};

// Writes nodes of steps, their states, and what several of them read, once.
class StepWriter {
 public:
  StepWriter(GraphWriter& writer, LossScaler& scaler, Properties& bindings)
      : writer_(&writer), scaler_(&scaler), bindings_(&bindings) {}

  GraphWriter& writer() const noexcept { return *writer_; }

  std::string add(const std::string& a, const std::string& b, const std::string& hint) {
    return writer_->node("Add", {a, b}, hint);
  }
  std::string sub(const std::string& a, const std::string& b, const std::string& hint) {
    return writer_->node("Sub", {a, b}, hint);
  }
  std::string mul(const std::string& a, const std::string& b, const std::string& hint) {
    return writer_->node("Mul", {a, b}, hint);
  }
  std::string div(const std::string& a, const std::string& b, const std::string& hint) {
    return writer_->node("Div", {a, b}, hint);
  }
  std::string apply(const char* op, const std::string& value, const std::string& hint) {
    return writer_->node(op, {value}, hint);
  }
  std::string reshape(const std::string& value, const std::vector<std::int64_t>& dims,
                      const std::string& hint);
  // keep * a + (1 - keep) * b
  std::string blend(const std::string& a, const std::string& b, float keep, DType dtype,
                    const std::string& hint);
  // The root of the mean of squares, of rank 0.
  std::string root_mean_square(const std::string& value, const Shape& shape, DType dtype,
                               const std::string& hint);
  // A constant of rank 0.
  const std::string& number(const std::string& hint, double value, DType dtype);
  // A float32 scalar that steps share: all, or those with the same number and rate.
  struct Key {
    std::string name;
    double number = 0;
    const ScalarValue* rate = nullptr;

    auto operator<=>(const Key&) const = default;
  };
  ScalarValue& once(const Key& key, const std::function<std::string()>& write);
  // 1 - beta^t of this step t, computed in float64, which keeps its digits where beta is near 1.
  ScalarValue& correction(float beta);
  // This step, counted from 1, as float64.
  const std::string& step_number();

  // m / (sqrt(v / (1 - beta2^t)) + epsilon): Adam's direction times 1 - beta1^t.
  std::string adam_direction(const ParameterStep& step, const std::string& m, const std::string& v,
                             float beta2, float epsilon);

  // A state variable; its shape and type are those of `initial`.
  std::string state(const std::string& hint, const Tensor& initial);
  // States, and what they become.
  std::string bind(const std::string& variable, const std::string& next, const Tensor& like);
  void bind_value(const std::string& variable, const std::string& next, const Tensor& like);
  // Hint for the name of the value that a step writes for `variable`, which it may still be kept
  // from.
  std::string next_hint(const std::string& variable) const;
  // `stepped` without rate * decay * x.
  std::string decayed(const ParameterStep& step, const std::string& stepped, const std::string& x);

  std::string next_step;  // the number of this step, counted from 1, int64
  std::string base_rate;  // before factors of groups, a float32 scalar

 private:
  GraphWriter* writer_;
  LossScaler* scaler_;
  Properties* bindings_;
  std::map<std::tuple<std::string, double, DType>, std::string> numbers_;
  std::map<Key, ScalarValue> shared_;
  std::string step_number_;
};

}  // namespace ondine::graph
