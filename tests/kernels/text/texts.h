// String tensors, and the checks of operators that must refuse.
#pragma once

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

namespace ondine::test {

inline Tensor texts(const Shape& shape, const std::vector<std::string>& values) {
  return Tensor::of<std::string>(shape, values);
}
inline Tensor texts(const std::vector<std::string>& values) {
  return texts({static_cast<std::int64_t>(values.size())}, values);
}

// The case fails with this code, the message has `part` and names the node's operator.
inline void check_refused(const OpCase& op_case, ErrorCode code, const std::string& part) {
  try {
    run_op(op_case);
    FAIL_CHECK("accepted: " << op_case.op << ", expected: " << part);
  } catch (const Error& error) {
    const std::string message = error.what();
    INFO(message);
    CHECK(error.code() == code);
    CHECK(message.find(part) != std::string::npos);
    CHECK(message.find("(" + op_case.op) != std::string::npos);
  }
}

}  // namespace ondine::test
