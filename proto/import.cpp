#include "proto/import.h"

#include <new>

#include "core/message.h"
#include "graph/check/findings.h"
#include "onnx_schema.pb.h"
#include "proto/decode.h"
#include "proto/external_data.h"
#include "proto/import_parts.h"
#include "proto/mapped_file.h"

namespace ondine {
namespace {

// One Error for everything that is wrong.
graph::ModelDef import_all(onnx::ModelProto& proto, Importer& importer) {
  graph::ModelDef model;
  try {
    model = import_model(proto, importer);
  } catch (const Error& error) {
    if (importer.errors.empty() || error.code() == ErrorCode::internal) throw;
    importer.errors.push_back(error);
  }
  // A single error keeps its context as such.
  if (importer.errors.size() == 1) throw importer.errors[0];
  graph::Findings findings;
  for (const auto& error : importer.errors) findings.add(error);
  findings.throw_if_any();
  return model;
}

graph::ModelDef load(std::span<const std::byte> bytes, const Limits& limits,
                     std::optional<std::filesystem::path> folder) {
  try {
    onnx::ModelProto proto;
    decode_model(bytes, limits, proto);
    ExternalData external(std::move(folder), limits);
    Importer importer{limits, external};
    return import_all(proto, importer);
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
