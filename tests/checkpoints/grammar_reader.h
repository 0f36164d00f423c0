// A reader of checkpoints that follows docs/checkpoints.md and shares nothing with the library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ondine::test {

struct GrammarTensor {
  std::string name;
  std::string role;
  std::uint64_t dtype = 0;
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = 0;
  std::uint64_t crc = 0;
  std::string elements;
};

struct GrammarProperty {
  std::string name;
  std::uint64_t kind = 0;
  std::int64_t integer = 0;
  std::uint64_t real = 0;
  std::string text;
};

struct GrammarFile {
  std::uint64_t version = 0;
  std::string fingerprint;
  std::string library_version;
  std::string producer;
  std::string name;
  std::string domain;
  std::int64_t model_version = 0;
  std::uint64_t random_seed = 0;
  std::uint64_t random_step = 0;
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  std::vector<std::uint64_t> algorithms;
  std::uint64_t cursor[3] = {};
  std::vector<GrammarProperty> properties;
  std::vector<GrammarTensor> tensors;
};

// Throws std::runtime_error that says which rule of the grammar is broken.
GrammarFile read_by_grammar(std::span<const std::byte> bytes);
// The bytes that the grammar gives for the content.
std::string write_by_grammar(const GrammarFile& file);

}  // namespace ondine::test
