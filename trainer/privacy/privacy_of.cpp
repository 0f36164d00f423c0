#include <ondine/metadata.h>
#include <ondine/model.h>
#include <ondine/privacy.h>

#include "core/message.h"
#include "graph/record/privacy_text.h"
#include "graph/record/training_entries.h"

namespace ondine {

std::optional<Privacy> privacy_of(const Model& model) {
  const std::string text = metadata_of(model, graph::entry::privacy);
  if (text.empty()) return {};
  const std::optional<Privacy> found = graph::read_privacy(text);
  if (!found) {
    fail(ErrorCode::mismatch, "the model's metadata ", graph::entry::privacy,
         " must be the bound, the noise and the batch size of training with privacy, found ",
         quoted(text));
  }
  return found;
}

}  // namespace ondine
