#include "proto/import.h"

#include <new>

#include "core/message.h"
#include "onnx_schema.pb.h"
#include "proto/decode.h"
#include "proto/external_data.h"
#include "proto/import_parts.h"
#include "proto/mapped_file.h"

namespace ondine {
namespace {

graph::ModelDef load(std::span<const std::byte> bytes, const Limits& limits,
                     std::optional<std::filesystem::path> folder) {
  try {
    onnx::ModelProto proto;
    decode_model(bytes, limits, proto);
    ExternalData external(std::move(folder), limits);
    Importer importer{limits, external};
    return import_model(proto, importer);
  } catch (const std::bad_alloc&) {
    fail(ErrorCode::limit, "the system has no memory left for the model");
  }
}

}  // namespace

graph::ModelDef load_model(const std::filesystem::path& file, const Limits& limits) {
  return with_context(
      [&] {
        const MappedFile mapping(open_file(file), file.string());
        return load(mapping.bytes(), limits, file.parent_path());
      },
      [&] { return "model " + quoted(file.filename().string()); });
}

graph::ModelDef load_model(std::span<const std::byte> bytes, const Limits& limits) {
  return load(bytes, limits, std::nullopt);
}

}  // namespace ondine
