// Whether two ways to compute the same thing agree.
#pragma once

#include <ondine/value.h>

namespace ondine::test {

// Whether `got` is `wanted` up to rounding, relative to its largest element. `disturbed` is what
// the reference gives for slightly other inputs: where it moves far, so may `got`. Elements that
// are not finite or huge are not compared, since sums overflow in an order of their own.
bool close_values(const Value& got, const Value& wanted, const Value& disturbed);

}  // namespace ondine::test
