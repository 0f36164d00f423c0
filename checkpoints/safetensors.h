// Weights as .safetensors: 8 bytes of header length, a JSON header, the elements.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ondine/limits.h>
#include <ondine/tensor.h>

#include "core/file.h"

namespace ondine {

struct NamedTensor {
  std::string name;
  Tensor value;
};

struct Safetensors {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Widest elements first, so that each tensor is aligned. Error(unsupported) for a dtype that the
// format does not have, Error(mismatch) for a duplicate name or one that is not UTF-8.
void write_safetensors(const Safetensors& content, Sink& sink);
// Tensors in the order of the file. Error(corrupt) that says what and where for a file that breaks
// a rule of the format: strict JSON, no key twice, no hole, no overlap, nothing after the end.
Safetensors read_safetensors(Source& source, const Limits& limits = {});

// The same with files; a write is atomic (core/atomic_file.h).
void save_safetensors(FileSystem& files, const std::filesystem::path& path,
                      const Safetensors& content);
Safetensors load_safetensors(FileSystem& files, const std::filesystem::path& path,
                             const Limits& limits = {});

}  // namespace ondine
