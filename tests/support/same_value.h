#pragma once

#include <ondine/value.h>

namespace ondine::test {

// Equal kinds, and tensors identical to the bit.
bool same_value(const Value& a, const Value& b);

}  // namespace ondine::test
