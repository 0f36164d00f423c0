// Facts about data: kinds of rows and targets.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/networks.h>

#include "trainer/finetune/moments.h"

namespace ondine::tune {

enum class RowKind : std::uint8_t { images, recordings, texts, running_text, numbers };

struct TargetFacts {
  std::string column;
  std::vector<std::int64_t> row;  // dims without the rows; -1: as the images
  TargetKind kind = TargetKind::classes;
  std::string reason;                        // why this kind; empty where it was given
  std::int64_t outputs = 1;                  // classes, or numbers of a row
  std::vector<std::string> names = {};       // of the classes, where the data have them
  std::optional<std::int64_t> ignored = {};  // a label that does not count
  Scales scales = {};                        // of numbers, for each of a row

  // A class or number for each position of an image.
  bool is_dense() const { return row.size() >= 2; }
};

struct Facts {
  TargetFacts target;
  // The other column, which a new network reads; empty where there are several.
  std::string rows;
  RowKind kind = RowKind::numbers;
  std::vector<std::int64_t> row;  // dims without the rows; -1: of any size
  bool are_files = false;         // images that are decoded
  bool are_encoded = false;       // columns of a table that a plan makes numbers of
};

// Columns that `inputs` of a model take by their names are no targets. Error(mismatch) where it is
// not known which column holds the targets or what they are, naming the options that say it.
Facts look_at(const Dataset& data, const NetworkOptions& options,
              std::span<const PortInfo> inputs = {});
// Looks at the rows likewise, without reading targets: these facts hold the name of the column
// alone.
Facts look_at_rows(const Dataset& data, const NetworkOptions& options,
                   std::span<const PortInfo> inputs);

// "3 classes (a, b, c)", "a number", "4 labels of 0 and 1"
std::string describe(const TargetFacts& target);

}  // namespace ondine::tune
