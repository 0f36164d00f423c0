// Folders of onnxruntime-genai: a decoder as .onnx, with caches, and genai_config.json.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <ondine/data_record.h>
#include <ondine/model.h>

#include "trainer/hugging_face/config.h"
#include "trainer/model/load_checked.h"

namespace ondine::hugging_face {

inline constexpr const char* genai_file = "genai_config.json";

struct GenaiFolder {
  trainer::CheckedModel model;  // with the sizes of its caches
  Config config;                // the member "model"
  // "context_length", and "max_length" of "search".
  DataRecord::Context context = {};
  DataRecord::Context generated = {};
  // Options of the group `generate` that stand for the member "search".
  std::vector<std::pair<std::string, std::string>> generate = {};
  std::vector<std::string> notes = {};
};

// Error(unsupported) naming an input or a part of the model besides a decoder of ids that is not
// known; Error(mismatch) for a file that lacks an input or output which the config names.
GenaiFolder read_genai(const std::filesystem::path& folder, const LoadOptions& load);

}  // namespace ondine::hugging_face
