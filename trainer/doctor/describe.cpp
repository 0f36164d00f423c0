#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/message.h"
#include "core/to_doubles.h"
#include "trainer/doctor/examination.h"

namespace ondine::trainer {

std::string describe(const graph::NodeDef& node) {
  if (!node.name.empty()) return cat(node.op, " ", quoted(node.name));
  for (const std::string& output : node.outputs) {
    if (!output.empty()) return cat(node.op, " ", quoted(output));
  }
  return node.op;
}

std::string list_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 4;
  std::string text;
  const std::size_t shown = names.size() > most + 1 ? most : names.size();
  for (std::size_t i = 0; i < shown; ++i) text += cat(i == 0 ? "" : ", ", quoted(names[i]));
  if (shown < names.size()) text += cat(" and ", names.size() - shown, " more");
  return text;
}

std::string brief(double value) {
  constexpr int digits = 4;
  std::array<char, 40> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::general, digits);
  return {text.data(), end.ptr};
}

std::optional<Moments> moments_of(const Tensor& tensor) {
  const auto values = to_doubles(tensor);
  if (!values || values->empty()) return std::nullopt;
  Moments result;
  if (!std::ranges::all_of(*values, [](double value) { return std::isfinite(value); })) {
    result.finite = false;
    return result;
  }
  const auto [min, max] = std::ranges::minmax(*values);
  result.min = min;
  result.max = max;
  const auto count = static_cast<double>(values->size());
  for (const double value : *values) result.mean += value / count;
  double squares = 0;
  for (const double value : *values) {
    squares += (value - result.mean) * (value - result.mean) / count;
  }
  result.deviation = std::sqrt(squares);
  return result;
}

}  // namespace ondine::trainer
