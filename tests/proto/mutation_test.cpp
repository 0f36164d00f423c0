// Damaged models: each is loaded or refused with an Error, whatever the damage.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "core/random/random.h"
#include "proto/export.h"
#include "proto/import.h"
#include "proto/value.h"
#include "tests/proto/full_model.h"

using namespace ondine;

namespace {

// Small enough that no damaged length may ask for much.
Limits narrow() {
  Limits limits;
  limits.parse_bytes = std::uint64_t{64} << 20;
  limits.tensor_bytes = std::uint64_t{1} << 20;
  return limits;
}

bool loads(std::span<const std::byte> bytes) {
  try {
    load_model(bytes, narrow());
    return true;
  } catch (const Error& error) {
    CHECK(error.code() != ErrorCode::internal);
    return false;
  }
}

// Overwrites, removes or repeats a few bytes.
std::vector<std::byte> damage(std::vector<std::byte> bytes, std::uint64_t trial) {
  const auto random = random_block({trial, 0, 0}, 0);
  const auto at = static_cast<std::ptrdiff_t>(random[0] % bytes.size());
  const auto length =
      std::min<std::ptrdiff_t>(random[1] % 8 + 1, static_cast<std::ptrdiff_t>(bytes.size()) - at);
  const auto first = bytes.begin() + at;
  switch (random[2] % 3) {
    case 0:
      *first = static_cast<std::byte>(random[3]);
      break;
    case 1:
      bytes.erase(first, first + length);
      break;
    default: {
      const std::vector<std::byte> copy(first, first + length);
      bytes.insert(first, copy.begin(), copy.end());
      break;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("a model cut off anywhere is refused or loads") {
  const auto bytes = export_model(test::full_model());
  int refused = 0;
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    refused += loads(std::span(bytes).first(size)) ? 0 : 1;
  }
  CHECK(refused > 100);
}

TEST_CASE("a damaged model is refused or loads") {
  const auto bytes = export_model(test::full_model());
  int refused = 0;
  for (std::uint64_t trial = 0; trial < 3000; ++trial) {
    refused += loads(damage(bytes, trial)) ? 0 : 1;
  }
  CHECK(refused > 1000);
}

TEST_CASE("a damaged stored value is refused or loads") {
  graph::TypeDef any;
  any.kind = graph::TypeKind::sequence;
  const auto words = Tensor::of(Shape{1}, std::vector<std::string>{"a"});
  const Value map = Value::map(words, {Tensor::scalar(1.5)});
  const auto bytes = export_value("v", Value::sequence({Value::optional(map), Value::optional()}));
  int refused = 0;
  for (std::uint64_t trial = 0; trial < 1000; ++trial) {
    try {
      load_value(damage(bytes, trial), any, narrow());
    } catch (const Error& error) {
      CHECK(error.code() != ErrorCode::internal);
      ++refused;
    }
  }
  CHECK(refused > 100);
}
