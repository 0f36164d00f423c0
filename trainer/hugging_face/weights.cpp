#include "trainer/hugging_face/weights.h"

#include <algorithm>
#include <set>
#include <utility>

#include "checkpoints/safetensors.h"
#include "core/deferred.h"
#include "core/message.h"
#include "core/stop.h"
#include "graph/record/json_value.h"
#include "trainer/hugging_face/elements.h"
#include "trainer/hugging_face/read_text.h"

namespace ondine::hugging_face {
namespace {

constexpr const char* single = "model.safetensors";
constexpr const char* listed = "model.safetensors.index.json";
constexpr std::uint64_t header_length_bytes = 8;
// Larger weights are converted when they are first read.
constexpr std::size_t largest_at_once = std::size_t{64} << 10;

[[noreturn]] void fail_without_files(const std::filesystem::path& folder) {
  if (std::filesystem::exists(folder / "adapter_model.safetensors")) {
    fail(ErrorCode::unsupported,
         "the folder has an adapter (adapter_model.safetensors), not a model; import the folder of "
         "its base model, and give the adapter to 'export --weights'");
  }
  for (const char* name : {"pytorch_model.bin", "pytorch_model.bin.index.json"}) {
    if (!std::filesystem::exists(folder / name)) continue;
    fail(ErrorCode::unsupported, "the weights are a Python pickle (", name,
         "), which may run any code and is not read; needed is ", single);
  }
  fail(ErrorCode::not_found, "no file ", single, " or ", listed);
}

// A name in the folder itself; the list is data from outside.
void require_plain_name(const std::string& name) {
  const std::filesystem::path path(name);
  const bool is_plain = path.has_filename() && path.filename() == path && name != "." &&
                        name != ".." && name.find('\0') == std::string::npos &&
                        path.extension() == ".safetensors";
  if (is_plain) return;
  fail(ErrorCode::corrupt, "lists the file ", quoted(name),
       ", needed is the name of a .safetensors file in the folder");
}

std::string first_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i) {
    text += cat(i == 0 ? "" : ", ", quoted(names[i]));
  }
  return names.size() > most ? cat(text, " and ", names.size() - most, " more") : text;
}

}  // namespace

Weights::Weights(const std::filesystem::path& folder, const Limits& limits) : limits_(limits) {
  if (std::filesystem::exists(folder / single)) {
    open(folder / single);
  } else if (std::filesystem::exists(folder / listed)) {
    with_context([&] { open_listed(folder, folder / listed); }, [] { return std::string(listed); });
  } else {
    fail_without_files(folder);
  }
  if (entries_.empty()) fail(ErrorCode::corrupt, "the .safetensors files have no tensors");
}

void Weights::open_listed(const std::filesystem::path& folder, const std::filesystem::path& index) {
  const graph::JsonValue value = graph::parse_json(read_text(index, limits_.manifest_bytes));
  const graph::JsonValue* map = value.find("weight_map");
  if (map == nullptr || map->kind != graph::JsonValue::Kind::object || map->items.empty()) {
    fail(ErrorCode::corrupt, "has no object 'weight_map' with tensors and their files");
  }
  std::set<std::string> names;
  for (const graph::JsonValue& file : map->items) {
    if (file.kind != graph::JsonValue::Kind::text) {
      fail(ErrorCode::corrupt, "lists what is no name of a file");
    }
    require_plain_name(file.text);
    names.insert(file.text);
    if (names.size() > limits_.external_files) {
      fail(ErrorCode::limit, "lists more than ", limits_.external_files, " files");
    }
  }
  for (const std::string& name : names) open(folder / name);
  for (std::size_t i = 0; i < map->items.size(); ++i) {
    if (entries_.contains(map->names[i])) continue;
    fail(ErrorCode::mismatch, "lists the tensor ", quoted(map->names[i]), ", which ",
         quoted(map->items[i].text), " does not have");
  }
}

void Weights::open(const std::filesystem::path& path) {
  const std::string name = path.filename().string();
  const auto read = [&] {
    PosixFileSystem files;
    FileSource source(files, path.string());
    SafetensorsHeader header = read_safetensors_layout(source, limits_);
    const std::uint64_t begin = source.position();
    stored_bytes_ += source.size();
    if (stored_bytes_ > limits_.weight_bytes) {
      fail(ErrorCode::limit, "the weights have ", stored_bytes_, " bytes up to here, the limit is ",
           limits_.weight_bytes);
    }
    const auto file = std::make_shared<const MappedFile>(open_file(path), name);
    const std::uint64_t end = begin + (header.entries.empty() ? 0 : header.entries.back().end);
    if (begin < header_length_bytes || file->bytes().size() != end) {
      fail(ErrorCode::io, "was changed while it was read");
    }
    files_.push_back(file);
    for (SafetensorsEntry& one : header.entries) {
      Entry entry{std::move(one), file, {}};
      entry.bytes =
          file->bytes().subspan(begin + entry.stored.begin, entry.stored.end - entry.stored.begin);
      std::string key = entry.stored.name;
      if (!entries_.emplace(key, std::move(entry)).second) {
        fail(ErrorCode::corrupt, "has the tensor ", quoted(key), ", as an earlier file has");
      }
    }
  };
  with_context(read, [&] { return cat("safetensors ", quoted(name)); });
}

