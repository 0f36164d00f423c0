// Files of running text for models of the next token.
#include <algorithm>

#include "core/files/file.h"
#include "core/message.h"
#include "trainer/data/open_data.h"
#include "trainer/data/split_words.h"
#include "trainer/data/text/text_columns.h"
#include "trainer/data/text/text_places.h"
#include "trainer/text/require_utf8.h"

namespace ondine::data {
namespace {

namespace fs = std::filesystem;

bool is_text(const fs::path& file) { return file.extension() == ".txt"; }

// The text files of a folder, in alphabetical order; none of anything else.
std::vector<fs::path> texts_in(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) return {};
  PosixFileSystem system;
  std::vector<std::string> names;
  require_io(system.list(folder.string(), names), "list", folder.string());
  std::sort(names.begin(), names.end());
  std::vector<fs::path> files;
  for (const std::string& name : names) {
    if (is_text(name) && !name.starts_with('.')) files.push_back(folder / name);
  }
  return files;
}

MappedText map_text(const fs::path& file, const DatasetOptions& options) {
  MappedText text;
  with_data(file, options.limits, [&](SharedSource& source) {
    constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";
    text.owner = source.owner();
    text.bytes = source.rest();
    std::string_view view(reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size());
    text::require_utf8(view);
    if (view.starts_with(byte_order_mark)) {
      text.bytes = text.bytes.subspan(byte_order_mark.size());
    }
  });
  return text;
}

Dataset::Part part_of(std::vector<MappedText> texts, const DatasetOptions& options) {
  Dataset::Part part;
  if (texts.empty()) return part;
  const std::int64_t length = options.text.length;
  const bool has_windows = std::any_of(
      texts.begin(), texts.end(), [&](const MappedText& text) { return text.windows(length) > 0; });
  if (!has_windows) {
    fail(ErrorCode::mismatch, "the text has ", texts[0].bytes.size(), " bytes, a window of ",
         length, " and the one that follows need ", length + 1);
  }
  part.text = TextOptions{{}, length};
  part.columns.push_back(window_column("text", texts, length, 0));
  part.columns.push_back(window_column("label", std::move(texts), length, 1));
  return part;
}

}  // namespace

bool are_texts(std::span<const fs::path> places) {
  if (places.size() == 1 && !texts_in(places[0]).empty()) return true;
  return !places.empty() && std::all_of(places.begin(), places.end(), is_text);
}

Parts open_texts(std::span<const fs::path> places, const DatasetOptions& options) {
  if (options.text.length < 1) {
    fail(ErrorCode::mismatch,
         "text is cut into windows, whose length neither the model nor --text-length says");
  }
  std::vector<fs::path> files = texts_in(places[0]);
  if (files.empty()) files.assign(places.begin(), places.end());
  std::vector<MappedText> train;
  std::vector<MappedText> validation;
  for (const fs::path& file : files) {
    std::string stem = file.stem().string();
    auto& part = cut_split(stem) == Split::validation ? validation : train;
    part.push_back(map_text(file, options));
  }
  return {part_of(std::move(train), options), part_of(std::move(validation), options)};
}

}  // namespace ondine::data
