// Prompt tuning (Lester et al. 2021): trained rows in front of the embeddings of every text.
#pragma once

#include <ondine/prepare.h>

#include "graph/training/adapters/attach.h"
#include "graph/training/adapters/record.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// The token ids are the input [N, T] whose rows Gather looks up in the largest table. They get
// `tokens` ids more in front, so that positions and masks that the network makes of their shape
// suit the longer texts, and the rows that Gather gives for these are replaced by the prompt.
// Inputs [N, T] that are masks get ones, those of token types zeros. Outputs lose the new tokens.
// Error(unsupported), with the name of the value, for a network in which that is not all that
// depends on the tokens.
void attach_prompt(ModelDef& model, const PromptTuning& prompt, const ValueTypes& types,
                   GraphWriter& writer, Adapters& record, AttachedAdapters& attached);

}  // namespace ondine::graph
