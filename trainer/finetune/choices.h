// The rules of finetune(), each a function of what is known (docs/finetune.md lists them).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <ondine/finetune.h>

#include "trainer/finetune/facts.h"

namespace ondine::tune {

Loss loss_for(TargetKind kind);

// 0.2 of fewer than 2,000 rows, 0.1 of more.
double validation_fraction(std::uint64_t rows);
// A fiftieth of the rows as a power of two, from 16 to 64; from 8 for masks, whose rows have many
// labels each.
std::uint64_t batch_size_for(std::uint64_t rows, const TargetFacts& target);
// As many as make 3,000 updates, from 5 to 60.
std::uint64_t epochs_for(std::uint64_t rows, std::uint64_t batch_size);
// A quarter of the epochs, at least 3.
std::uint64_t patience_for(std::uint64_t epochs);

// Whether to train once more on all rows: with fewer than 2,000 rows of one target each.
bool refits(std::uint64_t rows, const TargetFacts& target);

// Weights that were trained must not be forgotten; a new head has to be learned beside them. Small
// networks take a larger rate.
struct Rate {
  double rate = 0;
  double body = 1;        // factor of all but the head
  const char* text = "";  // of the rate, for people
};
Rate rate_for(bool is_trained, bool has_new_head, std::uint64_t trained_numbers);
float& learning_rate_of(Optimizer& optimizer);
const char* name_of(const Optimizer& optimizer);

// The first is the one that matters.
std::vector<std::string> metrics_for(const TargetFacts& target, RowKind rows);

// Error(mismatch) where a member of the structs has been set that a member of the options itself
// takes the place of.
void check_options(const FinetuneOptions& options);

// `asked`, and what it leaves out from `recorded`; without the recorded classes.
DatasetOptions merged(DatasetOptions asked, const DatasetOptions& recorded);

}  // namespace ondine::tune
