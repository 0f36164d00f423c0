#include "ondine/train/print_matrix.h"

#include <algorithm>
#include <iomanip>
#include <nlohmann/json.hpp>
#include <ostream>

#include <ondine/printable.h>

namespace ondine::cli {

void print_matrix(std::ostream& out, const ConfusionMatrix& matrix) {
  std::vector<std::string> names;
  for (const std::string& name : matrix.names) names.push_back(printable(name));
  for (std::size_t c = names.size(); c < matrix.classes; ++c) names.push_back(std::to_string(c));
  std::size_t width = 5;
  for (const std::string& name : names) width = std::max(width, name.size());
  for (const std::uint64_t count : matrix.counts) {
    width = std::max(width, std::to_string(count).size());
  }
  const auto field = [&](const std::string& text) {
    out << "  " << std::setw(static_cast<int>(width)) << text;
  };
  out << "confusion matrix, a row for each label, a column for each prediction\n";
  field("");
  for (const std::string& name : names) field(name);
  out << '\n';
  for (std::size_t label = 0; label < matrix.classes; ++label) {
    field(names[label]);
    for (std::size_t c = 0; c < matrix.classes; ++c) field(std::to_string(matrix.count(label, c)));
    out << '\n';
  }
}

nlohmann::json matrix_json(const ConfusionMatrix& matrix) {
  nlohmann::json rows = nlohmann::json::array();
  for (std::size_t label = 0; label < matrix.classes; ++label) {
    nlohmann::json row = nlohmann::json::array();
    for (std::size_t c = 0; c < matrix.classes; ++c) row.push_back(matrix.count(label, c));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace ondine::cli
