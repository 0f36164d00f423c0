#include "proto/import_operator_set.h"

#include <new>

#include "core/out_of_memory.h"
#include "onnx_schema.pb.h"
#include "proto/arena_message.h"
#include "proto/decode.h"
#include "proto/external_data.h"
#include "proto/import/parts.h"
#include "proto/mapped_file.h"
#include "proto/recognize.h"

namespace ondine {
namespace {

graph::OperatorSetDef load(std::span<const std::byte> bytes, const Limits& limits,
                           ExternalData external, LeftOut& left_out) {
  try {
    const ArenaMessage<onnx::OperatorSetProto> proto;
    decode_operator_set(bytes, limits, *proto);
    Importer importer{limits, external};
    graph::OperatorSetDef set = import_operator_set(*proto, importer);
    left_out.errors = std::move(importer.errors);
    left_out.names = std::move(importer.left_out);
    left_out.tolerable = std::move(importer.tolerable);
    left_out.files = external.mappings();
    return set;
  } catch (const std::bad_alloc&) {
    fail_out_of_memory("read the operator set");
  }
}

}  // namespace

graph::OperatorSetDef load_operator_set(const std::filesystem::path& file, const Limits& limits,
                                        LeftOut& left_out) {
  const MappedFile mapping(open_file(file), file.string());
  return load(mapping.bytes(), limits, ExternalData(file.parent_path(), limits), left_out);
}

graph::OperatorSetDef load_operator_set(std::span<const std::byte> bytes, const Limits& limits,
                                        const ExternalDataReader& external, LeftOut& left_out) {
  return load(bytes, limits, ExternalData(external, limits), left_out);
}

bool is_operator_set_file(const std::filesystem::path& file) {
  const MappedFile mapping(open_file(file), file.string());
  return is_operator_set(mapping.bytes());
}

}  // namespace ondine
