#include "graph/check/missing_operators.h"

#include <catch2/catch.hpp>

using namespace ondine;
using namespace ondine::graph;

namespace {

std::string report(const MissingOperators& missing, const std::vector<bool>& called = {}) {
  Findings findings;
  missing.report(called, findings);
  const auto texts = findings.texts();
  CHECK(texts.size() <= 1);
  return texts.empty() ? "" : texts[0];
}

}  // namespace

TEST_CASE("a missing operator is reported with its first user and why it is missing") {
  const auto one = [](std::string_view domain, std::string_view name, std::int64_t version) {
    MissingOperators missing;
    missing.add({}, domain, name, version, "node 'n'");
    return report(missing);
  };
  CHECK(one("", "Frobnicate", 17) ==
        "missing operator: 'Frobnicate' of 'ai.onnx' version 17, which does not define it (for "
        "node 'n')");
  CHECK(one("ai.onnx", "Gelu", 17) ==
        "missing operator: 'Gelu' of 'ai.onnx' version 17, which defines it from version 20 (for "
        "node 'n')");
  CHECK(one("", "Relu", 17) == "missing operator: 'Relu' of 'ai.onnx' version 17 (for node 'n')");
  CHECK(one("org.example", "Relu", 1) ==
        "missing operator: 'Relu' of 'org.example' version 1, an unknown operator set (for node "
        "'n')");
  CHECK(one("com.microsoft", "Odd", 1) ==
        "missing operator: 'Odd' of 'com.microsoft' version 1, not among the supported ones of "
        "this operator set (for node 'n')");
}

TEST_CASE("operators of the main graph and of called functions are wanted, each once") {
  MissingOperators missing;
  CHECK(report(missing).empty());
  missing.add(1, "", "Third", 17, "node 'c'");
  missing.add(0, "", "Second", 17, "node 'b'");
  CHECK(report(missing, {false, false}).empty());
  CHECK_THAT(report(missing, {true, false}),
             Catch::StartsWith("missing operator: 'Second'") && !Catch::Contains("Third"));
  missing.add({}, "", "First", 17, "node 'a'");
  missing.add({}, "ai.onnx", "First", 17, "node 'later'");
  const std::string why = " of 'ai.onnx' version 17, which does not define it (for node ";
  CHECK(report(missing, {true, true}) == "missing operators: 'First'" + why + "'a'); 'Second'" +
                                             why + "'b'); 'Third'" + why + "'c')");
}

TEST_CASE("a hundred missing operators are named, of more the number") {
  MissingOperators missing;
  for (int i = 1; i <= 100; ++i) missing.add({}, "", "Odd" + std::to_string(i), 17, "n");
  CHECK_THAT(report(missing), !Catch::Contains("more"));
  missing.add({}, "", "Odd0", 17, "n");
  CHECK_THAT(report(missing), Catch::EndsWith("; and 1 more") && Catch::Contains("'Odd98'") &&
                                  !Catch::Contains("'Odd99'"));
  missing.add({}, "", "Oddity", 17, "n");
  missing.add({}, "", "Oddness", 17, "n");
  CHECK_THAT(report(missing), Catch::EndsWith("; and 3 more"));
}
