#include "trainer/finetune/facts.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/message.h"
#include "trainer/data/column.h"
#include "trainer/finetune/target_facts.h"

namespace ondine::tune {
namespace {

bool is_target_name(std::string_view name) {
  constexpr std::array<std::string_view, 7> names{"label", "labels", "target", "targets",
                                                  "mask",  "masks",  "y"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string listed(const std::vector<PortInfo>& columns) {
  std::string text;
  for (const PortInfo& one : columns) text += (text.empty() ? "" : ", ") + quoted(one.name);
  return text.empty() ? "none" : text;
}

const PortInfo* find(const std::vector<PortInfo>& columns, const std::string& name) {
  const auto found = std::find_if(columns.begin(), columns.end(),
                                  [&](const PortInfo& one) { return one.name == name; });
  return found == columns.end() ? nullptr : &*found;
}

PortInfo find_target(const Dataset& data, const std::vector<PortInfo>& columns,
                     const std::string& asked, std::span<const PortInfo> inputs) {
  const std::string& named = data.target().empty() ? asked : data.target();
  if (!named.empty()) {
    if (const PortInfo* column = find(columns, named)) return *column;
    fail(ErrorCode::mismatch, "the data have no column ", quoted(named), " (--target); they have ",
         listed(columns));
  }
  std::vector<PortInfo> left;
  for (const PortInfo& column : columns) {
    const bool is_input = std::any_of(inputs.begin(), inputs.end(), [&](const PortInfo& input) {
      return input.name == column.name;
    });
    if (!is_input) left.push_back(column);
  }
  std::vector<PortInfo> likely;
  std::copy_if(left.begin(), left.end(), std::back_inserter(likely),
               [](const PortInfo& column) { return is_target_name(column.name); });
  if (likely.size() == 1) return likely[0];
  if (likely.empty() && left.size() == 1 && columns.size() > 1) return left[0];
  if (columns.size() < 2) {
    fail(ErrorCode::mismatch, "the data have no targets: the columns are ", listed(columns),
         "; give a folder for each class, a column or an array of targets");
  }
  fail(ErrorCode::mismatch,
       "which column holds the targets is not known: name it (--target); the "
       "columns are ",
       listed(columns));
}

RowKind kind_of(const Dataset& data, const PortInfo& column, bool is_file) {
  if (data.text()) {
    const bool is_running = data::PartAccess::of(data).opened.predicts_next;
    return is_running ? RowKind::running_text : RowKind::texts;
  }
  if (data.table()) return RowKind::numbers;
  if (is_file) return data.sample_rate() > 0 ? RowKind::recordings : RowKind::images;
  if (!column.dims) return RowKind::numbers;
  const auto wide = std::count_if(column.dims->begin() + 1, column.dims->end(),
                                  [](std::int64_t dim) { return dim != 1; });
  return wide >= 2 ? RowKind::images : RowKind::numbers;
}

void set_rows(Facts& facts, const Dataset& data, const std::vector<PortInfo>& columns) {
  std::vector<const PortInfo*> others;
  for (const PortInfo& column : columns) {
    if (column.name != facts.target.column) others.push_back(&column);
  }
  if (others.empty()) {
    fail(ErrorCode::mismatch, "the data have no column beside the targets ",
         quoted(facts.target.column));
  }
  const data::Column* stored = nullptr;
  for (const auto& column : data::PartAccess::of(data).columns) {
    if (column->name() == others[0]->name) stored = column.get();
  }
  const bool is_file = stored != nullptr && stored->is_slow();
  facts.kind = kind_of(data, *others[0], is_file);
  facts.are_files = is_file && facts.kind == RowKind::images;
  if (others.size() == 1) facts.rows = others[0]->name;
  if (others[0]->dims) facts.row.assign(others[0]->dims->begin() + 1, others[0]->dims->end());
}

// But the weights of rows.
std::vector<PortInfo> columns_of(const Dataset& data) {
  std::vector<PortInfo> columns = data.columns();
  std::erase_if(columns, [&](const PortInfo& one) { return one.name == data.weights(); });
  return columns;
}

}  // namespace

Facts look_at_rows(const Dataset& data, const NetworkOptions& options,
                   std::span<const PortInfo> inputs) {
  const std::vector<PortInfo> columns = columns_of(data);
  if (data.rows() == 0) fail(ErrorCode::mismatch, "the data have no rows");
  Facts facts;
  facts.target.column = find_target(data, columns, options.target, inputs).name;
  set_rows(facts, data, columns);
  return facts;
}

Facts look_at(const Dataset& data, const NetworkOptions& options,
              std::span<const PortInfo> inputs) {
  Facts facts = look_at_rows(data, options, inputs);
  if (facts.kind == RowKind::running_text) {
    // Labels are ids of the text itself.
    facts.target.row = {-1};
    facts.target.outputs = data.text()->encoding.size();
    if (data.text()->next.rows) facts.target.ignored = data.text()->next.ignored_label;
    return facts;
  }
  const std::vector<PortInfo> columns = columns_of(data);
  facts.target = look_at_target(data, *find(columns, facts.target.column), options.targets);
  return facts;
}

}  // namespace ondine::tune