void Weights::set_prefix(const std::string& prefix) {
  const auto at = entries_.lower_bound(prefix);
  const bool is_there = at != entries_.end() && at->first.starts_with(prefix);
  removed_prefix_ = is_there ? std::string() : prefix;
}

void Weights::set_added_prefix(const std::string& prefix) {
  const auto at = entries_.lower_bound(prefix);
  const bool is_there = at != entries_.end() && at->first.starts_with(prefix);
  added_prefix_ = is_there ? prefix : std::string();
}

const Weights::Entry* Weights::find(std::string_view name) const {
  std::string in_file(name);
  if (!removed_prefix_.empty() && name.starts_with(removed_prefix_)) {
    in_file.erase(0, removed_prefix_.size());
  }
  in_file.insert(0, added_prefix_);
  const auto found = entries_.find(in_file);
  return found == entries_.end() ? nullptr : &found->second;
}

Weights::Entry& Weights::require(const std::string& name) {
  if (const Entry* entry = find(name)) return const_cast<Entry&>(*entry);
  fail(ErrorCode::mismatch, "tensor ", quoted(name), " is missing in the .safetensors files");
}

// Its elements, of which there are as many as the shape says.
Weights::Entry& Weights::require_elements(const std::string& name, const Shape& shape) {
  Entry& entry = require(name);
  const SafetensorsEntry& stored = entry.stored;
  if (!(stored.shape == shape)) {
    fail(ErrorCode::mismatch, "tensor ", quoted(name), " is ", stored.shape, ", config.json needs ",
         shape);
  }
  if (!is_readable(stored.dtype)) {
    fail(ErrorCode::unsupported, "tensor ", quoted(name), " is a ", stored.dtype,
         ", supported are float32, float16 and bfloat16");
  }
  if (entry.bytes.size() % size_of(stored.dtype) != 0 ||
      entry.bytes.size() / size_of(stored.dtype) != static_cast<std::uint64_t>(shape.size())) {
    fail(ErrorCode::corrupt, "tensor ", quoted(name), ", a ", stored.dtype, shape, ", has ",
         entry.bytes.size(), " bytes");
  }
  return entry;
}

void Weights::charge(Entry& entry, const std::string& name, std::uint64_t elements) {
  const std::uint64_t bytes = elements * sizeof(float);
  if (bytes > limits_.tensor_bytes) {
    fail(ErrorCode::limit, "tensor ", quoted(name), " takes ", bytes, " bytes, the limit is ",
         limits_.tensor_bytes);
  }
  if (!entry.is_taken) {
    parameters_ += elements;
    bytes_ += bytes;
  }
  if (bytes_ > limits_.weight_bytes) {
    fail(ErrorCode::limit, "the weights take ", bytes_, " bytes in float32, the limit is ",
         limits_.weight_bytes);
  }
  entry.is_taken = true;
}

Tensor Weights::take(const std::string& name, const Shape& shape, Form form) {
  checkpoint(1024);
  Entry& entry = require_elements(name, shape);
  const auto elements = static_cast<std::uint64_t>(shape.size());
  charge(entry, name, elements);
  const bool turns = form == Form::transposed;
  const auto write = [dtype = entry.stored.dtype, from = entry.bytes, file = entry.file, turns,
                      rows = turns ? static_cast<std::size_t>(shape[0])
                                   : 0](std::span<std::byte> memory) noexcept {
    auto* to = reinterpret_cast<float*>(memory.data());
    if (turns) {
      widen_transposed(dtype, from, rows, to);
    } else {
      widen(dtype, from, to);
    }
    file->release(from);
  };
  const Shape kept = turns ? Shape{shape[1], shape[0]} : shape;
  const auto bytes = static_cast<std::size_t>(elements * sizeof(float));
  if (bytes > largest_at_once) {
    // The stored elements differ in type and order, so they are not named as `source` or `packed`.
    return Tensor::share(DType::float32, kept, std::make_shared<DeferredElements>(bytes, write));
  }
  Tensor tensor(DType::float32, kept);
  if (elements > 0) write({static_cast<std::byte*>(tensor.mutable_data()), tensor.bytes()});
  return tensor;
}

void Weights::require_taken(const std::function<bool(std::string_view)>& is_known) const {
  std::vector<std::string> left;
  for (const auto& [name, entry] : entries_) {
    if (!entry.is_taken && !is_known(name)) left.push_back(name);
  }
  if (left.empty()) return;
  fail(ErrorCode::mismatch,
       "the .safetensors files have tensors that the architecture lacks: ", first_names(left));
}

}  // namespace ondine::hugging_face
