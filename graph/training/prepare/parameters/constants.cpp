#include "graph/training/prepare/parameters/constants.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/training/prepare/names.h"
#include "graph/training/prepare/parameters/held.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/parameters/parameters.h"

namespace ondine::graph {
namespace {

constexpr double huge = 1e6;        // beyond what initialization or training reaches
constexpr double mask_bound = 1e3;  // for tensors that hold only zeros and one other value
constexpr double table_bound = 10;  // for tables of those that are added or multiplied
constexpr double lowest = 1e30;     // near the least finite number, which no parameter is

// The elements of a floating-point tensor as doubles, converted when they are read, since weights
// may be large. Empty for other tensors.
class Numbers {
 public:
  explicit Numbers(const Tensor& tensor)
      : elements_(tensor.data()),
        read_(element_reader(tensor.dtype())),
        size_(is_differentiable(tensor.dtype()) ? static_cast<std::size_t>(tensor.size()) : 0) {}

  std::size_t size() const noexcept { return size_; }
  double operator[](std::size_t i) const { return read_(elements_, i); }
  // Whether holds(value) for the first n.
  template <class Holds>
  bool all_of_first(std::size_t n, Holds holds) const {
    for (std::size_t i = 0; i < n; ++i) {
      if (!holds((*this)[i])) return false;
    }
    return true;
  }

 private:
  const void* elements_;
  ReadElement read_;
  std::size_t size_;
};

double largest(const Numbers& values) {
  double result = 0;
  for (std::size_t i = 0; i < values.size(); ++i) result = std::max(result, std::abs(values[i]));
  return result;
}

// Zeros and one other value.
bool is_two_valued(const Numbers& values, double other) {
  bool zero = false;
  return values.all_of_first(values.size(), [&](double value) {
    zero = zero || value == 0;
    return value == 0 || value == other;
  }) && zero;
}

double first_nonzero(const Numbers& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) return values[i];
  }
  return 0;
}

bool is_close(double a, double b, double scale) { return std::abs(a - b) <= 1e-5 * scale; }

// Every row, as positions times the slopes of the heads are.
bool rows_count_evenly(const Tensor& tensor, const Numbers& values) {
  const auto& shape = tensor.shape();
  const auto width = shape.rank() < 2 ? 0 : static_cast<std::size_t>(shape.back());
  if (width < 4 || values.size() < 2 * width) return false;
  bool counts = false;
  for (std::size_t row = 0; row < values.size(); row += width) {
    const double step = values[row + 1] - values[row];
    const double scale = std::abs(values[row]) + std::abs(step) * static_cast<double>(width);
    for (std::size_t i = 2; i < width; ++i) {
      if (!is_close(values[row + i], values[row] + step * static_cast<double>(i), scale)) {
        return false;
      }
    }
    counts = counts || step != 0;
  }
  return counts;
}

bool counts_evenly(const Numbers& values) {
  if (values.size() < 8 || values[1] == values[0]) return false;
  const double step = values[1] - values[0];
  const double scale = std::abs(values[0]) + std::abs(step) * static_cast<double>(values.size());
  for (std::size_t i = 2; i < values.size(); ++i) {
    if (!is_close(values[i], values[0] + step * static_cast<double>(i), scale)) return false;
  }
  return true;
}

// Frequencies of rotary and sinusoidal positions, slopes of linear biases.
bool grows_geometrically(const Tensor& tensor, const Numbers& values) {
  const auto& shape = tensor.shape();
  const auto wide = std::count_if(shape.begin(), shape.end(), [](auto dim) { return dim > 1; });
  if (values.size() < 4 || wide != 1 || values[0] <= 0 || values[0] == values[1]) return false;
  const double ratio = values[1] / values[0];
  for (std::size_t i = 1; i < values.size(); ++i) {
    if (values[i] <= 0 || std::abs(values[i] / values[i - 1] / ratio - 1) > 1e-3) return false;
  }
  return true;
}

// Multiples of 1/2 of at least three kinds.
bool is_grid(const Numbers& values) {
  if (values.size() < 6) return false;
  std::set<double> kinds;
  const bool halves = values.all_of_first(values.size(), [&](double value) {
    if (kinds.size() < 3) kinds.insert(value);
    return value * 2 == std::floor(value * 2);
  });
  return halves && kinds.size() == 3;
}

// Position p, channel i: sin or cos of p f(i), f(0) = 1.
bool is_sine_table(const Tensor& tensor, const Numbers& values) {
  const auto& shape = tensor.shape();
  if (shape.rank() < 2 || values.size() < 8 || largest(values) > 1 + 1e-6) return false;
  const auto width = static_cast<std::size_t>(shape.back());
  if (shape[shape.rank() - 2] < 2 || width < 2) return false;
  const auto is_start = [](double value) { return value == 0 || value == 1; };
  if (!values.all_of_first(width, is_start)) return false;
  const double next = values[width];
  return is_close(next, std::sin(1.0), 100) || is_close(next, std::cos(1.0), 100);
}

// Position p, channel i: p f(i), which Sin and Cos turn into rotations.
bool is_angle_table(const Tensor& tensor, const Numbers& values) {
  const auto& shape = tensor.shape();
  if (shape.rank() < 2 || values.size() < 6) return false;
  const auto width = static_cast<std::size_t>(shape.back());
  const auto rows = static_cast<std::size_t>(shape[shape.rank() - 2]);
  if (rows < 3 || values[width] == 0) return false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double step = values[width + i % width];
    const double wanted = step * static_cast<double>(i / width % rows);
    if (!is_close(values[i], wanted, std::abs(wanted))) return false;
  }
  return true;
}

