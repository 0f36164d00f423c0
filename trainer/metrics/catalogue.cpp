#include "trainer/metrics/catalogue.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/message.h"
#include "trainer/metrics/edit_distance.h"
#include "trainer/metrics/families.h"

namespace ondine::metrics {
namespace {

using Make = std::unique_ptr<Metric> (*)(const std::string& name, const Context& context);

struct Entry {
  const char* name;
  bool classes;
  bool binary;
  bool regression;
  bool sequences;
  bool larger_is_better;
  Make make;
};

constexpr const char* top_pattern = "topK";

constexpr std::array entries{
    Entry{"accuracy", true, true, false, false, true, make_accuracy},
    Entry{top_pattern, true, false, false, false, true, make_top},
    Entry{"precision", true, true, false, false, true, make_overlap},
    Entry{"recall", true, true, false, false, true, make_overlap},
    Entry{"f1", true, true, false, false, true, make_overlap},
    Entry{"iou", true, true, false, false, true, make_overlap},
    Entry{"dice", true, true, false, false, true, make_overlap},
    Entry{"precision_macro", true, true, false, false, true, make_overlap},
    Entry{"recall_macro", true, true, false, false, true, make_overlap},
    Entry{"f1_macro", true, true, false, false, true, make_overlap},
    Entry{"iou_macro", true, true, false, false, true, make_overlap},
    Entry{"dice_macro", true, true, false, false, true, make_overlap},
    Entry{"precision_micro", true, true, false, false, true, make_overlap},
    Entry{"recall_micro", true, true, false, false, true, make_overlap},
    Entry{"f1_micro", true, true, false, false, true, make_overlap},
    Entry{"iou_micro", true, true, false, false, true, make_overlap},
    Entry{"dice_micro", true, true, false, false, true, make_overlap},
    Entry{"precision_per_class", true, true, false, false, true, make_overlap},
    Entry{"recall_per_class", true, true, false, false, true, make_overlap},
    Entry{"f1_per_class", true, true, false, false, true, make_overlap},
    Entry{"iou_per_class", true, true, false, false, true, make_overlap},
    Entry{"dice_per_class", true, true, false, false, true, make_overlap},
    Entry{"confusion_matrix", true, true, false, false, true, make_confusion},
    Entry{"roc_auc", true, true, false, false, true, make_ranking},
    Entry{"roc_auc_per_class", true, true, false, false, true, make_ranking},
    Entry{"average_precision", true, true, false, false, true, make_ranking},
    Entry{"average_precision_per_class", true, true, false, false, true, make_ranking},
    Entry{"perplexity", true, false, false, false, false, make_perplexity},
    Entry{"mse", false, false, true, false, false, make_error},
    Entry{"mae", false, false, true, false, false, make_error},
    Entry{"rmse", false, false, true, false, false, make_error},
    Entry{"r2", false, false, true, false, true, make_r2},
    Entry{"cer", false, false, false, true, false, make_edit_rate},
    Entry{"wer", false, false, false, true, false, make_edit_rate},
};

bool has_task(const Entry& entry, Task task) {
  switch (task) {
    case Task::classes:
      return entry.classes;
    case Task::binary:
      return entry.binary;
    case Task::sequences:
      return entry.sequences;
    case Task::regression:
      break;
  }
  return entry.regression;
}

const Entry* find(std::string_view name) {
  const bool is_top = top_count(name).has_value();
  for (const Entry& entry : entries) {
    if (is_top ? entry.name == std::string_view(top_pattern) : entry.name == name) return &entry;
  }
  return nullptr;
}

std::string nearest(std::string_view name) {
  std::string result;
  std::size_t least = 1 + name.size() / 3;
  for (const Entry& entry : entries) {
    const std::size_t distance = edit_distance(name, std::string_view(entry.name));
    if (distance > least || (distance == least && !result.empty())) continue;
    least = distance;
    result = entry.name;
  }
  return result;
}

std::string names_of(const std::optional<Task>& task) {
  std::string result;
  for (const Entry& entry : entries) {
    if (task && !has_task(entry, *task)) continue;
    result += (result.empty() ? "" : ", ") + std::string(entry.name);
  }
  return result;
}

}  // namespace

std::optional<std::size_t> top_count(std::string_view name) {
  if (!name.starts_with("top")) return {};
  std::size_t count = 0;
  const char* end = name.data() + name.size();
  const auto [last, error] = std::from_chars(name.data() + 3, end, count);
  if (error != std::errc() || last != end || count == 0) return {};
  return count;
}

void require_known(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (name != top_pattern && find(name) != nullptr) continue;
    const std::string guess = nearest(name);
    fail(ErrorCode::not_found, "there is no metric ", quoted(name),
         guess.empty() || guess == name ? "" : "; did you mean " + quoted(guess) + "?",
         " There are: ", names_of({}), " (K is a number)");
  }
}

void require_task(const std::vector<std::string>& names, Task task, std::string_view reason) {
  for (const std::string& name : names) {
    if (has_task(*find(name), task)) continue;
    fail(ErrorCode::mismatch, "metric ", quoted(name), " does not apply: ", reason,
         ", whose metrics are: ", names_of(task));
  }
}

std::unique_ptr<Metric> make(const std::string& name, const Context& context) {
  return find(name)->make(name, context);
}

std::optional<bool> is_larger_better(std::string_view name) {
  const Entry* entry = find(name.substr(0, name.find('[')));
  if (entry == nullptr) entry = find(std::string(name.substr(0, name.find('['))) + "_per_class");
  if (entry == nullptr) return {};
  return entry->larger_is_better;
}

void require_no_scores(const std::string& name, const std::string& output) {
  const Entry* entry = find(name);
  const bool reads_scores =
      entry != nullptr &&
      (entry->make == make_top || entry->make == make_ranking || entry->make == make_perplexity);
  if (!reads_scores) return;
  fail(ErrorCode::mismatch, "the metric ", quoted(name), " needs scores of classes; output ",
       quoted(output), " holds classes");
}

}  // namespace ondine::metrics

namespace ondine {

std::vector<std::string> evaluation_metrics() {
  std::vector<std::string> result;
  for (const metrics::Entry& entry : metrics::entries) result.emplace_back(entry.name);
  return result;
}

}  // namespace ondine
