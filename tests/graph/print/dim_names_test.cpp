#include "graph/print/dim_names.h"

#include <catch2/catch.hpp>

namespace ondine::graph {
namespace {

TEST_CASE("symbolic dims in a message get their names") {
  Symbols symbols;
  symbols.get("N");
  symbols.get("2 N");
  CHECK(with_dim_names("[?0, 3] and [4*?1, ?]: 4", symbols) == "[N, 3] and [4*'2 N', ?]: 4");
}

TEST_CASE("quoted text and numbers of no symbol stay") {
  Symbols symbols;
  symbols.get("N");
  CHECK(with_dim_names("value '?0' is [?0], not [?1] or ?", symbols) ==
        "value '?0' is [N], not [?1] or ?");
  CHECK(with_dim_names("", symbols).empty());
}

}  // namespace
}  // namespace ondine::graph
