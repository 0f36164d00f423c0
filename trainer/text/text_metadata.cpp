#include "trainer/text/text_metadata.h"

#include <algorithm>
#include <charconv>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/model_impl.h"
#include "trainer/model_property.h"

namespace ondine {
namespace {

constexpr const char* encoding_key = "ondine.text_encoding";
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

void require_known(const std::string& encoding) {
  if (encoding.empty() || encoding == TextEncoding().name()) return;
  fail(ErrorCode::unsupported, "the model's texts are encoded as ", quoted(encoding),
       ", which is unknown; known is ", quoted(TextEncoding().name()));
}

}  // namespace

TextOptions text_options(const Model& model) {
  return guard_memory("read the metadata", [&] {
    require_known(trainer::property(model, encoding_key));
    TextOptions options;
    options.column = trainer::property(model, column_key);
    const std::string text = trainer::property(model, length_key);
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
  const std::string known = trainer::property(model, encoding_key);
  require_known(known);
  if (!known.empty()) return;
  ModelAccess::set_metadata(model, encoding_key, TextEncoding().name());
  if (!data.text()->column.empty()) {
    ModelAccess::set_metadata(model, column_key, data.text()->column);
  }
  if (data.text()->length > 0) {
    ModelAccess::set_metadata(model, length_key, std::to_string(data.text()->length));
  }
}

}  // namespace text
}  // namespace ondine
