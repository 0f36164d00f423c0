#include "graph/training/prepare/updates/step.h"

#include "graph/training/prepare/losses/pieces.h"

namespace ondine::graph {

std::string StepWriter::reshape(const std::string& value, const std::vector<std::int64_t>& dims,
                                const std::string& hint) {
  return writer_->node("Reshape", {value, integers(*writer_, hint + ".shape", dims)}, hint);
}

std::string StepWriter::blend(const std::string& a, const std::string& b, float keep, DType dtype,
                              const std::string& hint) {
  const double share = static_cast<double>(keep);
  const std::string kept = mul(a, number("keep", share, dtype), hint + ".kept");
  const std::string more = mul(b, number("add", 1 - share, dtype), hint + ".more");
  return add(kept, more, hint);
}

std::string StepWriter::root_mean_square(const std::string& value, const Shape& shape, DType dtype,
                                         const std::string& hint) {
  const std::string sum =
      writer_->node("ReduceSumSquare", {value}, hint + ".square", {{"keepdims", std::int64_t{0}}});
  const auto count = static_cast<double>(shape.size());
  const std::string mean = mul(sum, number("share", 1 / count, dtype), hint + ".mean_square");
  return apply("Sqrt", mean, hint);
}

const std::string& StepWriter::number(const std::string& hint, double value, DType dtype) {
  std::string& name = numbers_[{hint, value, dtype}];
  if (name.empty()) name = writer_->scalar(hint, value, dtype);
  return name;
}

ScalarValue& StepWriter::once(const Key& key, const std::function<std::string()>& write) {
  ScalarValue& value = shared_[key];
  if (value.name.empty()) value.name = write();
  return value;
}

const std::string& StepWriter::step_number() {
  if (step_number_.empty()) step_number_ = writer_->cast(next_step, DType::float64, "step.double");
  return step_number_;
}

ScalarValue& StepWriter::correction(float beta) {
  const auto base = static_cast<double>(beta);
  return once({"correction", base}, [&] {
    const std::string power =
        writer_->node("Pow", {number("beta", base, DType::float64), step_number()}, "beta.power");
    const std::string rest = sub(number("one", 1, DType::float64), power, "correction.double");
    return writer_->cast(rest, DType::float32, "correction");
  });
}

std::string StepWriter::adam_direction(const ParameterStep& step, const std::string& m,
                                       const std::string& v, float beta2, float epsilon) {
  ScalarValue& root = once({"correction.root", static_cast<double>(beta2)}, [&] {
    return apply("Sqrt", correction(beta2).name, "correction.root");
  });
  const std::string size =
      div(apply("Sqrt", v, step.x + ".root"), root.as(*writer_, step.dtype), step.x + ".size");
  const std::string divisor =
      add(size, number("epsilon", static_cast<double>(epsilon), step.dtype), step.x + ".divisor");
  return div(m, divisor, step.x + ".update");
}

std::string StepWriter::state(const std::string& hint, const Tensor& initial) {
  return writer_->initializer(hint, initial);
}

std::string StepWriter::bind(const std::string& variable, const std::string& next,
                             const Tensor& like) {
  std::string kept = scaler_->kept(next, variable, like, variable + ".next");
  bind_value(variable, kept, like);
  return kept;
}

void StepWriter::bind_value(const std::string& variable, const std::string& next,
                            const Tensor& like) {
  writer_->output(next, like);
  bindings_->emplace_back(variable, next);
}

std::string StepWriter::next_hint(const std::string& variable) const {
  return variable + (scaler_->is_active() ? ".stepped" : ".next");
}

std::string StepWriter::decayed(const ParameterStep& step, const std::string& stepped,
                                const std::string& x) {
  const auto decay = static_cast<double>(step.decay);
  ScalarValue& factor = once({"decay", decay, step.rate}, [&] {
    return mul(step.rate->name, number("decay", decay, DType::float32), "decay.rate");
  });
  const std::string change = mul(x, factor.as(*writer_, step.dtype), x + ".decay");
  return sub(stepped, change, step.next);
}

}  // namespace ondine::graph
