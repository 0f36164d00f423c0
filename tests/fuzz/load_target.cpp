// Raw bytes -> load, as a model and as an operator set.
#include <cstddef>
#include <cstdint>
#include <span>

#include "graph/check/operator_set.h"
#include "proto/import_operator_set.h"
#include "tests/fuzz/try_model.h"
#include "trainer/model/assemble.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondine;
  const auto bytes = std::as_bytes(std::span(data, size));
  const LoadOptions options = test::narrow_options();
  test::refuses([&] { Model::load(bytes, options); });
  test::refuses([&] {
    LeftOut left_out;
    const graph::OperatorSetDef set = load_operator_set(bytes, options.limits, {}, left_out);
    graph::Findings findings;
    check_operator_set(set, {}, graph::Undefined::finding, trainer::all_operators(), options.limits,
                       findings);
  });
  return 0;
}
