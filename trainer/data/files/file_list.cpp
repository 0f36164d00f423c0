// Lists of files and targets in .csv and .tsv files.
#include <algorithm>

#include "core/message.h"
#include "trainer/data/files/file_places.h"
#include "trainer/data/files/file_rows.h"
#include "trainer/data/split_words.h"
#include "trainer/data/table/table.h"
#include "trainer/data/table/table_columns.h"
#include "trainer/data/table/targets.h"
#include "trainer/data/text_file.h"
#include "trainer/data/weights.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

// The column of a list's first row that names a file of that kind.
std::optional<std::size_t> path_column(const FileKind& kind, std::span<const std::string> row) {
  const auto path = std::find_if(row.begin(), row.end(),
                                 [&](const std::string& field) { return kind.has(field); });
  if (path == row.end()) return {};
  return static_cast<std::size_t>(path - row.begin());
}

struct List {
  FileIndex files;
  Targets targets;
  Weights weights;
};

class ListReader {
 public:
  ListReader(const FileKind& kind, const DatasetOptions& options, const fs::path& file, List& list)
      : kind_(&kind), options_(&options), list_(&list) {
    const fs::path folder = file.parent_path();
    list.files.add_folder(folder.empty() ? "." : folder.string());
    list.targets.begin(file.string());
  }

  void take(std::span<const std::string> fields, std::uint64_t line) {
    if (names_.empty()) {
      names_.assign(fields.begin(), fields.end());
      return;
    }
    if (fields.size() != names_.size()) {
      fail(ErrorCode::corrupt, "line ", line, " has ", fields.size(), " fields, the header ",
           names_.size());
    }
    if (!is_open_) choose_columns(fields, line);
    if (!kind_->has(fields[path_])) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(names_[path_]), ": ",
           quoted(fields[path_]), " is no ", kind_->noun, " file");
    }
    require_inside(fields[path_], line);
    list_->files.add(fields[path_]);
    if (weights_) list_->weights.add(fields[*weights_], line);
    if (!target_) return;
    const std::string& target = fields[*target_];
    if (is_missing(target)) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(names_[*target_]),
           ": the target is missing");
    }
    list_->targets.add(target, line);
  }

 private:
  void require_inside(const fs::path& path, std::uint64_t line) const {
    const bool is_inside =
        !path.has_root_path() && std::find(path.begin(), path.end(), "..") == path.end();
    if (is_inside || options_->outside_files) return;
    fail(ErrorCode::mismatch, "line ", line, ": ", quoted(path.string()),
         " may lie outside the list's folder; --outside-files reads such files");
  }

  void choose_columns(std::span<const std::string> fields, std::uint64_t line) {
    const auto path = path_column(*kind_, fields);
    if (!path) fail(ErrorCode::corrupt, "line ", line, " names no ", kind_->noun, " file");
    path_ = *path;
    is_open_ = true;
    target_ = choose_target(names_, *options_, path_);
    weights_ = choose_weights(names_, *options_, target_, path_);
    if (weights_) list_->weights.column = names_[*weights_];
    if (target_) {
      list_->targets.column = names_[*target_];
    } else if (options_->use != DataUse::inference) {
      fail(ErrorCode::mismatch, "a list of ", kind_->nouns, " needs a column of targets beside ",
           quoted(names_[path_]));
    }
  }

  const FileKind* kind_;
  const DatasetOptions* options_;
  List* list_;
  std::vector<std::string> names_;
  std::size_t path_ = 0;
  std::optional<std::size_t> target_;
  std::optional<std::size_t> weights_;
  bool is_open_ = false;  // the first row was read
};

void read_list(const FileKind& kind, const fs::path& file, const DatasetOptions& options,
               List& list) {
  ListReader reader(kind, options, file, list);
  read_rows(file, options.limits,
            [&](auto fields, std::uint64_t line) { reader.take(fields, line); });
}

Dataset::Part part_of(const FileKind& kind, List list, const TargetReader& reader,
                      const DatasetOptions& options) {
  if (list.files.size() == 0) return {};
  Tensor labels;
  if (options.use != DataUse::inference) labels = reader.read(list.targets);
  Dataset::Part part = file_part(kind, std::move(list.files), list.targets.column,
                                 std::move(labels), reader.classes(), options);
  add_column(part, list.weights);
  return part;
}

}  // namespace

bool are_file_lists(const FileKind& kind, std::span<const TableStart> starts) {
  return !starts.empty() && std::all_of(starts.begin(), starts.end(), [&](const auto& start) {
    return path_column(kind, start.row).has_value();
  });
}

Parts open_file_lists(const FileKind& kind, std::span<const fs::path> files,
                      const DatasetOptions& options) {
  const SplitFiles split = split_files(files);
  List train;
  List validation;
  for (const fs::path& file : split.train) read_list(kind, file, options, train);
  for (const fs::path& file : split.validation) read_list(kind, file, options, validation);
  const List& first = train.files.size() == 0 ? validation : train;
  const TargetReader reader(first.targets, options.classes);
  Parts parts;
  parts.train = part_of(kind, std::move(train), reader, options);
  parts.validation =
      part_of(kind, std::move(validation), reader, options_like(parts.train, options));
  add_note(parts, split.note);
  add_note(parts, reader.note());
  return parts;
}

}  // namespace ondine::data
