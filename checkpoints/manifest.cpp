#include "checkpoints/manifest.h"

#include <bit>
#include <unordered_set>
#include <variant>

#include "checkpoints/elements.h"
#include "core/message.h"

namespace ondine {
namespace {

PropertyEntry describe(const std::string& name, const Property& property) {
  PropertyEntry entry;
  entry.name = name;
  entry.kind = property.index();
  if (const auto* integer = std::get_if<std::int64_t>(&property)) entry.integer = *integer;
  if (const auto* real = std::get_if<double>(&property)) {
    entry.real_bits = std::bit_cast<std::uint64_t>(*real);
  }
  if (const auto* text = std::get_if<std::string>(&property)) entry.text = *text;
  return entry;
}

// Fields of other kinds must be empty, so that each content has one encoding.
void check_other_kinds(const PropertyEntry& entry) {
  if ((entry.kind == 0 || entry.integer == 0) && (entry.kind == 1 || entry.real_bits == 0) &&
      (entry.kind == 2 || entry.text.empty())) {
    return;
  }
  fail(ErrorCode::corrupt, "property ", quoted(entry.name), " of kind ", entry.kind,
       " has a value of another kind");
}

Property property_of(const PropertyEntry& entry) {
  check_other_kinds(entry);
  switch (entry.kind) {
    case 0:
      return entry.integer;
    case 1:
      return std::bit_cast<double>(entry.real_bits);
    case 2:
      return entry.text;
    default:
      fail(ErrorCode::corrupt, "property ", quoted(entry.name), " is of kind ", entry.kind,
           ", known kinds are 0 to 2");
  }
}

TensorEntry describe(const CheckpointVariable& variable) {
  const Tensor& value = variable.value;
  if (!value.defined()) {
    fail(ErrorCode::mismatch, "state variable ", quoted(variable.name), " has no value");
  }
  TensorEntry entry;
  entry.name = variable.name;
  entry.role = variable.role;
  entry.dtype = static_cast<std::uint64_t>(value.dtype());
  entry.dims.assign(value.shape().begin(), value.shape().end());
  entry.bytes = stored_bytes(value);
  entry.crc = stored_crc(value);
  return entry;
}

void check_unique(const std::vector<TensorEntry>& tensors, ErrorCode code) {
  std::unordered_set<std::string_view> names;
  for (const TensorEntry& tensor : tensors) {
    if (!names.insert(tensor.name).second) {
      fail(code, "duplicate state variable ", quoted(tensor.name));
    }
  }
}

}  // namespace

Manifest describe(const Checkpoint& checkpoint) {
  Manifest manifest;
  static_cast<TrainingProgress&>(manifest) = checkpoint;
  for (const auto& [name, value] : checkpoint.properties) {
    manifest.properties.push_back(describe(name, value));
  }
  for (const CheckpointVariable& variable : checkpoint.state) {
    manifest.tensors.push_back(describe(variable));
  }
  check_unique(manifest.tensors, ErrorCode::mismatch);
  return manifest;
}

Checkpoint checkpoint_of(const Manifest& manifest) {
  Checkpoint checkpoint;
  static_cast<TrainingProgress&>(checkpoint) = manifest;
  for (const PropertyEntry& entry : manifest.properties) {
    checkpoint.properties.emplace_back(entry.name, property_of(entry));
  }
  check_unique(manifest.tensors, ErrorCode::corrupt);
  for (const TensorEntry& entry : manifest.tensors) {
    checkpoint.state.push_back({entry.name, entry.role, {}});
  }
  return checkpoint;
}

}  // namespace ondine
