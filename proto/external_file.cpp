#include "proto/external_file.h"

#include <algorithm>
#include <array>

#include "core/files/atomic_file.h"
#include "core/sha1.h"
#include "onnx_schema.pb.h"

namespace ondine {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t hash_digits = 16;
constexpr std::string_view suffix = ".data";

// Calls write(bytes) for consecutive chunks of the file, padding included, and placed(i, offset,
// length) for each tensor.
template <class Write, class Placed>
void lay_out(const std::vector<Exporter::External>& tensors, Write write, Placed placed) {
  constexpr std::array<std::byte, page> zeros{};
  std::uint64_t offset = 0;
  std::vector<std::byte> storage;
  for (const auto& tensor : tensors) {
    const auto gap = static_cast<std::size_t>((page - offset % page) % page);
    write(std::span(zeros).first(gap));
    offset += gap;
    const FileForm form(tensor.value, storage);
    const auto bytes = form.bytes();
    write(bytes);
    placed(tensor, offset, bytes.size());
    offset += bytes.size();
  }
}

void add_entry(onnx::TensorProto& tensor, const char* key, const std::string& value) {
  auto& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

// NAME.<16 digits>.data.ondine-tmp-...: a temporary file of a data file.
bool is_temporary_data(std::string_view model, std::string_view name) {
  if (!name.starts_with(model)) return false;
  name.remove_prefix(model.size());
  if (name.size() < 1 + hash_digits || name[0] != '.') return false;
  const auto hash = name.substr(1, hash_digits);
  if (hash.find_first_not_of("0123456789abcdef") != std::string_view::npos) return false;
  return name.substr(1 + hash_digits).starts_with(cat(suffix, ".ondine-tmp-"));
}

}  // namespace

void write_external_file(FileSystem& files, const std::filesystem::path& model,
                         Exporter& exporter) {
  if (exporter.external.empty()) return;
  Sha1 sha1;
  lay_out(
      exporter.external, [&](std::span<const std::byte> bytes) { sha1.update(bytes); },
      [](const auto&...) {});
  const std::string name =
      cat(model.filename().string(), ".", sha1.finish().substr(0, hash_digits), suffix);
  const auto place = [&](const Exporter::External& tensor, std::uint64_t offset,
                         std::uint64_t length) {
    tensor.message->clear_external_data();
    add_entry(*tensor.message, "location", name);
    add_entry(*tensor.message, "offset", std::to_string(offset));
    add_entry(*tensor.message, "length", std::to_string(length));
  };
  const std::string path = (model.parent_path() / name).string();
  atomic_write(files, path, [&](Sink& sink) {
    lay_out(
        exporter.external, [&](std::span<const std::byte> bytes) { sink.write(bytes); }, place);
  });
}

void remove_temporary_data(FileSystem& files, const std::filesystem::path& model) {
  const std::string folder = model.has_parent_path() ? model.parent_path().string() : ".";
  std::vector<std::string> names;
  if (files.list(folder, names).error != 0) return;
  for (const auto& name : names) {
    if (!is_temporary_data(model.filename().string(), name)) continue;
    const std::string path = folder + "/" + name;
    std::string held_name = path;
    const IoResult locked = files.lock(path);  // a living writer holds the lock of its file
    if (locked.error != 0) continue;
    const File held(files, locked.value, std::move(held_name));
    files.remove(path);
  }
}

}  // namespace ondine
