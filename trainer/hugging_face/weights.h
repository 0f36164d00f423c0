// The tensors of a folder's .safetensors files, by the names of PyTorch's state_dict.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/limits.h>
#include <ondine/tensor.h>

#include "checkpoints/safetensors_header.h"
#include "proto/mapped_file.h"

namespace ondine::hugging_face {

// How a tensor becomes a weight.
enum class Form : std::uint8_t {
  stored,
  transposed,  // a matrix
};

class Weights {
 public:
  // Opens model.safetensors or the files of model.safetensors.index.json. Nothing of the elements
  // is read.
  Weights(const std::filesystem::path& folder, const Limits& limits);

  // Says that the architecture's names begin with `prefix` where its files may leave that away, or
  // the other way round, as files of a network without its head or with one do.
  void set_prefix(const std::string& prefix);
  void set_added_prefix(const std::string& prefix);

  bool has(std::string_view name) const { return find(name) != nullptr; }
  // The tensor in float32, which must have this shape in the file. Large ones are converted when
  // they are read.
  Tensor take(const std::string& name, const Shape& shape, Form form);
  // Error(mismatch) naming tensors that were not taken and that `is_known(name)` does not excuse.
  void require_taken(const std::function<bool(std::string_view name)>& is_known) const;

  std::uint64_t parameters() const noexcept { return parameters_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  const std::vector<std::shared_ptr<const MappedFile>>& files() const noexcept { return files_; }

 private:
  struct Entry {
    SafetensorsEntry stored;
    std::shared_ptr<const MappedFile> file;
    std::span<const std::byte> bytes;
    bool is_taken = false;
  };

  void open(const std::filesystem::path& file);
  void open_listed(const std::filesystem::path& folder, const std::filesystem::path& index);
  const Entry* find(std::string_view name) const;
  Entry& require(const std::string& name);
  Entry& require_elements(const std::string& name, const Shape& shape);
  // Counts the entry, within the limits.
  void charge(Entry& entry, const std::string& name, std::uint64_t elements);

  Limits limits_;
  std::map<std::string, Entry, std::less<>> entries_;
  std::vector<std::shared_ptr<const MappedFile>> files_;
  std::string removed_prefix_;
  std::string added_prefix_;
  std::uint64_t stored_bytes_ = 0;
  std::uint64_t parameters_ = 0;
  std::uint64_t bytes_ = 0;
};

}  // namespace ondine::hugging_face
