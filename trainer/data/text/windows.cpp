// Files of running text for models of the next token.
#include <algorithm>

#include "core/files/file.h"
#include "core/message.h"
#include "trainer/data/split_words.h"
#include "trainer/data/text/text_columns.h"
#include "trainer/data/text/text_places.h"
#include "trainer/data/text_file.h"
#include "trainer/text/require_utf8.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

// The text files of a folder, in alphabetical order; none of anything else.
std::vector<fs::path> texts_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {};
  PosixFileSystem system;
  std::vector<std::string> names;
  require_found(system.list(folder.string(), names), "list", folder.string());
  std::sort(names.begin(), names.end());
  std::vector<fs::path> files;
  for (const std::string& name : names) {
    if (is_running_text(name) && !name.starts_with('.')) files.push_back(folder / name);
  }
  return files;
}

RunningText encoded(std::string_view text, const TextEncoding& encoding) {
  const std::vector<std::int64_t> wide = encoding.encode(text);
  const auto ids = std::make_shared<const std::vector<std::int32_t>>(wide.begin(), wide.end());
  return {ids, std::span(*ids)};
}

// Bytes stay in the file.
RunningText read_text(const fs::path& file, const DatasetOptions& options) {
  RunningText text;
  with_text(file, options.limits, [&](std::string_view view, const SharedSource& source) {
    text::require_utf8(view);
    if (options.text.encoding == TextEncoding()) {
      const auto* bytes = reinterpret_cast<const unsigned char*>(view.data());
      text = {source.owner(), std::span(bytes, view.size())};
    } else {
      text = encoded(view, options.text.encoding);
    }
  });
  return text;
}

Dataset::Part part_of(std::vector<RunningText> texts, const DatasetOptions& options) {
  Dataset::Part part;
  if (texts.empty()) return part;
  const std::int64_t length = options.text.length;
  const bool has_windows = std::any_of(texts.begin(), texts.end(), [&](const RunningText& text) {
    return text.windows(length) > 0;
  });
  if (!has_windows) {
    fail(ErrorCode::mismatch, "the text has ", size_of(texts[0].ids),
         options.text.encoding == TextEncoding() ? " bytes" : " pieces", ", a window of ", length,
         " and the one that follows need ", length + 1);
  }
  part.text = TextOptions{{}, length, options.text.encoding, {}};
  part.target = "label";
  part.opened.predicts_next = true;
  part.columns.push_back(window_column("text", texts, length, 0));
  part.columns.push_back(window_column("label", std::move(texts), length, 1));
  return part;
}

}  // namespace

bool are_texts(std::span<const fs::path> places) {
  if (places.size() == 1 && !texts_in(places[0]).empty()) return true;
  return !places.empty() && std::all_of(places.begin(), places.end(), is_running_text);
}

Parts open_texts(std::span<const fs::path> places, const DatasetOptions& options) {
  if (options.text.length < 1) {
    fail(ErrorCode::mismatch,
         "text is cut into windows, whose length neither the model nor --text-length says");
  }
  std::vector<fs::path> files = texts_in(places[0]);
  if (files.empty()) files.assign(places.begin(), places.end());
  const SplitFiles split = split_files(files);
  const auto read = [&](const std::vector<fs::path>& part) {
    std::vector<RunningText> texts;
    for (const fs::path& file : part) texts.push_back(read_text(file, options));
    return part_of(std::move(texts), options);
  };
  Parts parts{read(split.train), read(split.validation)};
  add_note(parts, split.note);
  return parts;
}

}  // namespace ondine::data
