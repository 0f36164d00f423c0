// The .safetensors format: 8 bytes of header length, a JSON header, the elements.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <ondine/limits.h>
#include <ondine/tensor.h>

#include "checkpoints/safetensors_header.h"
#include "core/files/file.h"

namespace ondine {

struct NamedTensor {
  std::string name;
  Tensor value;
};

struct Safetensors {
  std::vector<NamedTensor> tensors;
  std::map<std::string, std::string> metadata;
};

// Stores the widest elements first, so that each tensor is aligned. Throws Error(unsupported) for a
// dtype that the format lacks, Error(mismatch) for a name that is a duplicate or not UTF-8.
void write_safetensors(const Safetensors& content, Sink& sink);
// The tensors in the order of the file. Throws Error(corrupt), naming what and where, for a file
// that violates the format: strict JSON, no duplicate keys, no gaps, no overlap, no trailing bytes.
Safetensors read_safetensors(Source& source, const Limits& limits = {});

// Where the tensors lie: the header with its entries in the order of the file, whose offsets begin
// at the source's position. The errors of read_safetensors, but for those of elements.
SafetensorsHeader read_safetensors_layout(Source& source, const Limits& limits = {});

// Files are written atomically (core/files/atomic_file.h); otherwise these act like
// write_safetensors and read_safetensors.
void save_safetensors(FileSystem& files, const std::filesystem::path& path,
                      const Safetensors& content);
Safetensors load_safetensors(FileSystem& files, const std::filesystem::path& path,
                             const Limits& limits = {});

}  // namespace ondine
