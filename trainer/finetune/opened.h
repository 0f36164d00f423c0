// The model and the two parts of the data that a run of finetune() works with.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/finetune.h>

#include "trainer/finetune/facts.h"

namespace ondine::tune {

struct Opened {
  std::optional<Model> owned;    // of a file, of bytes or new
  const Model* given = nullptr;  // else the caller's
  bool is_fresh = false;         // its weights are random numbers
  std::string network;           // of a new one
  Dataset training;
  Dataset validation;
  std::optional<Dataset> whole;  // both, where validation was set apart from the rows
  Facts facts;
  std::optional<TablePlan> table;  // of columns that the prepared model takes by their names
  std::string size_chosen;         // why images get the size that they have; may be empty
  std::string split;  // how the rows for validation were chosen; empty where they were given
  std::vector<std::string> notes;

  bool has_model() const { return owned || given != nullptr; }
  const Model& model() const { return owned ? *owned : *given; }  // to be tuned
};

// Error(mismatch) for a model with training information and for data without rows or targets.
Opened open_all(const FinetuneModel& model, const FinetuneData& data,
                const FinetuneOptions& options);

}  // namespace ondine::tune
