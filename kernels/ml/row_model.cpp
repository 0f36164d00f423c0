#include "kernels/ml/row_model.h"

#include "core/stop.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/kernel_scratch.h"

namespace ondine::kernels {
namespace {

using graph::Dim;
using graph::Dims;
using graph::KernelContext;

constexpr std::int64_t grain = 32;  // rows of one chunk

using Features = Types<float, double, float16, std::int64_t, std::int32_t>;
using ReadRow = void (*)(const void* from, std::int64_t first, std::span<double> to);

template <class T>
void read_row(const void* from, std::int64_t first, std::span<double> to) {
  const T* x = static_cast<const T*>(from) + first;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(load(x[i]));
}

Shape two_axes(const Shape& shape) { return shape.rank() == 1 ? Shape{1, shape[0]} : shape; }

// Reads and scores each row and passes the scores to `write`.
template <class Write>
graph::Kernel bind_rows(graph::BindContext& context, RowModel model, Write write) {
  const Shape x = two_axes(context.shape(0));
  const auto features = static_cast<std::size_t>(x[1]);
  const auto read =
      visit(context.dtype(0), Features{}, []<class T>() -> ReadRow { return &read_row<T>; });
  const std::size_t slot = features + model.columns + model.scratch;
  Scratch scratch;
  scratch.add<double>(checked_mul((x[0] + grain - 1) / grain, static_cast<std::int64_t>(slot)));
  scratch.request(context);
  return [=, model = std::move(model)](KernelContext& call) {
    const void* from = call.in<void>(0);
    call.pool().for_chunks(x[0], grain, [&](std::int64_t first, std::int64_t last) {
      const std::span all(call.workspace<double>() + static_cast<std::size_t>(first / grain) * slot,
                          slot);
      const auto row = all.first(features);
      const auto scores = all.subspan(features, model.columns);
      for (auto r = first; r < last; ++r) {
        checkpoint(static_cast<std::int64_t>(4 * slot));
        read(from, r * x[1], row);
        const std::size_t found = model.score(row, scores, all.last(model.scratch));
        apply(model.transform, scores);
        write(call, r, found, std::span<const double>(scores));
      }
    });
  };
}

template <class T>
void write_row(void* to, std::int64_t row, std::span<const double> scores) {
  T* y = static_cast<T*>(to) + row * std::ssize(scores);
  for (std::size_t k = 0; k < scores.size(); ++k) {
    y[k] = store<T>(static_cast<compute_t<T>>(scores[k]));
  }
}

Dim row_count(const graph::InferContext& context) {
  if (!context.ranked(0)) return Dim();
  const Dims& x = context.dims(0);
  if (x.size() != 1 && x.size() != 2) {
    context.reject("x must have shape [N, F] or [F], found ", graph::to_string(x));
  }
  return x.size() == 1 ? Dim(1) : x[0];
}

}  // namespace

ClassLabels::ClassLabels(const graph::NodeView& node, std::string_view ints,
                         std::string_view strings)
    : ints_(node.attr_ints(ints)), strings_(node.attr_strings(strings)) {
  if (ints_.empty() == strings_.empty()) {
    fail(ErrorCode::invalid_model, "exactly one of ", quoted(ints), " and ", quoted(strings),
         " must have elements, found ", ints_.size(), " and ", strings_.size());
  }
}

Tensor ClassLabels::tensor() const {
  const Shape shape{static_cast<std::int64_t>(count())};
  return strings_.empty() ? Tensor::of(shape, ints_) : Tensor::of(shape, strings_);
}

void ClassLabels::write(void* to, std::int64_t at, std::size_t index) const {
  if (strings_.empty()) {
    static_cast<std::int64_t*>(to)[at] = ints_[index];
  } else {
    static_cast<std::string*>(to)[at] = strings_[index];
  }
}

void infer_scores(graph::InferContext& context, std::size_t i, DType dtype, Dim columns) {
  context.set_output(i, dtype, Dims{row_count(context), columns});
}

void infer_classifier(graph::InferContext& context, const ClassLabels& labels,
                      std::size_t columns) {
  read_post_transform(context);
  if (context.has_output(0)) context.set_output(0, labels.dtype(), Dims{row_count(context)});
  if (context.has_output(1)) {
    infer_scores(context, 1, DType::float32, static_cast<std::int64_t>(columns));
  }
}

std::int64_t feature_count(const graph::BindContext& context) { return context.shape(0).back(); }

graph::Kernel bind_regressor(graph::BindContext& context, RowModel model) {
  using Write = void (*)(void*, std::int64_t, std::span<const double>);
  const auto write = visit(context.output_dtype(0), Types<float, double, float16>{},
                           []<class T>() -> Write { return &write_row<T>; });
  return bind_rows(
      context, std::move(model),
      [write](KernelContext& call, std::int64_t row, std::size_t, std::span<const double> scores) {
        write(call.out<void>(0), row, scores);
      });
}

graph::Kernel bind_classifier(graph::BindContext& context, ClassLabels labels, RowModel model) {
  const bool wants_label = context.has_output(0);
  const bool wants_scores = context.has_output(1);
  return bind_rows(
      context, std::move(model),
      [=, labels = std::move(labels)](KernelContext& call, std::int64_t row, std::size_t found,
                                      std::span<const double> scores) {
        if (wants_label) labels.write(call.out<void>(0), row, found);
        if (wants_scores) write_row<float>(call.out<void>(1), row, scores);
      });
}

void require_count(std::string_view name, std::size_t found, std::size_t needed) {
  if (found != needed) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " has ", found,
         " elements, needed: ", needed);
  }
}

}  // namespace ondine::kernels
