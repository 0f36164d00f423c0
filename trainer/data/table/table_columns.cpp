#include "trainer/data/table/table_columns.h"

#include <algorithm>

#include "core/message.h"
#include "core/text/letters.h"

namespace ondine::data {
namespace {

std::optional<std::size_t> find(std::span<const std::string> names, const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<std::size_t>(found - names.begin());
}

// The last column is a target that is not read, unless the model takes all columns.
bool has_unread_target(std::span<const std::string> names, const DatasetOptions& options) {
  const auto count =
      static_cast<std::int64_t>(names.size()) - (find(names, options.weights) ? 1 : 0);
  return options.feature_count > 0 && count == options.feature_count + 1;
}

// Columns but one, which is none of them if there is no such one.
std::vector<std::size_t> all_but(std::size_t columns, std::optional<std::size_t> one) {
  std::vector<std::size_t> result;
  for (std::size_t i = 0; i < columns; ++i) {
    if (i != one) result.push_back(i);
  }
  return result;
}

void name_features(std::span<const std::string> names, const DatasetOptions& options,
                   TablePositions& positions) {
  for (const std::string& name : options.features) {
    const auto at = find(names, name);
    if (!at) {
      fail(ErrorCode::mismatch, "there is no column ", quoted(name),
           ", which the model was trained with or --columns names; the file has: ", list_of(names));
    }
    if (at == positions.target) {
      fail(ErrorCode::mismatch, "column ", quoted(name), " is both feature and target");
    }
    if (name == options.weights) {
      fail(ErrorCode::mismatch, "column ", quoted(name),
           " is a feature, it cannot hold the weights of rows (--weight-column)");
    }
    positions.features.push_back(*at);
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto& features = positions.features;
    const bool is_feature = std::find(features.begin(), features.end(), i) != features.end();
    const bool is_target = i == positions.target || names[i] == options.target;
    const bool is_weights = names[i] == options.weights;
    if (!is_feature && !is_target && !is_weights) positions.unread.push_back(i);
  }
}

void drop_columns(std::span<const std::string> names, const DatasetOptions& options,
                  TablePositions& positions) {
  for (const std::string& name : options.drop) {
    const std::size_t at = require_column(names, name, "--drop");
    if (at == positions.target || at == positions.weights) {
      fail(ErrorCode::mismatch, "column ", quoted(name),
           at == positions.target ? " is the target" : " holds the weights of rows",
           ", it cannot be dropped");
    }
    std::erase(positions.features, at);
  }
  if (positions.features.empty()) fail(ErrorCode::mismatch, "no column is left as a feature");
}

bool is_named_target(const std::string& name) {
  const std::string lower = lower_case(name);
  return lower == "label" || lower == "labels" || lower == "target" || lower == "targets";
}

// The last column is the target by default, unless its name and that of another one contradict.
void require_unambiguous_target(std::span<const std::string> names, const DatasetOptions& options,
                                std::size_t target) {
  if (is_named_target(names[target])) return;
  const auto contains = [](const std::vector<std::string>& some, const std::string& name) {
    return std::find(some.begin(), some.end(), name) != some.end();
  };
  for (const std::string& name : names) {
    if (!is_named_target(name) || contains(options.features, name)) continue;
    if (contains(options.drop, name)) continue;
    fail(ErrorCode::mismatch, "the target may be the column ", quoted(name), " or the last one, ",
         quoted(names[target]), "; --target says which");
  }
}

}  // namespace

std::string list_of(std::span<const std::string> names) {
  constexpr std::size_t most_named = 20;
  std::string text;
  for (const std::string& name : names.first(std::min(names.size(), most_named))) {
    text += (text.empty() ? "" : ", ") + quoted(name);
  }
  return names.size() > most_named ? text + ", ..." : text;
}

std::size_t require_column(std::span<const std::string> names, const std::string& name,
                           const char* option) {
  if (const auto found = find(names, name)) return *found;
  fail(ErrorCode::not_found, "there is no column ", quoted(name), " (", option,
       "); the file has: ", list_of(names));
}

std::optional<std::size_t> choose_target(std::span<const std::string> names,
                                         const DatasetOptions& options, std::size_t other) {
  if (options.use == DataUse::inference) return {};
  std::optional<std::size_t> target;
  if (!options.target.empty()) {
    target = require_column(names, options.target, "--target");
    if (target == other) {
      fail(ErrorCode::mismatch, "column ", quoted(options.target),
           " is the target (--target), so it cannot be the input");
    }
  } else if (names.size() > 1) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i != other && names[i] != options.weights) target = i;
    }
    if (target) require_unambiguous_target(names, options, *target);
  }
  return target;
}

std::optional<std::size_t> choose_weights(std::span<const std::string> names,
                                          const DatasetOptions& options,
                                          std::optional<std::size_t> target, std::size_t other) {
  if (options.weights.empty() || options.use == DataUse::inference) return {};
  if (options.weights_are_optional && !find(names, options.weights)) return {};
  const std::size_t at = require_column(names, options.weights, "--weight-column");
  if (at != target && at != other) return at;
  fail(ErrorCode::mismatch, "column ", quoted(options.weights), " is the ",
       at == target ? "target" : "input", ", it cannot hold the weights of rows (--weight-column)");
}

TablePositions choose_columns(std::span<const std::string> names, const DatasetOptions& options) {
  TablePositions positions;
  const bool reads_target = options.use != DataUse::inference;
  if (reads_target) positions.target = choose_target(names, options, names.size());
  positions.weights = choose_weights(names, options, positions.target, names.size());
  if (!options.features.empty() && !options.drop.empty()) {
    fail(ErrorCode::mismatch, "columns cannot be dropped where features are named");
  }
  if (!options.features.empty()) {
    name_features(names, options, positions);
    return positions;
  }
  std::optional<std::size_t> left_out = positions.target;
  if (!reads_target) {
    if (!options.target.empty()) {
      left_out = find(names, options.target);
    } else if (has_unread_target(names, options)) {
      left_out = names.size() - 1;
      if (names[*left_out] == options.weights) left_out = names.size() - 2;
      positions.unread.push_back(*left_out);
    }
  }
  positions.features = all_but(names.size(), left_out);
  std::erase_if(positions.features, [&](std::size_t i) { return names[i] == options.weights; });
  drop_columns(names, options, positions);
  return positions;
}

}  // namespace ondine::data
