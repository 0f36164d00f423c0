// Folders of Hugging Face (config.json and .safetensors) as models of the standard.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>

namespace ondine {

struct ImportHuggingFaceOptions {
  // Decoders take and give the keys and values of earlier tokens, with an attention mask and
  // positions, as `generate` uses them. Error(mismatch) for models that are none.
  bool cache = false;
  // Encoders take ids alone: tokens other than padding are seen, and all have the first type.
  // Error(mismatch) for decoders.
  bool ids_only = false;
  // An encoder of sentences reads two texts for each row and gives an embedding of each, as losses
  // of pairs compare them. Error(mismatch) for models without "sentence_embedding".
  bool pairs = false;
  // Tensors of at least this many bytes go to one file beside the output. Absent: those of 64 KiB
  // and more, where the weights have 1 GiB or more, else none.
  std::optional<std::uint64_t> external_data_from = {};
};

struct ImportHuggingFaceReport {
  std::string architecture;  // "LlamaForCausalLM"
  std::uint64_t parameters = 0;
  std::uint64_t weight_bytes = 0;  // as they are written
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
  bool has_tokenizer = false;
  bool has_chat_template = false;
  std::vector<std::string> notes;  // what was left out or is assumed, a line each
  // Options of OptionGroup::generate by which the folder's texts are written.
  std::vector<std::pair<std::string, std::string>> generate = {};
};

// Reads config.json, model.safetensors or the files that model.safetensors.index.json lists,
// tokenizer.json and tokenizer_config.json. docs/hugging-face.md lists the architectures and what
// is written: operators of ai.onnx 23, weights in float32 under the names of PyTorch's state_dict,
// those of linear layers as [in, out]; the tokenizer and the template of conversations in the data
// record. Dropout is not written.
// A folder of onnxruntime-genai, which has genai_config.json and no weights by themselves, is the
// model that it names, with the sizes of its caches, tokenizer and template; it has caches as it
// is. Error(not_found) for a missing file; Error(corrupt) for a damaged one; Error(unsupported)
// naming the architecture, member of the config, or type of a tensor that is not known;
// Error(mismatch) naming a tensor that is missing, left over or of another shape; Error(limit) for
// a config or weights beyond `limits`.
ONDINE_API Model import_hugging_face(const std::filesystem::path& folder,
                                     const ImportHuggingFaceOptions& options = {},
                                     const LoadOptions& load = {},
                                     ImportHuggingFaceReport* report = nullptr);

// From files to file; `output` is replaced in one step. Takes the memory of the largest weights,
// not that of all, where they are written to a file beside the output.
ONDINE_API ImportHuggingFaceReport import_hugging_face(const std::filesystem::path& folder,
                                                       const std::filesystem::path& output,
                                                       const ImportHuggingFaceOptions& options,
                                                       const Limits& limits = {});

}  // namespace ondine
