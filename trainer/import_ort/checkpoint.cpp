#include "trainer/import_ort/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "checkpoints/elements.h"
#include "core/files/file.h"
#include "trainer/import_ort/flat_table.h"

namespace ondine::trainer {
namespace {

// Format version of onnxruntime-training 1.19.
constexpr std::int32_t known_version = 2;
// Offsets of the format have 32 bits.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 32;

// Fields in the order of the format's tables.
namespace field {
enum Checkpoint : std::size_t { version, module, groups, properties };
enum Module : std::size_t { trained, frozen, is_nominal, has_external };
enum Group : std::size_t { group_name, step, learning_rate, states };
enum State : std::size_t { parameter, moments };
enum Value : std::size_t { name, doc, dims, type, data };
enum Properties : std::size_t { integers, reals, texts };
enum Property : std::size_t { key, value };
}  // namespace field

class Reader {
 public:
  Reader(std::span<const std::byte> bytes, const Limits& limits) : file_(bytes), limits_(limits) {}

  OrtCheckpoint read() {
    const FlatTable root = FlatTable::root(file_, "ODTC");
    const std::int32_t version = root.int32(field::version);
    if (version != known_version) {
      fail(ErrorCode::unsupported, "has version ", version, ", this build reads version ",
           known_version);
    }
    if (const auto module = root.table(field::module)) read_module(*module);
    read_groups(root.tables(field::groups));
    if (const auto properties = root.table(field::properties)) read_properties(*properties);
    return std::move(result_);
  }

 private:
  void read_module(const FlatTable& module) {
    if (module.boolean(field::is_nominal)) {
      fail(ErrorCode::unsupported, "is a nominal checkpoint, which has no values of parameters; ",
           "use the complete one");
    }
    if (module.boolean(field::has_external)) {
      fail(ErrorCode::unsupported, "has its tensors in a separate file, which is not supported");
    }
    std::set<std::string> names;
    const auto read = [&](std::size_t field, auto& to) {
      for (const FlatTable& one : module.tables(field)) {
        const std::string name = text(one, field::name);
        if (!names.insert(name).second) {
          fail(ErrorCode::corrupt, "has parameter ", quoted(name), " twice");
        }
        to.emplace_back(name, tensor(one, name));
      }
    };
    read(field::trained, result_.trained);
    read(field::frozen, result_.frozen);
  }

  void read_groups(const std::vector<FlatTable>& groups) {
    if (groups.empty()) return;
    if (groups.size() > 1) {
      fail(ErrorCode::unsupported, "has ", groups.size(), " optimizer groups, supported is one");
    }
    OrtOptimizerState& state = result_.optimizer.emplace();
    state.step = groups[0].int64(field::step);
    state.learning_rate = groups[0].real(field::learning_rate);
    if (state.step < 0) fail(ErrorCode::corrupt, "has optimizer step ", state.step);
    for (const FlatTable& one : groups[0].tables(field::states)) {
      const std::string name = text(one, field::parameter);
      const auto [place, is_new] = state.moments.try_emplace(name);
      if (!is_new) fail(ErrorCode::corrupt, "has two optimizer states of ", quoted(name));
      for (const FlatTable& moment : one.tables(field::moments)) {
        place->second.push_back(tensor(moment, name));
      }
    }
  }

  void read_properties(const FlatTable& properties) {
    const auto read = [&](std::size_t field, const auto& to_text) {
      for (const FlatTable& one : properties.tables(field)) {
        result_.properties.emplace_back(text(one, field::key), to_text(one));
      }
    };
    read(field::integers, [](const FlatTable& one) { return cat(one.int64(field::value)); });
    read(field::reals, [](const FlatTable& one) { return shortest(one.real(field::value)); });
    read(field::texts, [](const FlatTable& one) { return one.text(field::value); });
  }

  static std::string shortest(float value) {
    char buffer[32];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return {buffer, end};
  }

  std::string text(const FlatTable& table, std::size_t field) const {
    std::string result = table.text(field);
    if (result.size() > limits_.name_length) {
      fail(ErrorCode::limit, "has a name of ", result.size(), " bytes, the limit is ",
           limits_.name_length);
    }
    return result;
  }

  Tensor tensor(const FlatTable& table, const std::string& name) {
    return with_context([&] { return elements(table); },
                        [&] { return cat("tensor of parameter ", quoted(name)); });
  }

  Tensor elements(const FlatTable& table) {
    const std::vector<std::int64_t> dims = table.int64s(field::dims);
    const auto data = table.bytes(field::data);
    if (dims.size() > limits_.rank) {
      fail(ErrorCode::limit, "rank ", dims.size(), ", the limit is ", limits_.rank);
    }
    if (data.size() > limits_.tensor_bytes) {
      fail(ErrorCode::limit, data.size(), " bytes, the limit is ", limits_.tensor_bytes);
    }
    const std::int32_t type = table.int32(field::type);
    if (type <= 0 || type > static_cast<int>(DType::float8e5m2fnuz) ||
        DType(type) == DType::string) {
      fail(ErrorCode::corrupt, "element type ", type, ", needed is one of numbers");
    }
    for (const std::int64_t dim : dims) {
      if (dim < 0) fail(ErrorCode::corrupt, "a dim of ", dim);
    }
    MemorySource source(data);
    return read_elements(source, DType(type), Shape(dims), data.size());
  }

  FlatBuffer file_;
  const Limits& limits_;
  OrtCheckpoint result_;
};

}  // namespace

OrtCheckpoint read_ort_checkpoint(std::span<const std::byte> bytes, const Limits& limits) {
  return Reader(bytes, limits).read();
}

OrtCheckpoint load_ort_checkpoint(const std::filesystem::path& file, const Limits& limits) {
  return with_context(
      [&] {
        std::error_code ignored;
        if (std::filesystem::is_directory(file, ignored)) {
          fail(ErrorCode::unsupported, "is a folder, as before version 1.15; needed is a file");
        }
        PosixFileSystem files;
        FileSource source(files, file.string());
        const std::uint64_t most = std::min(limits.weight_bytes, most_bytes);
        if (source.size() > most) {
          fail(ErrorCode::limit, "has ", source.size(), " bytes, the limit is ", most);
        }
        std::vector<std::byte> bytes(source.size());
        source.read(bytes);
        return read_ort_checkpoint(bytes, limits);
      },
      [&] { return cat("checkpoint ", quoted(file.string())); });
}

}  // namespace ondine::trainer