bool is_elementwise(const Use& use) {
  return use.node->domain.empty() &&
         one_of(use.node->op, {"Add", "Sub", "Mul", "Div", "Pow", "Where", "Max", "Min", "Sum",
                               "Concat", "Equal", "Less", "Greater"});
}

// The last part of a path of modules.
std::string_view base_name(std::string_view name) {
  const std::size_t end = name.rfind(':');
  if (end != std::string_view::npos && end + 1 < name.size() && end > 0 && name[end - 1] != ':') {
    name = name.substr(0, end);
  }
  const std::size_t start = name.find_last_of("./");
  return start == std::string_view::npos ? name : name.substr(start + 1);
}

bool has_buffer_name(std::string_view name) {
  return one_of(base_name(name), {"mask", "attn_mask", "attention_mask", "causal_mask", "src_mask",
                                  "tgt_mask", "anchors", "anchor_grid", "anchor_points", "priors",
                                  "prior_boxes", "grid", "strides", "stride_tensor", "position_ids",
                                  "inv_freq", "freqs_cis", "cos_cached", "sin_cached"});
}

// Buffers that layers with weights read, or that are added to what these give: kernels of a
// transform, coordinates that Swin v2's network of relative positions reads.
bool is_buffer_of_layers(std::string_view name) {
  const std::string_view base = base_name(name);
  return base.ends_with("_buffer") || one_of(base, {"final_logits_bias", "relative_coords_table"});
}

}  // namespace

bool is_traced_constant(const InitializerDef& one) noexcept {
  const std::string_view name = one.name;
  const std::size_t start = name.rfind('/');
  return was_constant_node(one) ||
         (name.starts_with('/') && name.substr(start + 1).starts_with("Constant") &&
          name.ends_with("_output_0"));
}

bool names_its_parameters(const GraphDef& graph) {
  return std::any_of(
      graph.initializers.begin(), graph.initializers.end(), [](const InitializerDef& one) {
        return is_differentiable(one.value.dtype()) && !was_constant_node(one) &&
               !is_generated_name(one.name) && one_of(base_name(one.name), {"weight", "bias"}) &&
               base_name(one.name) != one.name;
      });
}

std::string unfit_values(const Tensor& tensor, LayerUse use) {
  const Numbers values(tensor);
  const bool finite =
      values.all_of_first(values.size(), [](double value) { return std::isfinite(value); });
  if (!finite) return "holds infinities or NaN, as masks do";
  const double max = largest(values);
  if (max >= (use == LayerUse::none ? huge : lowest)) {
    return cat("holds elements of size ", max, ", as masks do");
  }
  const double other = first_nonzero(values);
  const bool may_mask = use == LayerUse::none || (use == LayerUse::term && other < 0);
  if (may_mask && std::abs(other) >= mask_bound && values.size() > 1 &&
      is_two_valued(values, other)) {
    return cat("a mask of 0 and ", other);
  }
  return {};
}

bool is_mask_of_infinities(const Tensor& tensor) {
  const Numbers values(tensor);
  std::set<double> kinds;
  return values.all_of_first(values.size(), [&](double value) {
    if (std::isnan(value)) return false;
    if (std::isfinite(value)) kinds.insert(value);
    return kinds.size() < 2;
  });
}

std::string assumption(std::string_view name, bool known, const DocumentUses& uses) {
  if (uses.gives_angles(name)) return "frequencies of Sin and Cos: assumed to be learned";
  const std::vector<Use> readers = uses.of(name);
  if (known || !is_generated_name(name) || readers.empty() ||
      !std::all_of(readers.begin(), readers.end(), is_elementwise)) {
    return {};
  }
  return "the exporter made up its name: assumed to be a parameter";
}

std::string constant_reason(std::string_view name, const Tensor& tensor, const DocumentUses& uses,
                            LayerUse use) {
  const Numbers values(tensor);
  if (values.size() < 2) return {};
  if (use == LayerUse::none && grows_geometrically(tensor, values)) {
    return "a geometric series, as frequencies are";
  }
  if (is_sine_table(tensor, values)) return "a table of sines and cosines";
  if (is_angle_table(tensor, values)) return "positions times frequencies";
  if (is_buffer_of_layers(name)) return "named as buffers are";
  const std::vector<Use> readers = uses.of(name);
  if (use != LayerUse::none || readers.empty() ||
      !std::all_of(readers.begin(), readers.end(), is_elementwise)) {
    return {};
  }
  if (has_buffer_name(name)) return "named as buffers are";
  const double other = first_nonzero(values);
  const bool may_mask = other == 1 || std::abs(other) >= table_bound;
  if (tensor.shape().rank() >= 2 && may_mask && is_two_valued(values, other)) {
    return cat("a mask of 0 and ", other);
  }
  if (counts_evenly(values) || rows_count_evenly(tensor, values))
    return "counts up evenly, as positions do";
  if (is_grid(values)) return "a grid of whole and half numbers, as anchors are";
  return {};
}

bool is_frequencies(std::string_view name, const Tensor& tensor, const DocumentUses& uses) {
  return grows_geometrically(tensor, Numbers(tensor)) && uses.gives_angles(name, false);
}

bool is_parameter_name(std::string_view name, std::string_view producer) noexcept {
  if (name.find("ReadVariableOp") != std::string_view::npos) return true;
  const std::string_view base = base_name(name);
  if (one_of(base, {"weight", "bias", "logit_scale", "logit_bias"})) return true;
  if (producer != "pytorch" || name.empty()) return false;
  const auto is_path = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  return std::all_of(name.begin(), name.end(), is_path) && (name[0] < '0' || name[0] > '9') &&
         !name.starts_with("val_") && !name.starts_with("_") && !name.starts_with("const") &&
         !name.starts_with("scalar_tensor") && !name.starts_with("lifted_tensor");
}

}  // namespace ondine::graph
