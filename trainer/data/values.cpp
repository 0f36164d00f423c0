// The .pb files of test data.
#include <ondine/data.h>

#include "core/checked.h"
#include "core/files/atomic_file.h"
#include "core/out_of_memory.h"
#include "proto/value.h"
#include "trainer/data/open_data.h"

namespace ondine {
namespace {

// Reads what PortInfo::type writes; dims are of no interest.
class TypeParser {
 public:
  explicit TypeParser(std::string_view text) : rest_(text) {}

  graph::TypeDef type() {
    graph::TypeDef result;
    const std::string_view kind = until('(');
    if (kind == "tensor") {
      result.kind = graph::TypeKind::tensor;
      result.dtype = dtype_from_string(until(')'));
    } else if (kind == "sparse_tensor") {
      result.kind = graph::TypeKind::sparse_tensor;
      result.dtype = dtype_from_string(until(')'));
    } else if (kind == "seq" || kind == "optional") {
      result.kind = kind == "seq" ? graph::TypeKind::sequence : graph::TypeKind::optional;
      result.element = std::make_shared<const graph::TypeDef>(type());
      until(')');
    } else if (kind == "map") {
      result.kind = graph::TypeKind::map;
      result.dtype = dtype_from_string(until(','));
      rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
      result.element = std::make_shared<const graph::TypeDef>(type());
      until(')');
    } else {
      fail(ErrorCode::mismatch, "no values of type ", quoted(kind));
    }
    return result;
  }

 private:
  std::string_view until(char end) {
    const std::size_t at = std::min(rest_.find(end), rest_.size());
    const std::string_view part = rest_.substr(0, at);
    rest_.remove_prefix(std::min(at + 1, rest_.size()));
    return part;
  }
  std::string_view rest_;
};

}  // namespace

NamedValue load_value(const std::filesystem::path& file, std::string_view type,
                      const Limits& limits) {
  return guard_memory("read the data", [&] {
    return with_context(
        [&]() -> NamedValue {
          PosixFileSystem files;
          FileSource source(files, file.string());
          if (source.size() > limits.tensor_bytes) {
            fail(ErrorCode::limit, "the file has ", source.size(), " bytes");
          }
          std::vector<std::byte> bytes(size_in_memory(source.size(), "a file"));
          source.read(bytes);
          if (type.empty() || type.starts_with("tensor")) {
            auto [name, tensor] = load_named_tensor(bytes, limits);
            return {std::move(name), Value(std::move(tensor))};
          }
          return {std::string(), load_value(bytes, TypeParser(type).type(), limits)};
        },
        [&] { return "file " + quoted(file.string()); });
  });
}

void save_value(const std::filesystem::path& file, const NamedValue& value) {
  guard_memory("save the value", [&] {
    const std::vector<std::byte> bytes = export_value(value.first, value.second);
    PosixFileSystem files;
    atomic_write(files, file.string(), [&](Sink& sink) { sink.write(bytes); });
  });
}

}  // namespace ondine
