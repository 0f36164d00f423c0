#include "ondine/common.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <set>

#include <ondine/printable.h>

#include "ondine/elements.h"

namespace ondine::cli {

LoadOptions load_of(const CommandOptions& options, LoadOptions start) {
  return load_options(options.of(OptionGroup::load), OptionSpelling::dashes, std::move(start));
}

std::optional<std::uint64_t> external_data_of(const CommandOptions& options) {
  return export_options(options.of(OptionGroup::export_), OptionSpelling::dashes)
      .external_data_from;
}

void note_precision(const LoadOptions& load) {
  if (has_precision(load.precision)) return;
  std::cerr << "note: this processor has no products in bfloat16; they are computed in float32\n";
}

std::vector<std::string> split_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::pair<std::string, std::string> split_pair(const std::string& text, const char* option,
                                               const std::vector<PortInfo>& inputs) {
  auto parts = split_input_value(text, inputs);
  if (parts) return std::move(*parts);
  throw Error(ErrorCode::mismatch, std::string(option) + " needs NAME=VALUE, found '" + text + "'");
}

std::vector<std::filesystem::path> to_paths(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

std::vector<PortInfo> extra_inputs(const Model& model, std::size_t algorithm) {
  const std::vector<PortInfo> main = model.inputs();
  std::vector<PortInfo> result = model.algorithm(algorithm).inputs;
  std::erase_if(result, [&](const PortInfo& port) {
    return std::any_of(main.begin(), main.end(),
                       [&](const PortInfo& other) { return other.name == port.name; });
  });
  return result;
}

std::size_t print_warnings(const Model& model, std::size_t first) {
  const std::vector<std::string> warnings = model.warnings();
  print_warnings(std::span(warnings).subspan(std::min(first, warnings.size())));
  return warnings.size();
}

void print_warnings(std::span<const std::string> warnings) {
  for (const std::string& warning : warnings) std::cerr << "warning: " << warning << '\n';
}

double element_of(const Tensor& tensor, std::int64_t i) {
  return to_double(tensor.dtype(), static_cast<const std::byte*>(tensor.data()) +
                                       static_cast<std::size_t>(i) * size_of(tensor.dtype()));
}

namespace {

template <class Float>
std::string whole_or_number(Float value) {
  if (!std::isfinite(value) || std::trunc(value) != value) return number(double{value});
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

}  // namespace

std::string element_text(const Tensor& tensor, std::int64_t i) {
  const auto at = static_cast<std::size_t>(i);
  const DType dtype = tensor.dtype();
  if (dtype == DType::int64) return std::to_string(tensor.values<std::int64_t>()[at]);
  if (dtype == DType::uint64) return std::to_string(tensor.values<std::uint64_t>()[at]);
  const double value = element_of(tensor, i);
  if (is_integer(dtype)) return std::to_string(static_cast<std::int64_t>(value));
  const bool is_double = dtype == DType::float64 || dtype == DType::complex128;
  return is_double ? whole_or_number(value) : whole_or_number(static_cast<float>(value));
}

double scalar_of(const Tensor& tensor) {
  if (tensor.size() != 1) {
    throw Error(ErrorCode::mismatch,
                "a metric must be one number, it has shape " + tensor.shape().to_string());
  }
  return element_of(tensor, 0);
}

namespace {

std::string file_name_of(const std::string& value_name) {
  std::string name = value_name;
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '\\' || byte < 0x20) c = '_';
  }
  if (name == "." || name == ".." || name.empty()) name = "_" + name;
  return name;
}

}  // namespace

std::vector<std::string> file_names_of(const std::vector<std::string>& value_names) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  // Names that need no change are taken first, so that they are kept.
  for (const std::string& value : value_names) {
    names.push_back(file_name_of(value));
    if (names.back() == value) taken.insert(value);
  }
  std::set<std::string> kept;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const bool unchanged = names[i] == value_names[i] && kept.insert(names[i]).second;
    if (unchanged || taken.insert(names[i]).second) continue;
    const std::string base = names[i] + "_";
    for (std::size_t k = 2; !taken.insert(names[i]).second; ++k)
      names[i] = base + std::to_string(k);
  }
  return names;
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

void print_names(const char* label, std::span<const std::string> names) {
  if (names.empty()) return;
  std::cout << "  " << label;
  for (const std::string& name : names) std::cout << "  " << printable(name);
  std::cout << '\n';
}

}  // namespace ondine::cli
