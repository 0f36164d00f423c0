#include "proto/import.h"

#include <new>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/check/findings.h"
#include "onnx_schema.pb.h"
#include "proto/arena_message.h"
#include "proto/decode.h"
#include "proto/external_data.h"
#include "proto/import/parts.h"
#include "proto/mapped_file.h"

namespace ondine {
namespace {

// Combines several errors into one.
[[noreturn]] void throw_all(const std::vector<Error>& errors) {
  // A single error keeps its context.
  if (errors.size() == 1) throw errors[0];
  graph::Findings findings;
  for (const auto& error : errors) findings.add(error);
  findings.throw_if_any();
  fail(ErrorCode::internal, "no errors");
}

// `file`: the one that `bytes` are, if any.
graph::ModelDef load(std::span<const std::byte> bytes, std::shared_ptr<const MappedFile> file,
                     const Limits& limits, ExternalData external, LeftOut& left_out) {
  try {
    const ArenaMessage<onnx::ModelProto> proto;
    const auto detached = decode_model(bytes, limits, *proto, file != nullptr);
    Importer importer{limits, external};
    if (detached) {
      importer.detached = &*detached;
      importer.file = file;
    }
    try {
      graph::ModelDef model = import_model(*proto, importer);
      left_out.errors = std::move(importer.errors);
      left_out.names = std::move(importer.left_out);
      left_out.tolerable = std::move(importer.tolerable);
      if (left_out.errors.empty()) left_out.leftovers = Leftovers(bytes);
      left_out.files = external.mappings();
      if (file != nullptr) left_out.files.push_back(std::move(file));
      return model;
    } catch (const Error& error) {
      if (importer.errors.empty() || error.code() == ErrorCode::internal) throw;
      importer.errors.push_back(error);
      throw_all(importer.errors);
    }
  } catch (const std::bad_alloc&) {
    fail_out_of_memory("read the model");
  }
}

template <class Load>
graph::ModelDef load_whole(const Load& load) {
  LeftOut left_out;
  graph::ModelDef model = load(left_out);
  std::vector<Error>& errors = left_out.errors;
  errors.insert(errors.end(), left_out.tolerable.begin(), left_out.tolerable.end());
  if (!errors.empty()) throw_all(errors);
  return model;
}

template <class Body>
graph::ModelDef with_file(const std::filesystem::path& file, const Body& body) {
  return with_context(body, [&] { return "model " + quoted(file.filename().string()); });
}

}  // namespace

graph::ModelDef load_model(const std::filesystem::path& file, const Limits& limits,
                           LeftOut& left_out) {
  return with_file(file, [&] {
    const auto mapping = std::make_shared<const MappedFile>(open_file(file), file.string());
    graph::ModelDef model =
        load(mapping->bytes(), mapping, limits, ExternalData(file.parent_path(), limits), left_out);
    mapping->release(mapping->bytes());
    return model;
  });
}

graph::ModelDef load_model(std::span<const std::byte> bytes, const Limits& limits,
                           const ExternalDataReader& external, LeftOut& left_out) {
  return load(bytes, nullptr, limits, ExternalData(external, limits), left_out);
}

graph::ModelDef load_model(const std::filesystem::path& file, const Limits& limits) {
  return with_file(file, [&] {
    return load_whole([&](LeftOut& left_out) { return load_model(file, limits, left_out); });
  });
}

graph::ModelDef load_model(std::span<const std::byte> bytes, const Limits& limits,
                           const ExternalDataReader& external) {
  return load_whole(
      [&](LeftOut& left_out) { return load_model(bytes, limits, external, left_out); });
}

}  // namespace ondine
