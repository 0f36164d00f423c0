// Formulas: docs/privacy.md.
#include "graph/training/prepare/privacy/norms.h"

#include <algorithm>

#include "core/message.h"
#include "graph/training/prepare/losses/pieces.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/privacy/windows.h"

namespace ondine::graph {
namespace {

using Sizes = std::vector<std::optional<std::int64_t>>;

class SquaredNorm {
 public:
  SquaredNorm(const BatchValues& batch, const RowTracker& tracker, const ParameterUse& use,
              std::size_t index)
      : batch_(&batch), tracker_(&tracker), use_(&use), index_(index) {}

  std::string write() {
    const std::string& op = use_->original.op;
    if (op == "MatMul" && index_ == 1) return product(rank(1));
    if (op == "Gemm") return gemm();
    if (op == "Add" || op == "Sub") return elementwise(use_->delta, parameter_dims());
    if (op == "Mul") {
      return elementwise(multiplied(use_->placed.inputs[1 - index_]), parameter_dims());
    }
    if (op == "PRelu" && index_ == 1) return prelu();
    if (op == "LayerNormalization" || op == "RMSNormalization") return normalization(0);
    if (one_of(op, {"InstanceNormalization", "GroupNormalization"})) return normalization(1);
    if (op == "BatchNormalization") return normalization(1);
    if (op == "Gather" && index_ == 0) return lookup();
    if (op == "Conv") return convolution();
    refuse();
  }

 private:
  const std::string& original(std::size_t i) const { return use_->original.inputs[i]; }
  const std::string& placed(std::size_t i) const { return use_->placed.inputs[i]; }
  std::size_t rank(std::size_t i) const { return tracker_->rank(use_->original, original(i)); }
  std::size_t out_rank() const { return tracker_->rank(use_->original, use_->original.outputs[0]); }

  [[noreturn]] void refuse() const {
    fail(ErrorCode::unsupported, "the norm of the gradient of a single example by parameter ",
         quoted(tracker_->of(original(index_)).parameter), " cannot be formed for ",
         described(use_->original), "; freeze it (--freeze), or train without privacy");
  }

  RowPlace place_of(const std::string& value) const {
    const Tracked& known = tracker_->of(value);
    return {known.axis, tracker_->rank(use_->original, value), known.is_exact};
  }
  RowPlace place() const { return place_of(use_->original.outputs[0]); }

  std::vector<std::int64_t> fixed_dims(std::size_t i) const {
    std::vector<std::int64_t> result;
    for (const auto& dim : tracker_->dims(use_->original, original(i))) {
      if (!dim) refuse();
      result.push_back(*dim);
    }
    return result;
  }

  // Dims of the parameter, aligned with the result's axes.
  std::vector<std::int64_t> parameter_dims() const {
    std::vector<std::int64_t> dims = fixed_dims(index_);
    if (dims.size() > out_rank()) refuse();
    dims.insert(dims.begin(), out_rank() - dims.size(), 1);
    return dims;
  }

  std::string multiplied(const std::string& value) const {
    return batch_->node("Mul", {use_->delta, value}, "product");
  }

  // Sums `each`, of the result's shape, over what the parameter, of `dims`, is repeated along.
  std::string elementwise(const std::string& each, std::vector<std::int64_t> dims) const {
    const RowPlace at = place();
    if (dims[at.axis] != 1) refuse();
    std::int64_t elements = 1;
    for (const std::int64_t dim : dims) elements *= dim;
    std::rotate(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(at.axis),
                dims.begin() + static_cast<std::ptrdiff_t>(at.axis) + 1);
    std::vector<std::int64_t> axes;
    for (std::size_t i = 1; i < dims.size(); ++i) {
      if (dims[i] == 1) axes.push_back(static_cast<std::int64_t>(i));
    }
    std::string sums = batch_->rows_first(each, at);
    if (!axes.empty()) {
      sums = reduce(batch_->writer(), "ReduceSum", sums, axes, true, "privacy.sums");
    }
    if (!at.is_exact) {
      sums = reduce(batch_->writer(), "ReduceSum", batch_->reshaped(sums, {-1, elements}), {1},
                    false, "privacy.sums");
    }
    return batch_->sum_of_squares(sums);
  }

