// Shazeer and Stern 2018, Adafactor: Adaptive Learning Rates with Sublinear Memory Cost, algorithms
// 4 and 5 with the proposed constants, and without a first moment. With s = t^-0.8:
//   r <- r + s (mean over columns of g^2 + e1 - r), c <- c + s (mean over rows of g^2 + e1 - c)
//   u = g / sqrt(r c / mean(r)), or of vectors u = g / sqrt(v) with v <- v + s (g^2 + e1 - v)
//   x <- x - min(rate, 1 / sqrt(t)) max(e2, rms(x)) u / max(1, rms(u))
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/updates/rules.h"

namespace ondine::graph {
namespace {

constexpr double least_square = 1e-30;  // e1
constexpr double least_scale = 1e-3;    // e2
constexpr double decay_power = -0.8;

class AdafactorWriter {
 public:
  AdafactorWriter(StepWriter& writer, const ParameterStep& step)
      : writer_(&writer), step_(&step), dtype_(step.dtype), name_(step.parameter->name) {
    const Shape& shape = step.shape();
    if (shape.rank() < 2 || shape.size() == 0) return;
    rows_ = shape[0];
    columns_ = static_cast<std::int64_t>(shape.size()) / rows_;
  }

  std::string write() {
    const std::string u = rows_ > 1 && columns_ > 1 ? factored() : whole();
    const std::string& x = step_->x;
    const std::string size =
        writer_->root_mean_square(u, step_->shape(), dtype_, x + ".update_size");
    const std::string divisor =
        largest(size, writer_->number("update.bound", 1, dtype_), x + ".update_divisor");
    const std::string scale =
        largest(writer_->root_mean_square(x, step_->shape(), dtype_, x + ".size"),
                writer_->number("scale.least", least_scale, dtype_), x + ".scale");
    const std::string rate = writer_->mul(scale, bounded_rate(), x + ".relative_rate");
    const std::string factor = writer_->div(rate, divisor, x + ".rate");
    const std::string change = writer_->mul(u, factor, x + ".change");
    const bool decays = step_->decay != 0;
    const std::string stepped = writer_->sub(x, change, decays ? x + ".undecayed" : step_->next);
    return decays ? writer_->decayed(*step_, stepped, x) : stepped;
  }

 private:
  // The larger of two scalars.
  std::string largest(const std::string& a, const std::string& b, const std::string& hint) {
    return writer_->writer().node("Max", {a, b}, hint);
  }

  const std::string& share() {
    ScalarValue& value = writer_->once({"adafactor.share"}, [&] {
      const std::string power = writer_->number("share.power", decay_power, DType::float64);
      const std::string share =
          writer_->writer().node("Pow", {writer_->step_number(), power}, "share.double");
      return writer_->writer().cast(share, DType::float32, "share.squares");
    });
    return value.as(writer_->writer(), dtype_);
  }

  const std::string& bounded_rate() {
    ScalarValue& value = writer_->once({"adafactor.rate", 0, step_->rate}, [&] {
      const std::string step =
          writer_->writer().cast(writer_->next_step, DType::float32, "step.float");
      const std::string root = writer_->apply("Sqrt", step, "step.root");
      const std::string most =
          writer_->div(writer_->number("one", 1, DType::float32), root, "rate.most");
      return writer_->writer().node("Min", {step_->rate->name, most}, "rate.bounded");
    });
    return value.as(writer_->writer(), dtype_);
  }

  // A state that moves towards what it is the mean of.
  std::string follow(const char* suffix, const Shape& shape, const std::string& towards) {
    const Tensor zeros(dtype_, shape);
    const std::string v = writer_->state(name_ + suffix, zeros);
    const std::string distance = writer_->sub(towards, v, v + ".distance");
    const std::string change = writer_->mul(distance, share(), v + ".change");
    const std::string next = writer_->add(v, change, writer_->next_hint(v));
    writer_->bind(v, next, zeros);
    return next;
  }

  std::string with_least(const std::string& square, const std::string& hint) {
    return writer_->add(square, writer_->number("squares.least", least_square, dtype_), hint);
  }

  std::string whole() {
    const std::string square = writer_->mul(step_->g, step_->g, step_->x + ".gradient_square");
    const std::string v =
        follow(".squares", step_->shape(), with_least(square, step_->x + ".square"));
    return writer_->div(step_->g, writer_->apply("Sqrt", v, v + ".root"), step_->x + ".update");
  }

  // The mean square along an axis.
  std::string mean_square(const std::string& g, std::int64_t axis, std::int64_t count,
                          const std::string& hint) {
    const std::string sum =
        reduce(writer_->writer(), "ReduceSumSquare", g, {axis}, true, hint + ".sum");
    const std::string& share = writer_->number("share", 1 / static_cast<double>(count), dtype_);
    return with_least(writer_->mul(sum, share, hint + ".mean"), hint);
  }

  std::string factored() {
    const std::string& x = step_->x;
    const bool is_matrix = step_->shape().rank() == 2;
    std::string g = step_->g;
    if (!is_matrix) g = writer_->reshape(g, {rows_, columns_}, x + ".gradient_matrix");
    const std::string r =
        follow(".row_squares", Shape{rows_, 1}, mean_square(g, 1, columns_, x + ".row_square"));
    const std::string c = follow(".column_squares", Shape{1, columns_},
                                 mean_square(g, 0, rows_, x + ".column_square"));
    const std::string mean = graph::mean(writer_->writer(), r, x + ".mean_square");
    const std::string by_row =
        writer_->apply("Sqrt", writer_->div(mean, r, r + ".share"), r + ".factor");
    const std::string by_column = writer_->div(
        writer_->number("one", 1, dtype_), writer_->apply("Sqrt", c, c + ".root"), c + ".factor");
    const std::string u =
        writer_->mul(writer_->mul(g, by_row, x + ".rows_update"), by_column, x + ".update");
    if (is_matrix) return u;
    const Shape& shape = step_->shape();
    return writer_->reshape(u, {shape.begin(), shape.end()}, x + ".shaped_update");
  }

  StepWriter* writer_;
  const ParameterStep* step_;
  DType dtype_;
  std::string name_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
};

}  // namespace

std::string write_adafactor(StepWriter& writer, const ParameterStep& step) {
  return AdafactorWriter(writer, step).write();
}

}  // namespace ondine::graph
