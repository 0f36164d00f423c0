// Function: an optimized graph of the model with the names of its inputs and outputs, and its
// calls.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "graph/ir/document.h"
#include "graph/resolve/dim_classes.h"
#include "trainer/model/call.h"
#include "trainer/state/state_store.h"

namespace ondine::trainer {

// The source of a graph input's value.
struct InputSource {
  std::size_t variable = no_variable;  // index in the state store
  bool declared = false;               // an input of the model, may be fed
  graph::Boxed<Tensor> fallback;       // default value; undefined if there is none
  static constexpr std::size_t no_variable = static_cast<std::size_t>(-1);
};

// A binding: `variable` takes `value` of the graph.
struct Update {
  std::size_t variable = 0;
  graph::ValueId value = graph::no_value;
};

struct NamedOutput {
  std::string name;
  graph::ValueId value = graph::no_value;
  graph::Type declared = {};  // kind unknown where the model says nothing
};

struct Function {
  std::shared_ptr<const graph::Graph> graph;  // optimized
  graph::DimClasses dims;                     // of its dimension variables
  std::vector<std::string> input_names;       // by graph input
  std::vector<InputSource> inputs;            // by graph input
  std::vector<NamedOutput> outputs;           // all outputs that can be fetched
  std::vector<std::string> default_outputs;
  std::vector<std::string> unread_inputs;  // may be fed; no node reads them
  std::vector<Update> updates;

  // Graph inputs that hold the current values of variables, by variable.
  std::unordered_map<std::size_t, graph::ValueId> inputs_of_variables() const;
  // The call for these outputs and all updates; created on first use and kept. Throws
  // Error(mismatch) for an unknown name. Thread-safe.
  Call& call(std::span<const std::string> names, const Runtime& runtime) const;
  // Must not be called while a call runs.
  void forget_calls() noexcept { calls.clear(); }

  // Collects the values of all inputs from feeds, state and defaults into `values`. Throws
  // Error(mismatch), naming a feed that is missing, unknown or does not match.
  void gather(std::span<const NamedValue> feeds, const StateStore::Reader& state,
              std::vector<Value>& values) const;

  mutable std::vector<std::unique_ptr<Call>> calls;
  mutable std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
};

}  // namespace ondine::trainer
