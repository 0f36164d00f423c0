// Calls that operators refuse, and their messages.
#pragma once

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/known_types.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

namespace ondine::test {

inline Value f32(const Shape& shape) { return Tensor(DType::float32, shape); }
inline Value f64(const Shape& shape) { return Tensor(DType::float64, shape); }
inline Value i32(const Shape& shape) { return Tensor(DType::int32, shape); }
inline Value i64(const Shape& shape) { return Tensor(DType::int64, shape); }
inline graph::Attribute number(const std::string& name, std::int64_t value) {
  return {name, value};
}
inline graph::Attribute word(const std::string& name, const std::string& value) {
  return {name, value};
}
inline graph::Attribute list(const std::string& name, std::vector<std::int64_t> values) {
  return {name, std::move(values)};
}

struct Refusal {
  OpCase call;
  const char* message;
  bool if_known = false;  // only where the shapes are known, when the model is loaded
};

// Each is refused with its message, and also where less is known of its inputs.
inline void check_refusals(const std::vector<Refusal>& rows) {
  for (const Refusal& row : rows) {
    INFO(row.call.op << ": " << row.message);
    try {
      run_op(row.call);
      FAIL_CHECK("was run");
    } catch (const Error& error) {
      CHECK(error.code() != ErrorCode::internal);
      CHECK_THAT(error.what(), Catch::Contains(row.message));
    }
    // It is refused when the model is loaded or when it runs, as early as enough is known.
    for (const Known known : {Known::values, Known::ranks, Known::kinds}) {
      if (known != Known::values && (row.call.domain == "ai.ondine" || row.if_known)) continue;
      CHECK_THROWS_AS(run_known(row.call, row.call.version, known), Error);
    }
  }
}

}  // namespace ondine::test
