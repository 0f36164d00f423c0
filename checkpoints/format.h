// The checkpoint format: header, manifest, tensors. docs/checkpoints.md has the grammar.
#pragma once

#include <optional>

#include <ondine/limits.h>

#include "checkpoints/checkpoint.h"
#include "core/stream.h"

namespace ondine {

// The model to which a checkpoint must belong; the identity is used in messages only.
struct ExpectedModel {
  Sha256Digest fingerprint{};
  ModelIdentity identity;
};

// Writes the tensors without copying them. The state must not change meanwhile: each tensor is read
// twice, for its checksum and for its bytes. Throws Error(mismatch) for a variable without value or
// a duplicate name.
void encode_checkpoint(const Checkpoint& checkpoint, Sink& sink);

// Reads a whole source. Throws Error(corrupt) for damage, naming what and where; Error(unsupported)
// for a newer version of the format, Error(mismatch) for a checkpoint of another model, and
// Error(limit).
Checkpoint decode_checkpoint(Source& source, const std::optional<ExpectedModel>& expected = {},
                             const Limits& limits = {});

}  // namespace ondine
