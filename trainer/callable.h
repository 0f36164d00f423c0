// A graph of the model made ready to be called: its names, and the programs for what was asked.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"
#include "trainer/program.h"
#include "trainer/state/state_store.h"

namespace ondine::trainer {

// Where the value of one graph input comes from.
struct InputSource {
  std::size_t variable = no_variable;  // index in the state store
  bool declared = false;               // an input of the model: may be fed
  Tensor fallback;                     // defined: used when nothing is fed
  static constexpr std::size_t no_variable = static_cast<std::size_t>(-1);
};

// A binding: variable <- value of the graph.
struct Update {
  std::size_t variable = 0;
  graph::ValueId value = graph::no_value;
};

struct NamedOutput {
  std::string name;
  graph::ValueId value = graph::no_value;
};

// One call's selection of outputs.
struct Selection {
  std::vector<std::string> names;
  std::vector<graph::ValueId> values;
  std::vector<bool> direct;  // by update: written into the variable's memory by its node
  std::unique_ptr<Program> program;
};

struct Callable {
  std::shared_ptr<const graph::Graph> graph;  // optimized
  std::vector<std::string> input_names;       // by graph input
  std::vector<InputSource> inputs;            // by graph input
  std::vector<NamedOutput> outputs;           // all that can be fetched
  std::vector<std::string> default_outputs;
  std::vector<std::string> unread_inputs;  // may be fed, but nothing reads them
  std::vector<Update> updates;

  // The graph input that holds the present value of a variable; no_value when none does.
  graph::ValueId input_of(std::size_t variable) const;
  // The program for these outputs and all updates. Error(mismatch) for an unknown name.
  // Thread-safe.
  const Selection& select(std::span<const std::string> names, const Runtime& runtime) const;

  // The values of all inputs from feeds, state and defaults, into `values`. Throws Error(mismatch)
  // naming the feed that is missing, unknown or does not fit.
  void gather(std::span<const NamedValue> feeds, const StateStore::Reader& state,
              std::vector<Value>& values) const;

  mutable std::vector<std::unique_ptr<Selection>> selections;
  mutable std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
};

}  // namespace ondine::trainer
