#include <algorithm>
#include <array>

#include <ondine/layers.h>
#include <ondine/printable.h>

#include "core/message.h"

namespace ondine {
namespace {

using Row = std::array<std::string, 8>;
constexpr std::size_t first_number = 4;  // columns from here on are aligned to the right

// "1 234 567"
std::string grouped(std::uint64_t number) {
  std::string digits = std::to_string(number);
  for (std::size_t i = digits.size(); i > 3;) digits.insert(i -= 3, " ");
  return digits;
}

Row row_of(const Layer& layer) {
  return {layer.node ? std::to_string(*layer.node) : "",
          printable(layer.name),
          printable(layer.op),
          printable(layer.type),
          grouped(layer.trained_parameters) + (layer.shared ? "*" : ""),
          grouped(layer.frozen_parameters) + (layer.shared ? "*" : ""),
          layer.multiply_adds ? grouped(*layer.multiply_adds) : "?",
          layer.output_bytes == 0 ? "?" : grouped(layer.output_bytes)};
}

std::string table_of(const std::vector<Row>& rows) {
  Row::size_type columns = rows.front().size();
  std::array<std::size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < columns; ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < columns; ++i) {
      const std::string padding(widths[i] - row[i].size(), ' ');
      line += i == 0 ? "" : "  ";
      line += i < first_number ? row[i] + padding : padding + row[i];
    }
    out += line + '\n';
  }
  return out;
}

std::string memory_of(const char* call, const PlanInfo& plan) {
  return cat("bytes of ", call, ": ",
             grouped(plan.arena_bytes + plan.constant_bytes + plan.state_bytes), " (values ",
             grouped(plan.arena_bytes), ", constants ", grouped(plan.constant_bytes), ", state ",
             grouped(plan.state_bytes), ")\n");
}

}  // namespace

std::string to_string(const LayerReport& report) {
  std::vector<Row> rows{{"node", "layer", "operator", "output", "trained", "frozen",
                         "multiply-adds", "output bytes"}};
  bool shared = false;
  bool unknown = false;
  for (const Layer& layer : report.layers) {
    rows.push_back(row_of(layer));
    shared = shared || layer.shared;
    unknown = unknown || !layer.multiply_adds;
  }
  std::string out = table_of(rows);
  out += cat("\nparameters: ", grouped(report.trained_parameters + report.frozen_parameters),
             " (trained ", grouped(report.trained_parameters), ", frozen ",
             grouped(report.frozen_parameters), ")\nmultiply-adds: ", grouped(report.multiply_adds),
             "\n");
  out += memory_of("inference", report.inference);
  if (report.step) out += memory_of("a training step", *report.step);
  out +=
      "\nMultiply-adds are those of convolutions, matrix products, attention and recurrent layers "
      "of one\ninference; other operators count 0.\n";
  if (shared) out += "* shares a parameter with an earlier layer; totals count it once\n";
  if (unknown) out += "? depends on the data; counted as 0 in the total\n";
  return out;
}

}  // namespace ondine
