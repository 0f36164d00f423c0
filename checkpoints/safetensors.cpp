#include "checkpoints/safetensors.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "checkpoints/elements.h"
#include "core/checked.h"
#include "core/digest.h"
#include "core/files/atomic_file.h"

namespace ondine {
namespace {

using Length = std::array<std::byte, 8>;

std::vector<const NamedTensor*> widest_first(const std::vector<NamedTensor>& tensors) {
  std::vector<const NamedTensor*> order;
  for (const NamedTensor& tensor : tensors) order.push_back(&tensor);
  std::ranges::stable_sort(order, std::ranges::greater{}, [](const NamedTensor* tensor) {
    return size_of(tensor->value.dtype());
  });
  return order;
}

std::string read_header_text(Source& source, const Limits& limits) {
  Length length{};
  if (source.size() < length.size()) {
    fail(ErrorCode::corrupt, "has ", source.size(), " bytes, the length of a header takes 8");
  }
  source.read(length);
  std::uint64_t n = 0;
  for (std::size_t i = 0; i < 8; ++i) n |= std::to_integer<std::uint64_t>(length[i]) << (8 * i);
  if (n > source.size() - length.size()) {
    fail(ErrorCode::corrupt, "states a header of ", n, " bytes in a file of ", source.size());
  }
  if (n > limits.manifest_bytes) {
    fail(ErrorCode::limit, "header of ", n, " bytes, the limit is ", limits.manifest_bytes);
  }
  std::string text(size_in_memory(n, "a header"), '\0');
  source.read(std::as_writable_bytes(std::span(text)));
  return text;
}

// Requires the tensors to fill the file without gaps.
void check_offsets(const std::vector<SafetensorsEntry>& entries, std::uint64_t bytes) {
  std::uint64_t position = 0;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != position || entry.end < entry.begin || entry.end > bytes) {
      fail(ErrorCode::corrupt, "tensor ", quoted(entry.name), " has offsets ", entry.begin, " to ",
           entry.end, ", needed is a begin at ", position, " and an end within ", bytes, " bytes");
    }
    position = entry.end;
  }
  if (position != bytes) {
    fail(ErrorCode::corrupt, "has ", bytes, " bytes of elements, its tensors end at ", position);
  }
}

template <class Body>
decltype(auto) with_path(const std::filesystem::path& path, Body&& body) {
  return with_context(body, [&] { return cat("safetensors ", quoted(path.string())); });
}

}  // namespace

void write_safetensors(const Safetensors& content, Sink& sink) {
  const std::vector<const NamedTensor*> order = widest_first(content.tensors);
  SafetensorsHeader header;
  header.metadata = content.metadata;
  std::uint64_t position = 0;
  for (const NamedTensor* tensor : order) {
    const Tensor& value = tensor->value;
    if (safetensors_name(value.dtype()).empty()) {
      fail(ErrorCode::unsupported, "safetensors have no ", value.dtype(), ", the type of ",
           quoted(tensor->name));
    }
    const std::uint64_t end = position + stored_bytes(value);
    header.entries.push_back({tensor->name, value.dtype(), value.shape(), position, end});
    position = end;
  }
  const std::string text = write_safetensors_header(header);
  Length length{};
  const std::uint64_t bytes = text.size();
  for (std::size_t i = 0; i < 8; ++i) length[i] = static_cast<std::byte>(bytes >> (8 * i));
  sink.write(length);
  sink.write(bytes_of(text));
  for (const NamedTensor* tensor : order) write_elements(sink, tensor->value);
}

SafetensorsHeader read_safetensors_layout(Source& source, const Limits& limits) {
  SafetensorsHeader header = read_safetensors_header(read_header_text(source, limits));
  std::ranges::sort(header.entries, {},
                    [](const SafetensorsEntry& entry) { return std::tie(entry.begin, entry.end); });
  check_offsets(header.entries, source.size() - source.position());
  if (source.size() > limits.weight_bytes) {
    fail(ErrorCode::limit, "has ", source.size(), " bytes, the limit is ", limits.weight_bytes);
  }
  return header;
}

Safetensors read_safetensors(Source& source, const Limits& limits) {
  SafetensorsHeader header = read_safetensors_layout(source, limits);
  Safetensors result;
  result.metadata = std::move(header.metadata);
  for (const SafetensorsEntry& entry : header.entries) {
    const std::uint64_t bytes = entry.end - entry.begin;
    const auto read = [&] {
      if (bytes > limits.tensor_bytes) {
        fail(ErrorCode::limit, bytes, " bytes, the limit is ", limits.tensor_bytes);
      }
      return read_elements(source, entry.dtype, entry.shape, bytes);
    };
    result.tensors.push_back(
        {entry.name, with_context(read, [&] { return cat("tensor ", quoted(entry.name)); })});
  }
  return result;
}

void save_safetensors(FileSystem& files, const std::filesystem::path& path,
                      const Safetensors& content) {
  with_path(path, [&] {
    atomic_write(files, path.string(), [&](Sink& sink) { write_safetensors(content, sink); });
  });
}

Safetensors load_safetensors(FileSystem& files, const std::filesystem::path& path,
                             const Limits& limits) {
  return with_path(path, [&] {
    FileSource source(files, path.string());
    return read_safetensors(source, limits);
  });
}

}  // namespace ondine