  // As elementwise(), of a vector along axis 1.
  std::string channels(const std::string& each) const {
    std::vector<std::int64_t> dims(out_rank(), 1);
    const std::vector<std::int64_t> own = fixed_dims(index_);
    const Sizes sizes = tracker_->dims(use_->original, use_->original.outputs[0]);
    if (own.size() != 1 || sizes.size() < 2 || sizes[1] != own[0]) refuse();
    dims[1] = own[0];
    return elementwise(each, std::move(dims));
  }

  std::string prelu() const {
    const std::string zero = batch_->writer().scalar("privacy.zero", 0, batch_->dtype());
    return elementwise(multiplied(batch_->node("Min", {placed(0), zero}, "negative")),
                       parameter_dims());
  }

  // Scale (input 1) and bias (input 2) of what is normalized.
  std::string normalization(std::size_t axis) const {
    if (index_ == 0) refuse();
    std::string each = use_->delta;
    if (index_ == 1) {
      NodeDef plain = use_->placed;
      const std::vector<std::int64_t> dims = fixed_dims(1);
      plain.inputs[1] = filled(dims, 1);
      if (plain.inputs.size() > 2 && !plain.inputs[2].empty()) plain.inputs[2] = filled(dims, 0);
      plain.outputs = {batch_->writer().names().fresh("privacy.normalized")};
      if (!plain.name.empty()) plain.name = batch_->writer().names().fresh(plain.name);
      const std::string normalized = plain.outputs[0];
      batch_->writer().graph().nodes.push_back(std::move(plain));
      each = multiplied(normalized);
    }
    return axis == 1 ? channels(each) : elementwise(each, parameter_dims());
  }

  std::string filled(const std::vector<std::int64_t>& dims, double value) const {
    std::vector<std::int64_t> shape = dims;
    const std::string one = batch_->writer().scalar("privacy.one", value, batch_->dtype());
    return batch_->node("Expand", {one, batch_->numbers(shape)}, "filled");
  }

  // Positions of a row, where they are known.
  std::optional<std::int64_t> positions_of(const std::string& value) const {
    const RowPlace at = place_of(value);
    if (!at.is_exact) return std::nullopt;
    const Sizes sizes = tracker_->dims(use_->original, value);
    std::int64_t count = 1;
    for (std::size_t i = 0; i + 1 < sizes.size(); ++i) {
      if (i == at.axis) continue;
      if (!sizes[i]) return std::nullopt;
      count *= *sizes[i];
    }
    return count;
  }

  // x w or x w', for x [rows, positions, a] and a result [rows, positions, b].
  std::string product(std::size_t rank_of_weight, bool is_transposed = false) const {
    const std::vector<std::int64_t> dims = fixed_dims(1);
    const RowPlace in = place_of(original(0));
    if (rank_of_weight != 2 || in.axis + 1 == in.rank) refuse();
    const std::int64_t a = dims[is_transposed ? 1 : 0], b = dims[is_transposed ? 0 : 1];
    const std::optional<std::int64_t> count = positions_of(original(0));
    if (count == 1) {
      return batch_->node("Mul",
                          {batch_->sum_of_squares(batch_->rows_first(placed(0), in)),
                           batch_->sum_of_squares(batch_->rows_first(use_->delta, place()))},
                          "squares");
    }
    const std::string x = batch_->positions(placed(0), in, a);
    const std::string dy = batch_->positions(use_->delta, place(), b);
    if (count && 2 * *count * *count > a * b) {
      const std::string each =
          batch_->node("MatMul", {batch_->transposed(x, {0, 2, 1}), dy}, "gradients");
      return batch_->sum_of_squares(each);
    }
    return pairs(gram(x), dy);
  }

  std::string gram(const std::string& value) const {
    return batch_->node("MatMul", {value, batch_->transposed(value, {0, 2, 1})}, "gram");
  }
  // The sum over all pairs of positions of `gram` [rows, positions, positions] times the products
  // of dy.
  std::string pairs(const std::string& of_x, const std::string& dy) const {
    return batch_->sum_of_elements(batch_->node("Mul", {of_x, gram(dy)}, "pairs"));
  }

