#include "tests/deadline/worst_cases.h"

namespace ondine::test {

const std::set<std::string>& unary_operators() {
  static const std::set<std::string> names{":Abs", ":Sin"};
  return names;
}

const std::set<std::string>& linear_operators() {
  static const std::set<std::string> names{":Add"};
  return names;
}

}  // namespace ondine::test
