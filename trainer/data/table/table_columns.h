// Which columns of a table are features and which one is the target.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/dataset.h>

namespace ondine::data {

inline bool contains(std::span<const std::string> names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// Quoted, the first 20 of them.
std::string list_of(std::span<const std::string> names);

struct TablePositions {
  std::vector<std::size_t> features;   // in the order of "features"
  std::optional<std::size_t> target;   // nothing: targets are not read
  std::optional<std::size_t> weights;  // nothing: rows count alike
  std::vector<std::size_t>
      unread;  // columns that are none of them, if the options name the features
};

// Chooses columns by the names of a header, which are distinct. Error(mismatch) naming a column
// that is not there.
TablePositions choose_columns(std::span<const std::string> names, const DatasetOptions& options);

// The target: options.target, else the last column that is not `other`, which holds paths or texts,
// and holds no weights.
// Nothing where targets are not read, or none is left. Error(mismatch) where `other` is the target,
// and where no target is given and another column than the last one is called label or target.
std::optional<std::size_t> choose_target(std::span<const std::string> names,
                                         const DatasetOptions& options, std::size_t other);

// The column of options.weights; nothing where there is none that is read. Error(mismatch) where it
// is `target` or `other`, Error(not_found) where it is not there.
std::optional<std::size_t> choose_weights(std::span<const std::string> names,
                                          const DatasetOptions& options,
                                          std::optional<std::size_t> target, std::size_t other);

// Error(mismatch) naming `option` and the columns there are.
std::size_t require_column(std::span<const std::string> names, const std::string& name,
                           const char* option);

}  // namespace ondine::data
