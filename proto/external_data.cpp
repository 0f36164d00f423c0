#include "proto/external_data.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "core/message.h"
#include "core/sha1.h"

namespace ondine {
namespace {

std::uint64_t parse_number(const std::string& key, const std::string& text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  const bool digits = text.find_first_not_of("0123456789") == std::string::npos;
  if (text.empty() || !digits || stop != end || error != std::errc{}) {
    fail(ErrorCode::invalid_model, "external data has ", key, " ", quoted(text),
         ", which is not a decimal number of 64 bits");
  }
  return value;
}

std::string parse_checksum(std::string text) {
  for (char& c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  if (text.size() != 40 || text.find_first_not_of("0123456789abcdef") != std::string::npos) {
    fail(ErrorCode::invalid_model, "external data has checksum ", quoted(text),
         ", which is not the 40 digits of a SHA-1");
  }
  return text;
}

}  // namespace

ExternalReference parse_reference(const graph::Properties& entries) {
  ExternalReference out;
  std::set<std::string> seen;
  for (const auto& [key, value] : entries) {
    if (!seen.insert(key).second) {
      fail(ErrorCode::invalid_model, "external data has the key ", quoted(key), " twice");
    }
    if (key == "location") {
      out.location = value;
    } else if (key == "offset") {
      out.offset = parse_number(key, value);
    } else if (key == "length") {
      out.length = parse_number(key, value);
    } else if (key == "checksum") {
      out.checksum = parse_checksum(value);
    } else {
      out.unknown.push_back(key);
    }
  }
  if (!seen.contains("location")) {
    fail(ErrorCode::invalid_model, "external data has no location");
  }
  return out;
}

// Each watched file takes a descriptor and is looked at before every call.
constexpr std::size_t max_watched = 64;

ExternalData::File& ExternalData::file(const std::string& location) {
  const auto found = files_.find(location);
  if (found != files_.end()) return found->second;
  if (files_.size() >= limits_.external_files) {
    fail(ErrorCode::limit, "more than ", limits_.external_files, " files of external data");
  }
  const Descriptor descriptor = open_below(*folder_, location, limits_);
  const MapOptions options{.watched = files_.size() < max_watched};
  File file{std::make_shared<MappedFile>(descriptor, location, options), {}};
  return files_.emplace(location, std::move(file)).first->second;
}

std::vector<std::shared_ptr<const MappedFile>> ExternalData::mappings() const {
  std::vector<std::shared_ptr<const MappedFile>> all;
  for (const auto& [location, file] : files_) all.push_back(file.mapping);
  return all;
}

ExternalData::View ExternalData::read(const ExternalReference& reference, std::uint64_t size) {
  auto bytes = std::make_shared<std::vector<std::byte>>(
      reader_({reference.location, reference.offset, size}));
  if (bytes->size() != size) {
    fail(ErrorCode::mismatch, "the reader of external data gave ", bytes->size(), " bytes of ",
         quoted(reference.location), " at offset ", reference.offset, ", needed are ", size);
  }
  return {*bytes, bytes};
}

ExternalData::View ExternalData::view(const ExternalReference& reference, std::uint64_t size) {
  if (!folder_ && !reader_) {
    fail(ErrorCode::invalid_model, "its data is in the file ", quoted(reference.location),
         ", but a model loaded from bytes has no folder; set LoadOptions::external_data");
  }
  if (reference.length && *reference.length != size) {
    fail(ErrorCode::invalid_model, "external data has length ", *reference.length, ", needed are ",
         size, " bytes");
  }
  if (!folder_) return read(reference, size);
  File& source = file(reference.location);
  const std::span<const std::byte> bytes = source.mapping->bytes();
  const bool inside = reference.offset <= bytes.size() && size <= bytes.size() - reference.offset;
  if (!inside) {
    fail(ErrorCode::invalid_model, quoted(reference.location), " has ", bytes.size(),
         " bytes, which do not hold ", size, " bytes at offset ", reference.offset);
  }
  if (!reference.checksum.empty()) {
    if (bytes.size() > limits_.weight_bytes) {
      fail(ErrorCode::limit, quoted(reference.location), " has ", bytes.size(),
           " bytes, too many for a checksum");
    }
    if (source.checksum.empty()) {
      Sha1 sha1;
      sha1.update(bytes);
      source.checksum = sha1.finish();
    }
    if (source.checksum != reference.checksum) {
      fail(ErrorCode::invalid_model, quoted(reference.location), " has the SHA-1 checksum ",
           source.checksum, ", the model says ", reference.checksum);
    }
  }
  return {bytes.subspan(static_cast<std::size_t>(reference.offset), static_cast<std::size_t>(size)),
          source.mapping, source.mapping.get()};
}

}  // namespace ondine
