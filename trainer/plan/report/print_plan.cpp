#include <algorithm>
#include <array>

#include <ondine/plan.h>

#include "core/message.h"

namespace ondine {
namespace {

constexpr std::size_t column_count = 8;
using Row = std::array<std::string, column_count>;

std::string implementation_of(const PlannedOperator& node) {
  if (node.implementation.empty()) return "-";
  return node.isa.empty() ? node.implementation : cat(node.implementation, " ", node.isa);
}

std::string storage_of(const PlannedValue& value) {
  std::string text = to_string(value.storage);
  if (value.storage == Storage::arena) text += cat(" +", value.offset);
  if (value.in_place) text += " in place";
  return text;
}

std::string lifetime_of(const PlannedValue& value, std::size_t nodes) {
  return cat(value.first, "..", value.last == nodes ? "end" : std::to_string(value.last));
}

Row row_of(const PlannedValue& value, std::size_t nodes) {
  return {"",
          "",
          "",
          "",
          cat(quoted(value.name), " ", value.type),
          storage_of(value),
          std::to_string(value.bytes),
          lifetime_of(value, nodes)};
}

std::vector<Row> rows_of(const PlanReport& report) {
  std::vector<Row> rows{
      {"#", "operator", "implementation", "workspace", "output", "storage", "bytes", "lifetime"}};
  for (std::size_t i = 0; i < report.nodes.size(); ++i) {
    const PlannedOperator& node = report.nodes[i];
    const std::size_t begin = rows.size();
    for (const PlannedValue& value : node.outputs) {
      rows.push_back(row_of(value, report.nodes.size()));
    }
    if (node.outputs.empty()) rows.emplace_back();
    Row& first = rows[begin];
    first[0] = cat(i, node.commit ? " commit" : "");
    first[1] = node.name.empty() ? node.op : cat(node.op, " ", quoted(node.name));
    first[2] = implementation_of(node);
    first[3] = std::to_string(node.workspace_bytes);
  }
  return rows;
}

void append_table(std::string& out, const std::vector<Row>& rows) {
  std::array<std::size_t, column_count> widths{};
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += row[i] + std::string(widths[i] - row[i].size() + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
}

}  // namespace

const char* to_string(Storage storage) noexcept {
  switch (storage) {
    case Storage::arena:
      return "arena";
    case Storage::state:
      return "state";
    case Storage::constant:
      return "constant";
    case Storage::caller:
      return "caller";
    case Storage::dynamic:
      return "dynamic";
  }
  return "unknown storage";
}

std::string to_string(const PlanReport& report) {
  std::string out;
  append_table(out, rows_of(report));
  if (!report.peak_values.empty()) {
    out += cat("\npeak: ", report.peak_bytes, " bytes of the arena in use at node ",
               report.peak_node, " (", report.nodes[report.peak_node].op, ")\n");
    for (const PlannedValue& value : report.peak_values) {
      out += cat("  ", value.bytes, "  ", quoted(value.name), value.type.empty() ? "" : " ",
                 value.type, "  ", lifetime_of(value, report.nodes.size()), "\n");
    }
  }
  out += cat("\ntotal bytes: arena ", report.arena_bytes, ", constants ", report.constant_bytes,
             ", state ", report.state_bytes, "; largest workspace ", report.workspace_bytes, "\n");
  return out;
}

}  // namespace ondine
