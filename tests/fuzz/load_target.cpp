// Raw bytes -> load.
#include <cstddef>
#include <cstdint>
#include <span>

#include "tests/fuzz/try_model.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ondine;
  const auto bytes = std::as_bytes(std::span(data, size));
  test::refuses([&] { Model::load(bytes, test::narrow_options()); });
  return 0;
}
