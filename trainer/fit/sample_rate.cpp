#include "trainer/fit/sample_rate.h"

#include <charconv>

#include <ondine/metadata.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/model_impl.h"

namespace ondine {
namespace {

constexpr const char* key = "ondine.sample_rate";

}  // namespace

std::int64_t sample_rate(const Model& model) {
  return guard_memory("read the metadata", [&] {
    std::int64_t rate = 0;
    const std::string text = metadata_of(model, key);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
    const bool is_rate = error == std::errc() && end == text.data() + text.size() && rate >= 0;
    return is_rate ? rate : 0;
  });
}

namespace fit {

void remember_rate(Model& model, const Dataset& data) {
  const std::int64_t rate = data.sample_rate();
  if (rate == 0) return;
  const std::int64_t known = sample_rate(model);
  if (known == 0) return ModelAccess::set_metadata(model, key, std::to_string(rate));
  if (known == rate) return;
  fail(ErrorCode::mismatch, "the recordings are taken at ", rate,
       " samples a second, the model takes ", known);
}

}  // namespace fit
}  // namespace ondine
