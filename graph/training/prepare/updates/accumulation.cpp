#include "graph/training/prepare/updates/accumulation.h"

#include <limits>

#include "graph/training/prepare/updates/master_weight.h"
#include "graph/training/prepare/updates/rate_groups.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t first_where = 9;

// The first dim, int64.
std::string write_rows(GraphWriter& writer, const std::string& counted) {
  const std::string shape = writer.node("Shape", {counted}, "rows.shape");
  const std::string axis = writer.initializer("rows.axis", Tensor::scalar(std::int64_t{0}));
  return writer.node("Gather", {shape, axis}, "rows");
}

// Labels are counted with one dim, since a scalar output would be taken for a metric.
Shape shape_of_weight(const BatchWeight& batch) {
  return batch.labels.empty() ? Shape{} : Shape{1};
}

// The weight so far as a scalar of float32.
std::string write_number(GraphWriter& writer, const Accumulation& sums, const std::string& hint) {
  const Tensor& weight = sums.state.front().value;
  if (weight.shape().rank() == 0) return writer.cast(sums.weight, DType::float32, hint);
  const std::string scalar =
      writer.node("ReduceSum", {sums.weight}, hint, {{"keepdims", std::int64_t{0}}});
  return writer.cast(scalar, DType::float32, hint);
}

class Accumulator {
 public:
  Accumulator(GraphWriter& writer, Accumulation& to, Properties& bindings)
      : writer_(&writer), to_(&to), bindings_(&bindings) {}

  void count(const BatchWeight& batch) {
    const bool has_labels = !batch.labels.empty();
    const std::string hint = has_labels ? "accumulated.labels" : "accumulated.rows";
    const Tensor zero(has_labels ? batch.dtype : DType::int64, shape_of_weight(batch));
    to_->weight = add_state(hint, zero);
    const std::string added = has_labels ? batch.labels : write_rows(*writer_, batch.counted);
    update(to_->weight, writer_->node("Add", {to_->weight, added}, hint + ".next"), zero);
    weight_.name = writer_->cast(added, DType::float32, hint + ".number");
    const std::string number = write_number(*writer_, *to_, "accumulated.number");
    const std::string none = writer_->scalar("accumulated.none", 0, DType::float32);
    const std::string some = writer_->node("Greater", {number, none}, "accumulated.some");
    is_first_ = writer_->node("Not", {some}, "accumulated.first");
  }

  void add(const InitializerDef& parameter, const std::string& gradient) {
    const DType dtype = updated_type(parameter);
    const std::string& name = parameter.name;
    const Tensor zeros(dtype, parameter.value.shape());
    const std::string sum = add_state(name + ".sum", zeros);
    const std::string part =
        writer_->node("Mul", {gradient, weight_.as(*writer_, dtype)}, name + ".gradient.part");
    update(sum, begin_or_add(name, sum, part, dtype), zeros);
    to_->sums.push_back(sum);
  }

 private:
  std::string begin_or_add(const std::string& name, const std::string& sum, const std::string& part,
                           DType dtype) {
    const std::string hint = name + ".sum.next";
    if (writer_->opset() >= first_where) {
      const std::string more = writer_->node("Add", {sum, part}, name + ".sum.more");
      return writer_->node("Where", {is_first_, part, more}, hint);
    }
    if (keep_.name.empty()) {
      const std::string later = writer_->node("Not", {is_first_}, "accumulated.later");
      keep_.name = writer_->cast(later, DType::float32, "accumulated.keep");
    }
    const std::string kept =
        writer_->node("Mul", {sum, keep_.as(*writer_, dtype)}, name + ".sum.kept");
    return writer_->node("Add", {kept, part}, hint);
  }

  std::string add_state(const std::string& hint, const Tensor& initial) {
    InitializerDef& added = to_->state.emplace_back();
    added.name = writer_->names().fresh(hint);
    added.value = initial;
    return added.name;
  }

  void update(const std::string& variable, const std::string& next, const Tensor& like) {
    writer_->output(next, like);
    bindings_->emplace_back(variable, next);
  }

  GraphWriter* writer_;
  Accumulation* to_;
  Properties* bindings_;
  ScalarValue weight_;  // of the batch
  ScalarValue keep_;
  std::string is_first_;
};

}  // namespace

Accumulation write_accumulation(GraphWriter& writer, const BatchWeight& batch,
                                const std::vector<std::string>& gradients,
                                const std::vector<const InitializerDef*>& trained,
                                Properties& bindings) {
  Accumulation result;
  Accumulator accumulator(writer, result, bindings);
  accumulator.count(batch);
  for (std::size_t i = 0; i < trained.size(); ++i) accumulator.add(*trained[i], gradients[i]);
  return result;
}

std::vector<std::string> write_means(GraphWriter& writer, const Accumulation& accumulation,
                                     const std::vector<const InitializerDef*>& trained,
                                     Properties& bindings) {
  const Tensor& weight = accumulation.state.front().value;
  const Tensor zero(weight.dtype(), weight.shape());
  const std::string number = write_number(writer, accumulation, "accumulated.divisor");
  // Without any row or label the sums are zero.
  constexpr double smallest = double{std::numeric_limits<float>::min()};
  const std::string least = writer.scalar("accumulated.least", smallest, DType::float32);
  ScalarValue divisor{writer.node("Max", {number, least}, "accumulated.divisor")};
  std::vector<std::string> means;
  for (std::size_t i = 0; i < trained.size(); ++i) {
    const InitializerDef& parameter = *trained[i];
    const DType dtype = updated_type(parameter);
    means.push_back(writer.node("Div", {accumulation.sums[i], divisor.as(writer, dtype)},
                                parameter.name + ".mean_gradient"));
  }
  const std::string none = writer.initializer("accumulated.zero", zero);
  const std::string next = writer.node("Identity", {none}, accumulation.weight + ".next");
  writer.output(next, zero);
  bindings.emplace_back(accumulation.weight, next);
  return means;
}

}  // namespace ondine::graph
