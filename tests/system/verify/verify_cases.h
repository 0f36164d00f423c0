// Conformance cases for `ondine verify`, written by a test.
#pragma once

#include <string>
#include <vector>

#include "graph/ir/document.h"
#include "tests/system/run/cli_run.h"

namespace cli_test {

std::string text_of(const std::vector<std::byte>& bytes);

// Runs the case, which must be the only one, and looks for `text` in the reason.
void expect_failure(const Workshop& shop, const std::string& folder, const std::string& text);
void expect_success(const Workshop& shop, const std::string& folder);

// y is x.
ondine::graph::ModelDef identity(ondine::DType dtype, const ondine::Shape& shape);
// A backend case whose only node copies `x`, with `want` as its expected output.
void write_copy(const Workshop& shop, const std::string& folder, const ondine::Tensor& x,
                const ondine::Tensor& want);

// A training case of test::linear_regression: two steps with a rate of 0.1 on line_x and line_t,
// and an inference after them.
void write_line(const Workshop& shop, const std::string& folder);
const ondine::Tensor& line_x();
const ondine::Tensor& line_t();

template <class T>
ondine::Tensor pair(T first, T second) {
  return ondine::Tensor::of<T>({2}, {first, second});
}

}  // namespace cli_test
