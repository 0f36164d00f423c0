#include <algorithm>

#include <ondine/data_record.h>
#include <ondine/text.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/text/text_metadata.h"

namespace ondine {
namespace {

std::int64_t length_of_input(const Model& model) {
  std::int64_t length = 0;
  for (const PortInfo& input : model.inputs()) {
    if (input.has_default || !is_integer(input.dtype)) continue;
    if (length != 0 || !input.dims || input.dims->size() != 2) return 0;
    length = std::max<std::int64_t>(0, (*input.dims)[1]);
  }
  return length;
}

}  // namespace

namespace text {

TextEncoding encoding_of(const DataRecord::Text& record) {
  if (record.encoding.empty() || record.encoding == TextEncoding().name()) return {};
  const bool is_json = record.encoding == "tokenizer.json";
  if (!is_json && record.encoding != "sentencepiece") {
    fail(ErrorCode::unsupported, "the model's texts are encoded as ", quoted(record.encoding),
         ", which is unknown; known are 'bytes', 'sentencepiece' and 'tokenizer.json'");
  }
  const auto file = std::as_bytes(std::span(record.pieces));
  return with_context(
      [&] {
        return is_json ? TextEncoding::tokenizer_json(file) : TextEncoding::sentencepiece(file);
      },
      [] { return std::string("the model's metadata (text.pieces)"); });
}

}  // namespace text

TextOptions text_options(const Model& model) {
  return guard_memory("read the metadata", [&] {
    const DataRecord::Text record = data_record(model).text;
    TextOptions options;
    options.encoding = text::encoding_of(record);
    options.column = record.column;
    options.length = record.length > 0 ? record.length : length_of_input(model);
    return options;
  });
}

}  // namespace ondine
