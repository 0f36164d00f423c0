// What a call does and where its values lie, known before it runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/shape.h>

namespace ondine {

// Which call to plan.
struct PlanRequest {
  // Shapes of inputs by name. An input needs one where a dim is dynamic; a symbolic dim that
  // another input fixes is taken from there.
  std::vector<std::pair<std::string, Shape>> shapes;
  // A step of this training algorithm; nothing: inference.
  std::optional<std::size_t> algorithm;
};

// Where the elements of a value lie while a call runs.
enum class Storage : std::uint8_t {
  arena,     // the executor's memory, which values share over time
  state,     // a state variable: its present or its next value
  constant,  // of the model, or computed when it was loaded or planned
  caller,    // what was fed
  dynamic,   // allocated in the call: the shape depends on data, or elements have no fixed size
};
ONDINE_API const char* to_string(Storage storage) noexcept;

struct PlannedValue {
  std::string name;
  std::string type;  // "tensor(float)[8, 10]"
  Storage storage = Storage::arena;
  std::uint64_t offset = 0;  // in the arena
  std::uint64_t bytes = 0;   // 0 where dynamic
  // Positions in PlanReport::nodes from the node that computes it to the last that reads it or a
  // view of it; the number of nodes: it is there when the call returns.
  std::size_t first = 0;
  std::size_t last = 0;
  bool in_place = false;  // in the memory of an input of its node
};

struct PlannedOperator {
  std::string op;                     // "Conv"
  std::string name;                   // of the node; may be empty
  std::string implementation;         // that was chosen for these shapes; empty: the only one
  std::string isa;                    // instruction set it was compiled for; empty: portable
  std::uint64_t workspace_bytes = 0;  // scratch memory in the arena, for the time of the node
  std::vector<PlannedValue> outputs;  // those that are wanted
  bool commit = false;                // runs after everything that can fail
};

struct PlanReport {
  std::vector<PlannedOperator> nodes;  // in the order in which they run
  // Totals. The arena holds values and workspaces.
  std::uint64_t arena_bytes = 0;
  std::uint64_t constant_bytes = 0;
  std::uint64_t state_bytes = 0;      // state variables, and their next values while a step runs
  std::uint64_t workspace_bytes = 0;  // the largest
  // When the most bytes of the arena are in use: the position, how many, and by what, largest
  // first. A workspace is a value without a type.
  std::size_t peak_node = 0;
  std::uint64_t peak_bytes = 0;
  std::vector<PlannedValue> peak_values;
};

// As text for people, a line for each output. Not a format that is read back.
ONDINE_API std::string to_string(const PlanReport& report);

}  // namespace ondine
