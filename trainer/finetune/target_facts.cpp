#include "trainer/finetune/target_facts.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "trainer/finetune/read_column.h"

namespace ondine::tune {
namespace {

constexpr std::int64_t most_classes = 1 << 16;
// In masks, by the convention of Pascal VOC.
constexpr std::int64_t ignored_pixel = 255;

struct Survey {
  double least = INFINITY;
  double largest = -INFINITY;
  bool is_whole = true;
  std::vector<std::uint64_t> counts;  // of 0, 1, ... up to most_classes
  std::vector<Moments> moments;       // of each number of a row
};

void take(Survey& survey, const Tensor& batch) {
  const auto values = batch.values<double>();
  const std::size_t width = survey.moments.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    survey.least = std::min(survey.least, value);
    survey.largest = std::max(survey.largest, value);
    survey.moments[i % width].add(value);
    if (value != std::floor(value)) survey.is_whole = false;
    if (value != std::floor(value) || value < 0 || value >= most_classes) continue;
    const auto at = static_cast<std::size_t>(value);
    if (at >= survey.counts.size()) survey.counts.resize(at + 1);
    ++survey.counts[at];
  }
}

bool are_sizes(std::span<const std::int64_t> row) {
  return std::all_of(row.begin(), row.end(), [](std::int64_t dim) { return dim >= 0; });
}

std::int64_t elements(std::span<const std::int64_t> row) {
  std::int64_t result = 1;
  for (const std::int64_t dim : row) result *= dim;
  return result;
}

Survey survey_of(const Dataset& data, const PortInfo& column, const TargetFacts& facts) {
  // Positions share what they are scaled by.
  const std::int64_t width = facts.is_dense() ? 1 : elements(facts.row);
  Survey survey;
  survey.moments.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, width)));
  ColumnRead read{port_of("target", DType::float64, facts.row), column.name, true};
  read_column(data, read, [&](const Tensor& batch) { take(survey, batch); });
  return survey;
}

bool is_zero_or_one(const Survey& survey) {
  return survey.is_whole && survey.least >= 0 && survey.largest <= 1;
}

bool all_occur(const Survey& survey) {
  return std::all_of(survey.counts.begin(), survey.counts.end(), [](auto n) { return n > 0; });
}

// Kind and reason, from the values.
void choose_kind(TargetFacts& facts, const Survey& survey, const PortInfo& column,
                 std::uint64_t rows) {
  const auto set = [&](TargetKind kind, std::string reason) {
    facts.kind = kind;
    facts.reason = std::move(reason);
  };
  const bool is_single = elements(facts.row) == 1;
  const bool is_scored = facts.is_dense() || is_single;
  if (!is_integer(column.dtype) && column.dtype != DType::boolean) {
    if (is_zero_or_one(survey)) return set(TargetKind::labels, "all numbers are 0 or 1");
    return set(TargetKind::numbers, "floating-point numbers");
  }
  if (!is_scored) {
    if (is_zero_or_one(survey)) return set(TargetKind::labels, "rows of 0 and 1");
    return set(TargetKind::numbers, "rows of integers");
  }
  if (facts.is_dense()) {
    if (survey.least >= 0 && survey.largest <= ignored_pixel) {
      return set(TargetKind::classes, "integers for each position");
    }
    return set(TargetKind::numbers, "integers for each position, some outside of 0 to 255");
  }
  const bool counts_up = survey.least == 0 && survey.largest < most_classes && all_occur(survey);
  if (counts_up && 2 * survey.counts.size() <= rows) {
    return set(TargetKind::classes, cat("integers from 0 to ", survey.counts.size() - 1));
  }
  set(TargetKind::numbers,
      cat("integers from ", survey.least, " to ", survey.largest, " that are no 0, 1, ..., C - 1"));
}

void count_classes(TargetFacts& facts, const Survey& survey, const PortInfo& column) {
  if (!survey.is_whole || survey.least < 0 || survey.largest >= most_classes) {
    fail(ErrorCode::mismatch, "target ", quoted(column.name), " has numbers from ", survey.least,
         " to ", survey.largest,
         ", which are no classes 0, 1, ..., C - 1; --targets numbers learns "
         "them as numbers");
  }
  auto counts = survey.counts;
  if (facts.is_dense() && counts.size() == ignored_pixel + 1 && counts[ignored_pixel - 1] == 0) {
    facts.ignored = ignored_pixel;
    counts.pop_back();
    while (!counts.empty() && counts.back() == 0) counts.pop_back();
  }
  facts.outputs = static_cast<std::int64_t>(std::max<std::size_t>(2, counts.size()));
}

}  // namespace

TargetFacts look_at_target(const Dataset& data, const PortInfo& column,
                           std::optional<TargetKind> asked) {
  TargetFacts facts;
  facts.column = column.name;
  if (column.dims) facts.row.assign(column.dims->begin() + 1, column.dims->end());
  const bool is_named = column.name == data.target() && !data.classes().empty();
  if (is_named && asked.value_or(TargetKind::classes) == TargetKind::classes) {
    facts.names = data.classes();
    facts.outputs = static_cast<std::int64_t>(facts.names.size());
    if (facts.outputs < 2) {
      fail(ErrorCode::mismatch, "the targets ", quoted(column.name), " are all of one class, ",
           quoted(facts.names[0]), "; at least two are needed");
    }
    if (!asked) facts.reason = "names";
    return facts;
  }
  if (!are_sizes(facts.row)) {
    fail(ErrorCode::mismatch, "target ", quoted(column.name), " has rows of different sizes");
  }
  const Survey survey = survey_of(data, column, facts);
  if (asked) {
    facts.kind = *asked;
  } else {
    choose_kind(facts, survey, column, data.rows());
  }
  facts.outputs = facts.is_dense() ? 1 : elements(facts.row);
  if (facts.kind == TargetKind::classes) count_classes(facts, survey, column);
  if (facts.kind == TargetKind::labels && !(survey.least >= 0 && survey.largest <= 1)) {
    fail(ErrorCode::mismatch, "target ", quoted(column.name), " has numbers from ", survey.least,
         " to ", survey.largest, ", labels are 0 or 1");
  }
  if (facts.kind == TargetKind::numbers) facts.scales = scales_of(survey.moments);
  return facts;
}

std::string describe(const TargetFacts& target) {
  if (target.kind == TargetKind::labels) {
    return target.outputs == 1 ? "a label 0 or 1" : cat(target.outputs, " labels 0 or 1");
  }
  if (target.kind == TargetKind::numbers) {
    return target.outputs == 1 ? "a number" : cat(target.outputs, " numbers");
  }
  std::string text = cat(target.outputs, " classes");
  constexpr std::size_t most_names = 6;
  const std::size_t shown = std::min(most_names, target.names.size());
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? " (" : ", ") + target.names[i];
  if (shown != 0) text += target.names.size() > shown ? ", ...)" : ")";
  if (target.ignored) text += cat(", ", *target.ignored, " does not count");
  return text;
}

}  // namespace ondine::tune
