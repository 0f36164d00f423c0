// External tensor data: files beside the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ondine/external_data.h>
#include <ondine/limits.h>

#include "graph/ir/document.h"
#include "proto/mapped_file.h"

namespace ondine {

struct ExternalReference {
  std::string location;
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> length;    // absent: up to the end of the file
  std::string checksum;                   // SHA-1 of the whole file in lower-case; may be empty
  std::vector<std::string> unknown = {};  // keys that the standard does not know
};

// Parses the standard's keys. Throws Error(invalid_model) for duplicate keys and for numbers that
// are not plain decimal digits.
ExternalReference parse_reference(const graph::Properties& entries);

// The external files of a model. Each is opened, verified and mapped once.
class ExternalData {
 public:
  struct View {
    std::span<const std::byte> bytes;
    std::shared_ptr<void> owner;
    const MappedFile* file = nullptr;  // of which they are a part; the owner keeps it
  };

  ExternalData(std::filesystem::path folder, const Limits& limits)
      : folder_(std::move(folder)), limits_(limits) {}
  // For a model in memory: `reader` supplies the data; without it every view throws
  // Error(invalid_model).
  ExternalData(ExternalDataReader reader, const Limits& limits)
      : reader_(std::move(reader)), limits_(limits) {}

  // Mappings of the files that were opened.
  std::vector<std::shared_ptr<const MappedFile>> mappings() const;

  // The bytes of the reference. Throws Error(invalid_model) unless it denotes exactly `size` bytes.
  View view(const ExternalReference& reference, std::uint64_t size);

 private:
  struct File {
    std::shared_ptr<MappedFile> mapping;
    std::string checksum;  // empty until computed
  };
  File& file(const std::string& location);
  View read(const ExternalReference& reference, std::uint64_t size);

  ExternalDataReader reader_;
  std::optional<std::filesystem::path> folder_;
  const Limits& limits_;
  std::map<std::string, File> files_;
};

}  // namespace ondine
