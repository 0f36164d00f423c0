// Recurrent operators in simpler operators give what their kernels give.
#include <catch2/catch.hpp>

#include "tests/support/standard_form.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t hidden = 3;

struct Case {
  std::string op;
  std::int64_t gates, steps, batch;
  std::string direction = "forward";
  std::int64_t layout = 0;
  bool lengths = false, initial = false, peepholes = false;
};

void check(const Case& c, bool known_weights) {
  CAPTURE(c.op, c.steps, c.batch, c.direction, c.layout, known_weights);
  const std::int64_t directions = c.direction == "bidirectional" ? 2 : 1;
  const bool first = c.layout != 0;
  const Shape x = first ? Shape{c.batch, c.steps, 2} : Shape{c.steps, c.batch, 2};
  const Shape state =
      first ? Shape{c.batch, directions, hidden} : Shape{directions, c.batch, hidden};
  const std::int64_t width = c.gates * hidden;
  std::vector<Value> in(8);
  in[0] = random_tensor(x, 1);
  in[1] = random_tensor({directions, width, 2}, 2, -1, 1);
  in[2] = random_tensor({directions, width, hidden}, 3, -1, 1);
  in[3] = random_tensor({directions, 2 * width}, 4, -1, 1);
  if (c.lengths) {
    std::vector<std::int32_t> lengths(static_cast<std::size_t>(c.batch),
                                      static_cast<std::int32_t>(c.steps));
    lengths[0] = 1;
    in[4] = Tensor::of<std::int32_t>({c.batch}, lengths);
  }
  const bool cells = c.gates == 4;
  if (c.initial) in[5] = random_tensor(state, 5, -1, 1);
  if (c.initial && cells) in[6] = random_tensor(state, 6, -1, 1);
  if (c.peepholes) in[7] = random_tensor({directions, 3 * hidden}, 7, -1, 1);
  OwnOperator own{c.op, in, {{"direction", c.direction}, {"layout", c.layout}}};
  own.domain.clear();
  own.outputs = cells ? 3 : 2;
  if (known_weights) own.constants = {1, 2, 3};
  check_standard_form(own);
}

}  // namespace

TEST_CASE("recurrent operators have a form for any number of steps and samples") {
  for (const auto& [op, gates] : {std::pair("RNN", 1), std::pair("GRU", 3), std::pair("LSTM", 4)}) {
    for (const std::int64_t steps : {1, 2, 5}) {
      for (const char* direction : {"forward", "reverse", "bidirectional"}) {
        // The number of hidden units may be known or not.
        check({op, gates, steps, 2, direction}, true);
        check({op, gates, steps, 3, direction, 1, false, true}, false);
        check({op, gates, steps, 2, direction, 0, true, true}, true);
      }
    }
  }
  check({"LSTM", 4, 4, 2, "bidirectional", 0, true, true, true}, false);
}
