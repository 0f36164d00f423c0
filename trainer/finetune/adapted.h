// The network with a head, a loss and scaled inputs for the data.
#pragma once

#include <optional>
#include <string>

#include <ondine/finetune.h>

#include "trainer/finetune/opened.h"

namespace ondine::tune {

struct Adapted {
  std::optional<Model> model;  // prepared
  PrepareReport report;
  bool is_trained = false;  // weights that are worth keeping
  bool has_new_head = false;
  // Decisions, as text for people; empty if the caller decided.
  std::string loss;
  std::string head;
  std::string scaling;
  Optimizer optimizer;
  std::string rate;
  std::string body_rate;  // of all but the head
  std::string budget;     // what trains
};

// Error(mismatch) where no choice fits.
Adapted adapt(const Opened& opened, const FinetuneOptions& options);

}  // namespace ondine::tune
