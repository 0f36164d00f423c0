// Sentence embeddings: what a folder of sentence-transformers does with the states of its encoder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "trainer/hugging_face/network.h"

namespace ondine::hugging_face {

enum class Pooling : std::uint8_t { first, mean, mean_by_root, maximum };

struct SentenceModules {
  Pooling pooling = Pooling::mean;
  std::int64_t width = 0;  // of the states; 0 if the folder does not tell
  bool normalizes = false;
};

// Reads modules.json; nothing if the folder has none. Error(unsupported) naming a module or a way
// of pooling that is not known, Error(mismatch) if the modules are in another order than
// Transformer, Pooling and perhaps Normalize.
std::optional<SentenceModules> read_sentence_modules(const std::filesystem::path& folder);

// The embeddings [batch, width] of states [batch, sequence, width]; `real` [batch, sequence] tells
// tokens from padding.
std::string pool_sentences(Network& network, const SentenceModules& modules,
                           const std::string& states, const std::string& real);

}  // namespace ondine::hugging_face
