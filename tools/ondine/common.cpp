#include "ondine/common.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <map>
#include <set>

#include "ondine/elements.h"

namespace ondine::cli {

void add_operator_sets(Command command, std::vector<std::filesystem::path>& files) {
  const auto take = [&files](const std::vector<std::string>& names) {
    files.insert(files.end(), names.begin(), names.end());
  };
  command.list("--operator-set", take, "Operator-set document whose functions the model may call")
      .one_each();
}

void add_external_data(Command command, std::optional<std::uint64_t>& bytes) {
  command.option("--external-data-from", &bytes,
                 "Write tensors of at least this many bytes to a separate data file");
}

void add_load_options(Command command, LoadOptions& load) {
  command.option("--threads", &load.threads, "Threads").between(1, 1024);
  command.option(
      "--memory-budget", &load.memory_budget,
      "Bytes for values, state and constants; to stay below, cheap values are recomputed");
  const std::map<std::string, Precision> precisions{{"float32", Precision::float32},
                                                    {"bf16", Precision::bfloat16}};
  command.choice("--precision", &load.precision, precisions,
                 "Of products: float32, or bf16 to round their factors where the processor can");
  const std::map<std::string, UpdatePolicy> policies{{"atomic", UpdatePolicy::atomic},
                                                     {"immediate", UpdatePolicy::immediate}};
  command.choice("--updates", &load.updates, policies,
                 "atomic: commit all updates together; immediate: write each update in place");
  const auto leave_out = [&load](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      for (const Fusion fusion : fusions_from_name(name)) load.no_fusion.push_back(fusion);
    }
  };
  command.list("--no-fusion", leave_out, "Fusions to disable, or all");
  command.option("--strict", &load.strict, "Treat warnings about the model as errors");
  add_deadline(command, load.deadline);
  add_operator_sets(command, load.operator_sets);
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

void add_deadline(Command command, std::optional<std::chrono::milliseconds>& deadline) {
  const auto take = [&deadline](double seconds) {
    constexpr double longest = 1e9;
    deadline = std::chrono::milliseconds(
        static_cast<std::int64_t>(std::ceil(std::min(seconds, longest) * 1e3)));
  };
  command
      .number("--deadline", take,
              "Seconds that loading, opening data, each batch and each run may take")
      .positive();
}

std::pair<std::string, std::string> split_pair(const std::string& text, const char* option,
                                               const std::vector<PortInfo>& inputs) {
  std::size_t at = text.find('=');
  for (const PortInfo& input : inputs) {
    const std::size_t end = input.name.size();
    const bool named = text.starts_with(input.name) && end < text.size() && text[end] == '=';
    if (named && at != std::string::npos) at = std::max(at, end);
  }
  if (at == std::string::npos || at == 0 || at + 1 == text.size()) {
    throw Error(ErrorCode::mismatch,
                std::string(option) + " needs NAME=VALUE, found '" + text + "'");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

ArrayMap parse_map(const std::vector<std::string>& pairs, const std::vector<PortInfo>& inputs) {
  ArrayMap map;
  for (const std::string& pair : pairs) map.push_back(split_pair(pair, "--map", inputs));
  return map;
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

std::vector<std::string> metric_names(const Model& model, std::size_t algorithm) {
  std::vector<std::string> result;
  for (const PortInfo& port : model.algorithm(algorithm).outputs) {
    const bool number = port.dtype == DType::float32 || port.dtype == DType::float64;
    if (number && port.dims && port.dims->empty()) result.push_back(port.name);
  }
  // The loss comes first.
  std::stable_partition(result.begin(), result.end(),
                        [](const std::string& name) { return name.starts_with("loss"); });
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
  // What needs no change keeps its name.
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

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < units.size(); ++unit) value /= 1024;
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

std::string number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", value);
  return text.data();
}

}  // namespace ondine::cli
