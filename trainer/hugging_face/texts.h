// Data record of the texts and labels that a folder describes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <ondine/data_record.h>

#include "trainer/hugging_face/config.h"

namespace ondine::hugging_face {

struct FolderTexts {
  DataRecord record;
  std::optional<std::int64_t> padding = {};  // the id, where there is a tokenizer
  std::vector<std::string> notes;
};

// The tokenizer.json, the chat template of tokenizer_config.json or chat_template.jinja, and the
// names of the labels of a classification (`classifies`). A tokenizer that cannot be read is left
// out with a note.
FolderTexts read_texts(const std::filesystem::path& folder, const Config& config, bool is_decoder,
                       bool classifies);

}  // namespace ondine::hugging_face
