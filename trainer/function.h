// A graph of the model made ready to be called: its names, and the calls that were asked for.
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir/document.h"
#include "trainer/call.h"
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

struct Function {
  std::shared_ptr<const graph::Graph> graph;  // optimized
  std::vector<std::string> input_names;       // by graph input
  std::vector<InputSource> inputs;            // by graph input
  std::vector<NamedOutput> outputs;           // all that can be fetched
  std::vector<std::string> default_outputs;
  std::vector<std::string> unread_inputs;  // may be fed, but nothing reads them
  std::vector<Update> updates;

  // The graph input that holds the present value of a variable; no_value when none does.
  graph::ValueId input_of(std::size_t variable) const;
  // The call for these outputs and all updates, which is kept. Error(mismatch) for an unknown name.
  // Thread-safe.
  Call& call(std::span<const std::string> names, const Runtime& runtime) const;
  // Not while one of them runs.
  void forget_calls() noexcept { calls.clear(); }

  // The values of all inputs from feeds, state and defaults, into `values`. Throws Error(mismatch)
  // naming the feed that is missing, unknown or does not fit.
  void gather(std::span<const NamedValue> feeds, const StateStore::Reader& state,
              std::vector<Value>& values) const;

  mutable std::vector<std::unique_ptr<Call>> calls;
  mutable std::unique_ptr<std::mutex> mutex = std::make_unique<std::mutex>();
};

}  // namespace ondine::trainer
