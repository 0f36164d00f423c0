// The manifest of a checkpoint file: everything except the elements, as a text archive.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/checkpoint.h"

namespace ondine {

// Plain values; doubles are stored as their bits.
struct TensorEntry {
  std::string name;
  std::string role;
  std::uint64_t dtype = 0;
  std::vector<std::int64_t> dims;
  std::uint64_t bytes = 0;
  std::uint64_t crc = 0;
};

struct PropertyEntry {
  std::string name;
  std::uint64_t kind = 0;  // index into Property
  std::int64_t integer = 0;
  std::uint64_t real_bits = 0;
  std::string text;
};

struct Manifest : TrainingProgress {
  std::vector<PropertyEntry> properties;
  std::vector<TensorEntry> tensors;
};

// The manifest of a checkpoint, including checksums of its tensors. Throws Error(mismatch) for a
// variable without value or a duplicate name.
Manifest describe(const Checkpoint& checkpoint);
// The inverse; the values of variables are undefined tensors. Throws Error(corrupt) for entries
// that describe() never produces.
Checkpoint checkpoint_of(const Manifest& manifest);

// Independent of the locale: equal manifests give equal bytes.
std::string encode_manifest(const Manifest& manifest);
// Format version 1. Throws Error(corrupt) for bytes that encode_manifest never produces. Lengths
// are checked against the remaining bytes before memory is allocated.
Manifest decode_manifest_v1(std::span<const std::byte> bytes);

}  // namespace ondine
