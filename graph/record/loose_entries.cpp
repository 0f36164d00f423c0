// Models of earlier versions: an entry of metadata for each fact.
#include <charconv>
#include <sstream>

#include "core/message.h"
#include "core/text/base64.h"
#include "graph/record/meaning.h"
#include "graph/record/record.h"

namespace ondine::graph {
namespace {

constexpr std::string_view prefix = "ondine.";

std::optional<std::int64_t> integer(const std::string& text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) result.push_back(line);
  return result;
}

void take_prediction(DataRecord::Prediction& prediction, std::string_view name,
                     const std::string& text) {
  if (name == "loss") prediction.loss = text;
  if (name == "prediction") prediction.value = text;
  if (name == "label") prediction.label = text;
  if (name == "ctc_blank") prediction.ctc_blank = integer(text).value_or(0);
  if (name == "class_axis_of") prediction.class_axis_of = text;
  if (name != "class_axis") return;
  const auto axis = integer(text);
  if (axis && *axis > 0) prediction.class_axis = axis;
}

// "... resize 5x6 ..." of a description; versions that wrote it had antialiasing from ai.onnx 18
// on.
std::optional<ImageSize> resize_in(const std::string& description) {
  constexpr std::string_view word = " resize ";
  const std::size_t at = description.find(word);
  if (at == std::string::npos) return {};
  std::istringstream text(description.substr(at + word.size()));
  ImageSize size;
  char between = 0;
  if (!(text >> size.height >> between >> size.width) || between != 'x') return {};
  if (size.height < 1 || size.width < 1) return {};
  return size;
}

void take_text(DataRecord::Text& record, std::string_view name, const std::string& text) {
  if (name == "text_encoding") record.encoding = text;
  if (name == "text_column") record.column = text;
  if (name == "text_length") record.length = std::max<std::int64_t>(0, integer(text).value_or(0));
  if (name != "text_pieces") return;
  record.pieces = with_context([&] { return from_base64(text); },
                               [] { return std::string("metadata 'ondine.text_pieces'"); });
}

}  // namespace

bool is_loose_entry(std::string_view key) {
  for (const char* name : {"loss", "prediction", "label", "ctc_blank", "class_axis",
                           "class_axis_of", "classes", "class_names", "sample_rate", "preprocess",
                           "text_encoding", "text_column", "text_length", "text_pieces"}) {
    if (key.starts_with(prefix) && key.substr(prefix.size()) == name) return true;
  }
  return false;
}

DataRecord read_loose_entries(const Metadata& metadata) {
  DataRecord record;
  for (const auto& [key, text] : metadata) {
    if (!is_loose_entry(key)) continue;
    const std::string_view name = std::string_view(key).substr(prefix.size());
    take_prediction(record.prediction, name, text);
    take_text(record.text, name, text);
    if (name == "class_names") record.classes = lines(text);
    if (name == "classes") {
      record.class_count =
          static_cast<std::uint64_t>(std::max<std::int64_t>(0, integer(text).value_or(0)));
    }
    if (name == "sample_rate") {
      record.audio.rate = std::max<std::int64_t>(0, integer(text).value_or(0));
    }
    if (name != "preprocess") continue;
    for (const std::string& line : lines(text)) {
      const std::size_t at = std::min(line.find(": "), line.size());
      std::string description = line.substr(std::min(at + 2, line.size()));
      const std::optional<ImageSize> size = resize_in(description);
      record.preprocessing.push_back(
          {line.substr(0, at), std::move(description), size, size.has_value()});
    }
  }
  return record;
}

}  // namespace ondine::graph
