#include "trainer/text/text_metadata.h"

#include <algorithm>
#include <charconv>

#include <ondine/metadata.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/base64.h"
#include "trainer/model_impl.h"

namespace ondine {
namespace {

constexpr const char* encoding_key = "ondine.text_encoding";
constexpr const char* pieces_key = "ondine.text_pieces";  // base64 of a SentencePiece model
constexpr const char* column_key = "ondine.text_column";
constexpr const char* length_key = "ondine.text_length";

std::int64_t length_of_input(const Model& model) {
  std::int64_t length = 0;
  for (const PortInfo& input : model.inputs()) {
    if (input.has_default || !is_integer(input.dtype)) continue;
    if (length != 0 || !input.dims || input.dims->size() != 2) return 0;
    length = std::max<std::int64_t>(0, (*input.dims)[1]);
  }
  return length;
}

TextEncoding encoding_of(const Model& model) {
  const std::string name = metadata_of(model, encoding_key);
  if (name.empty() || name == TextEncoding().name()) return {};
  if (name != "sentencepiece") {
    fail(ErrorCode::unsupported, "the model's texts are encoded as ", quoted(name),
         ", which is unknown; known are 'bytes' and 'sentencepiece'");
  }
  return with_context(
      [&] {
        const std::string file = trainer::from_base64(metadata_of(model, pieces_key));
        return TextEncoding::sentencepiece(std::as_bytes(std::span(file)));
      },
      [] { return cat("metadata '", pieces_key, "'"); });
}

}  // namespace

TextOptions text_options(const Model& model) {
  return guard_memory("read the metadata", [&] {
    TextOptions options;
    options.encoding = encoding_of(model);
    options.column = metadata_of(model, column_key);
    const std::string text = metadata_of(model, length_key);
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), options.length);
    if (error != std::errc() || end != text.data() + text.size() || options.length < 1) {
      options.length = length_of_input(model);
    }
    return options;
  });
}

namespace text {

void remember_text(Model& model, const Dataset& data) {
  if (!data.text()) return;
  const TextEncoding& encoding = data.text()->encoding;
  const TextEncoding known = encoding_of(model);
  if (!metadata_of(model, encoding_key).empty()) {
    if (known == encoding) return;
    fail(ErrorCode::mismatch, "the texts of the data are encoded as ", quoted(encoding.name()),
         ", those of the model as ", quoted(known.name()),
         known.name() == encoding.name() ? " with other pieces" : "");
  }
  ModelAccess::set_metadata(model, encoding_key, encoding.name());
  if (!encoding.model().empty()) {
    const std::span<const std::byte> file = encoding.model();
    const std::string_view bytes(reinterpret_cast<const char*>(file.data()), file.size());
    ModelAccess::set_metadata(model, pieces_key, trainer::to_base64(bytes));
  }
  if (!data.text()->column.empty()) {
    ModelAccess::set_metadata(model, column_key, data.text()->column);
  }
  if (data.text()->length > 0) {
    ModelAccess::set_metadata(model, length_key, std::to_string(data.text()->length));
  }
}

}  // namespace text
}  // namespace ondine
