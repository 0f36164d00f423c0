// The manifest of a checkpoint file: everything but the elements, as a text archive.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "checkpoints/checkpoint.h"

namespace ondine {

// Plain values only; doubles are kept as their bits.
struct TensorEntry {
  std::string name;
  std::string role;
  std::uint64_t dtype = 0;
  std::vector<std::int64_t> extents;
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

struct Manifest {
  std::string library_version;
  ModelIdentity model;
  std::uint64_t random_seed = 0;
  std::uint64_t random_step = 0;
  std::uint64_t step = 0;
  std::uint64_t epoch = 0;
  std::vector<std::uint64_t> algorithm_steps;
  TrainingCursor cursor;
  std::vector<PropertyEntry> properties;
  std::vector<TensorEntry> tensors;
};

// The manifest of a checkpoint, checksums of its tensors included. Throws Error(mismatch) for a
// variable that has no value or the name of another.
Manifest describe(const Checkpoint& checkpoint);
// The inverse; the values of the variables are left undefined. Throws Error(corrupt) for entries
// that no describe() makes.
Checkpoint checkpoint_of(const Manifest& manifest);

// The same manifest gives the same bytes in every locale.
std::string encode_manifest(const Manifest& manifest);
// Version 1. Throws Error(corrupt) for anything that encode_manifest does not give. A length in
// the bytes is checked against the bytes that are left before memory is taken.
Manifest decode_manifest_v1(std::span<const std::byte> bytes);

}  // namespace ondine
