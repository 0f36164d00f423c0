// The checkpoint file: header, manifest, tensors. Its grammar is in docs/checkpoints.md.
#pragma once

#include <optional>

#include <ondine/limits.h>

#include "checkpoints/checkpoint.h"
#include "core/stream.h"

namespace ondine {

// The model that a checkpoint must belong to; the identity is only for messages.
struct ExpectedModel {
  Sha256Digest fingerprint{};
  ModelIdentity identity;
};

// Writes tensor after tensor from where they are. The state must not change meanwhile: each tensor
// is read twice, for its checksum and for its bytes. Error(mismatch) when the state cannot be
// stored: a variable without value, two of one name.
void encode_checkpoint(const Checkpoint& checkpoint, Sink& sink);

// Reads a whole source. Damage is Error(corrupt), which says what and where; a newer version of
// the format is Error(unsupported), a checkpoint of another model Error(mismatch), more than
// `limits` allow Error(limit).
Checkpoint decode_checkpoint(Source& source, const std::optional<ExpectedModel>& expected = {},
                             const Limits& limits = {});

}  // namespace ondine
