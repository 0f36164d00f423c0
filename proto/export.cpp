#include "proto/export.h"

#include <new>

#include "core/files/atomic_file.h"
#include "onnx_schema.pb.h"
#include "proto/arena_message.h"
#include "proto/encode.h"
#include "proto/export/parts.h"
#include "proto/external_file.h"

namespace ondine {

std::vector<std::byte> export_model(const graph::ModelDef& model, const Leftovers& leftovers) {
  Exporter exporter;
  const ArenaMessage<onnx::ModelProto> proto;
  export_model(model, exporter, *proto);
  return leftovers.put_back(encode(*proto));
}

void save_model(const graph::ModelDef& model, const std::filesystem::path& file,
                std::optional<std::uint64_t> external_from, const Leftovers& leftovers) {
  PosixFileSystem files;
  save_model(files, model, file, external_from, leftovers);
}

void save_model(FileSystem& files, const graph::ModelDef& model, const std::filesystem::path& file,
                std::optional<std::uint64_t> external_from, const Leftovers& leftovers) {
  Exporter exporter;
  exporter.external_from = external_from;
  const ArenaMessage<onnx::ModelProto> proto;
  export_model(model, exporter, *proto);
  // Data before the model, so that no model ever lacks its data.
  write_external_file(files, file, exporter);
  const auto bytes = leftovers.put_back(encode(*proto));
  atomic_write(files, file.string(), [&](Sink& sink) { sink.write(bytes); });
  try {
    remove_temporary_data(files, file);
  } catch (const std::bad_alloc&) {
    // The model is complete; the next export removes left-over files.
  }
}

}  // namespace ondine
