// Structured changes -> load, infer, initialize and one training step under limits.
#include <cstddef>
#include <cstdint>

#include <ondine/error.h>

#include "proto/export.h"
#include "tests/fuzz/change_model.h"
#include "tests/fuzz/try_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondine;
  test::Choices choices({data, size});
  std::vector<std::byte> bytes;
  if (test::refuses([&] { bytes = export_model(test::any_model(choices)); })) return 0;
  test::try_model(bytes, choices);
  return 0;
}