  std::string scaled(const std::string& squares, const char* attribute) const {
    const Attribute* found = find(use_->original.attributes, attribute);
    const auto* value = found == nullptr ? nullptr : std::get_if<float>(&found->data);
    if (value == nullptr || *value == 1) return squares;
    const double factor = static_cast<double>(*value) * static_cast<double>(*value);
    return batch_->node(
        "Mul", {squares, batch_->writer().scalar("privacy.factor", factor, batch_->dtype())},
        "scaled");
  }

  std::string gemm() const {
    if (index_ == 2) return scaled(elementwise(use_->delta, parameter_dims()), "beta");
    if (index_ != 1) refuse();
    const bool is_transposed = integer_attribute(use_->original, "transB", 0) != 0;
    return scaled(product(2, is_transposed), "alpha");
  }

  // Rows of a table. Positions with the same index share one.
  std::string lookup() const {
    const std::vector<std::int64_t> dims = fixed_dims(0);
    if (dims.empty() || integer_attribute(use_->original, "axis", 0) != 0) refuse();
    const RowPlace in = place_of(original(1));
    const RowPlace out{in.axis, out_rank(), in.is_exact};
    if (in.is_exact && in.rank == 1) {
      return batch_->sum_of_squares(batch_->rows_first(use_->delta, out));
    }
    std::int64_t width = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) width *= dims[i];
    GraphWriter& writer = batch_->writer();
    std::string places =
        writer.cast(batch_->rows_first(placed(1), in), DType::int64, "privacy.places");
    const std::string zero = integer(writer, "privacy.zero", 0);
    const std::string from_end =
        batch_->node("Add", {places, integer(writer, "privacy.size", dims[0])}, "from_end");
    const std::string is_negative = batch_->node("Less", {places, zero}, "is_negative");
    places = batch_->node("Where", {is_negative, from_end, places}, "places");
    const std::string same = batch_->node(
        "Equal", {batch_->reshaped(places, {-1, 1}), batch_->reshaped(places, {1, -1})}, "same");
    const std::string factors = writer.cast(same, batch_->dtype(), "privacy.same");
    return pairs(factors, batch_->positions(use_->delta, out, width));
  }

  // y [rows, groups, channels, positions] is the derivative times the windows [rows, groups,
  // elements, positions].
  std::string convolution() const {
    const RowPlace out = place();
    if (out.axis != 0) refuse();
    if (index_ == 2) return channels(use_->delta);
    if (index_ != 1 || !out.is_exact) refuse();
    const std::vector<std::int64_t> weight = fixed_dims(1);
    const std::int64_t groups = integer_attribute(use_->original, "group", 1);
    std::int64_t elements = 1;
    for (std::size_t i = 1; i < weight.size(); ++i) elements *= weight[i];
    const std::int64_t channels = weight[0] / groups;
    const std::string x =
        write_windows(*batch_, use_->placed, weight, tracker_->dims(use_->original, original(0)),
                      tracker_->dims(use_->original, use_->original.outputs[0]), use_->delta);
    const std::string windows = batch_->reshaped(x, {groups, elements, -1});
    const std::string dy = batch_->reshaped(use_->delta, {groups, channels, -1});
    const Sizes sizes = tracker_->dims(use_->original, use_->original.outputs[0]);
    std::int64_t count = 1;
    for (std::size_t i = 2; i < sizes.size(); ++i) count *= sizes[i].value_or(1024);
    if (2 * count * count < channels * elements) {
      const auto products = [&](const std::string& value) {
        return batch_->node("MatMul", {batch_->transposed(value, {0, 1, 3, 2}), value}, "gram");
      };
      return batch_->sum_of_elements(
          batch_->node("Mul", {products(windows), products(dy)}, "pairs"));
    }
    const std::string each =
        batch_->node("MatMul", {dy, batch_->transposed(windows, {0, 1, 3, 2})}, "gradients");
    return batch_->sum_of_squares(each);
  }

  const BatchValues* batch_;
  const RowTracker* tracker_;
  const ParameterUse* use_;
  std::size_t index_;
};

}  // namespace

std::string write_squared_norm(const BatchValues& batch, const RowTracker& tracker,
                               const ParameterUse& use, std::size_t index) {
  return SquaredNorm(batch, tracker, use, index).write();
}

}  // namespace ondine::graph
