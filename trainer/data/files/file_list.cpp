// Lists of files and targets in .csv and .tsv files.
#include <algorithm>
#include <fstream>

#include "core/message.h"
#include "trainer/data/csv.h"
#include "trainer/data/files/file_places.h"
#include "trainer/data/files/file_rows.h"
#include "trainer/data/open_data.h"
#include "trainer/data/split_words.h"
#include "trainer/data/table.h"
#include "trainer/data/table_columns.h"
#include "trainer/data/targets.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

char separator_of(const fs::path& file) { return file.extension() == ".tsv" ? '\t' : ','; }

// Whether the row below the header names a file of that kind.
bool is_list(const FileKind& kind, const fs::path& file) {
  std::ifstream stream(file);
  std::string header;
  std::string row;
  if (!std::getline(stream, header) || !std::getline(stream, row)) return false;
  bool found = false;
  try {
    parse_csv(row, separator_of(file), [&](std::span<const std::string> fields, std::uint64_t) {
      found = std::any_of(fields.begin(), fields.end(),
                          [&](const std::string& field) { return kind.has(field); });
    });
  } catch (const Error&) {
    return false;
  }
  return found;
}

struct List {
  FileIndex files;
  Targets targets;
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
    if (!is_open_) choose_columns(fields);
    if (!kind_->has(fields[path_])) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(names_[path_]), ": ",
           quoted(fields[path_]), " is no ", kind_->noun, " file");
    }
    list_->files.add(fields[path_]);
    if (!target_) return;
    const std::string& target = fields[*target_];
    if (is_missing(target)) {
      fail(ErrorCode::corrupt, "line ", line, ", column ", quoted(names_[*target_]),
           ": the target is missing");
    }
    list_->targets.add(target, line);
  }

 private:
  void choose_columns(std::span<const std::string> fields) {
    const auto path = std::find_if(fields.begin(), fields.end(),
                                   [&](const std::string& field) { return kind_->has(field); });
    path_ = static_cast<std::size_t>(path - fields.begin());
    if (path == fields.end()) {
      fail(ErrorCode::corrupt, "the first row names no ", kind_->noun, " file");
    }
    is_open_ = true;
    target_ = choose_target(names_, *options_, path_);
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
  bool is_open_ = false;  // the first row was read
};

void read_list(const FileKind& kind, const fs::path& file, const DatasetOptions& options,
               List& list) {
  with_data(file, options.limits, [&](Source& source) {
    std::string text(static_cast<std::size_t>(source.size()), '\0');
    source.read(std::as_writable_bytes(std::span(text.data(), text.size())));
    ListReader reader(kind, options, file, list);
    parse_csv(text, separator_of(file),
              [&](auto fields, std::uint64_t line) { reader.take(fields, line); });
  });
}

Dataset::Part part_of(const FileKind& kind, List list, const TargetReader& reader,
                      const DatasetOptions& options) {
  if (list.files.size() == 0) return {};
  Tensor labels;
  if (options.use != DataUse::inference) labels = reader.read(list.targets);
  return file_part(kind, std::move(list.files), list.targets.column, std::move(labels),
                   reader.classes(), options);
}

}  // namespace

bool are_file_lists(const FileKind& kind, std::span<const fs::path> places) {
  return are_tables(places) &&
         std::all_of(places.begin(), places.end(),
                     [&](const fs::path& place) { return is_list(kind, place); });
}

Parts open_file_lists(const FileKind& kind, std::span<const fs::path> files,
                      const DatasetOptions& options) {
  List train;
  List validation;
  for (const fs::path& file : files) {
    std::string stem = file.stem().string();
    read_list(kind, file, options, cut_split(stem) == Split::validation ? validation : train);
  }
  const List& first = train.files.size() == 0 ? validation : train;
  const TargetReader reader(first.targets, options.classes);
  Parts parts;
  parts.train = part_of(kind, std::move(train), reader, options);
  parts.validation =
      part_of(kind, std::move(validation), reader, options_like(parts.train, options));
  return parts;
}

}  // namespace ondine::data
