// The plan of a call, known before it runs: operators, implementations and storage of values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/shape.h>

namespace ondine {

// The call to plan. A training step is planned for fetching its default outputs, as a training loop
// does, except next values of state variables: unless they are fetched, these need no memory of
// their own. Inference is planned for its default outputs.
struct PlanRequest {
  // Shapes of inputs by name. An input with dynamic dims needs one, unless the dims are symbolic
  // and shapes of other inputs determine them.
  std::vector<std::pair<std::string, Shape>> shapes;
  // Index of the training algorithm of a step; nullopt: inference.
  std::optional<std::size_t> algorithm;
};

// The storage of a value's elements during a call.
enum class Storage : std::uint8_t {
  arena,     // the executor's memory, reused over time
  state,     // a state variable: its current or its next value
  constant,  // of the model, or computed at load or planning time
  caller,    // memory of a feed
  dynamic,   // allocated during the call: its size depends on data
};
ONDINE_API const char* to_string(Storage storage) noexcept;

struct PlannedValue {
  std::string name;
  std::string type;  // "tensor(float)[8, 10]"
  Storage storage = Storage::arena;
  std::uint64_t offset = 0;  // in the arena
  std::uint64_t bytes = 0;   // 0 where dynamic
  // Lifetime, as indices of PlanReport::nodes: the node that computes the value and the last one
  // that reads it or a view of it; `last` is the number of nodes for values that the call returns.
  std::size_t first = 0;
  std::size_t last = 0;
  bool in_place = false;  // shares the memory of an input of its node
};

struct PlannedOperator {
  std::string op;                     // "Conv"
  std::string name;                   // of the node; may be empty
  std::string implementation;         // chosen for these shapes; empty: there is only one
  std::string isa;                    // instruction set it was compiled for; empty: portable
  std::uint64_t workspace_bytes = 0;  // scratch memory in the arena while it runs
  std::vector<PlannedValue> outputs;  // without unused ones
  bool commit = false;                // runs after everything that can fail
};

struct PlanReport {
  std::vector<PlannedOperator> nodes;  // in the order in which they run
  // Totals. The arena holds values and workspaces.
  std::uint64_t arena_bytes = 0;
  std::uint64_t constant_bytes = 0;
  std::uint64_t state_bytes = 0;      // state variables, and their next values while a step runs
  std::uint64_t workspace_bytes = 0;  // the largest
  // The peak of the arena: the node at which most bytes are in use, how many, and the values that
  // use them, largest first. A workspace counts as a value without type.
  std::size_t peak_node = 0;
  std::uint64_t peak_bytes = 0;
  std::vector<PlannedValue> peak_values;
};

// Human-readable text with a line per output. Not meant to be parsed.
ONDINE_API std::string to_string(const PlanReport& report);

}  // namespace ondine
