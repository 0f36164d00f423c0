// Repeats what an operator did with more and with less known about its inputs.
#pragma once

#include <vector>

#include "tests/support/op_harness.h"

namespace ondine::test {

// Facts about the inputs that are known when the types of the outputs are inferred: all values,
// every second element of a value that may be a shape, the dims, which dims are equal, the ranks,
// or the kinds alone.
enum class Known { values, parts, shapes, symbols, ranks, kinds };

struct TypedRun {
  std::vector<Value> results;
  std::vector<graph::Type> inferred;  // of the outputs
};
// Runs the case with so much known. Each size is a symbol with Known::symbols.
TypedRun run_known(const OpCase& op_case, std::int64_t version, Known known);

// Values and ranks may be known or not, and attributes with a default may be written out: the
// results stay, the types hold, and no dim is missing if every value is known. If not all is
// known, the operator may be refused as unsupported, with a message about its needs. `run` is the
// result with Known::shapes. Cases of large tensors are left out.
void check_knowledge(const OpCase& op_case, const TypedRun& run);

}  // namespace ondine::test
