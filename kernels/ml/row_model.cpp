#include "kernels/ml/row_model.h"

#include <algorithm>

#include "core/stop.h"
#include "kernels/common/element_conversion.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/common/scratch_pool.h"

namespace ondine::kernels {
namespace {

using graph::Dim;
using graph::Dims;
using graph::KernelContext;

constexpr std::int64_t grain = 32;             // rows of one chunk
constexpr std::size_t block_numbers = 16'384;  // of rows that are scored at once

using Features = Types<float, double, float16, std::int64_t, std::int32_t>;
using ReadRow = void (*)(const void* from, std::int64_t first, std::span<double> to);

template <class T>
void read_row(const void* from, std::int64_t first, std::span<double> to) {
  const T* x = static_cast<const T*>(from) + first;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = static_cast<double>(load(x[i]));
}

Shape two_axes(const Shape& shape) { return shape.rank() == 1 ? Shape{1, shape[0]} : shape; }

// Memory of a task for a block of rows.
struct BlockMemory {
  BlockMemory(const RowModel& model, std::int64_t row_features)
      : features(row_length(row_features)),
        columns(model.columns),
        rows(std::clamp<std::size_t>(block_numbers / (features + 2 * columns + 1), 1, grain)),
        count(rows * (features + 2 * columns) + model.scratch) {}

  std::size_t features, columns, rows, count;
};

// Scores the rows [first, last) and passes the scores of each to `write`.
template <class Write>
void score_block(KernelContext& call, const RowModel& model, const BlockMemory& memory,
                 std::span<double> all, std::int64_t first, std::int64_t last, ReadRow read,
                 const Write& write) {
  call.check_cancelled();
  const std::size_t columns = memory.columns, features = memory.features;
  const auto rows = static_cast<std::size_t>(last - first);
  const auto x = all.first(rows * features);
  const auto scores = all.subspan(x.size(), rows * columns);
  read(call.in<void>(0), first * static_cast<std::int64_t>(features), x);
  if (model.score_rows) {
    model.score_rows({x, features, scores, all.subspan(x.size() + scores.size(), scores.size())});
  }
  for (std::size_t r = 0; r < rows; ++r) {
    checkpoint(static_cast<std::int64_t>(4 * (features + 2 * columns + model.scratch)));
    const auto row = scores.subspan(r * columns, columns);
    std::size_t found = 0;
    if (model.score) {
      found = model.score(x.subspan(r * features, features), row, all.last(model.scratch));
    }
    apply(model.transform, row);
    write(call, first + static_cast<std::int64_t>(r), found, std::span<const double>(row));
  }
}

template <class Write>
graph::Kernel bind_rows(graph::BindContext& context, RowModel model, Write write) {
  const Shape x = two_axes(context.shape(0));
  const auto read =
      visit(context.dtype(0), Features{}, []<class T>() -> ReadRow { return &read_row<T>; });
  const BlockMemory memory(model, x[1]);
  const std::size_t slot = math::bytes_of<double>(static_cast<std::int64_t>(memory.count));
  const std::size_t bytes = math::ScratchPool::bytes(slot, context.threads());
  Scratch scratch;
  const std::size_t at = scratch.add_bytes(bytes);
  scratch.request(context);
  return [=, model = std::move(model)](KernelContext& call) {
    const auto block = static_cast<std::int64_t>(memory.rows);
    math::ScratchPool({Scratch::at<std::byte>(call, at), bytes}, slot)
        .for_chunks(
            call.pool(), x[0], grain, [&](std::byte* own, std::int64_t first, std::int64_t last) {
              const std::span all(reinterpret_cast<double*>(own), memory.count);
              for (auto r = first; r < last; r += block) {
                score_block(call, model, memory, all, r, std::min(last, r + block), read, write);
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

std::uint64_t elements_of(std::uint64_t rows, std::uint64_t columns) {
  return static_cast<std::uint64_t>(
      checked_mul(static_cast<std::int64_t>(rows), static_cast<std::int64_t>(columns)));
}

std::size_t row_length(std::int64_t count) {
  return count_in_memory(static_cast<std::uint64_t>(count), sizeof(double), "a row");
}

void require_count(std::string_view name, std::size_t found, std::uint64_t needed) {
  if (found != needed) {
    fail(ErrorCode::invalid_model, "attribute ", quoted(name), " has ", found,
         " elements, needed: ", needed);
  }
}

}  // namespace ondine::kernels
