#include "graph/check/findings.h"

#include <catch2/catch.hpp>

namespace ondine::graph {
namespace {

TEST_CASE("all findings come as one error with a line each and the gravest code") {
  Findings findings;
  CHECK_NOTHROW(findings.throw_if_any());
  findings.add(ErrorCode::unsupported, "no ", 1);
  findings.add(ErrorCode::invalid_model, "bad ", 2);
  findings.add(ErrorCode::limit, "big ", 3);
  CHECK(findings.count() == 3);
  try {
    findings.throw_if_any();
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_model);
    CHECK(error.message() == "no 1\nbad 2\nbig 3");
  }
}

TEST_CASE("findings beyond the limit are counted, not kept") {
  Findings findings(2);
  for (int i = 0; i < 5; ++i) findings.add(ErrorCode::limit, "finding ", i);
  CHECK(findings.texts() == std::vector<std::string>{"finding 0", "finding 1", "... and 3 more"});
}

TEST_CASE("a finding is one line, whatever the names in it") {
  Findings findings;
  findings.collect([] {
    with_context([] { fail(ErrorCode::mismatch, "one\ntwo"); }, [] { return "node\n'a'"; });
  });
  CHECK(findings.texts() == std::vector<std::string>{"one two, in node 'a'"});
}

TEST_CASE("an error of a graph that is part of several is one finding") {
  Findings findings;
  for (int i = 0; i < 2; ++i) findings.add_once(Error(ErrorCode::mismatch, "dims differ"));
  CHECK(findings.texts() == std::vector<std::string>{"dims differ"});
  CHECK(findings.count() == 1);
}

TEST_CASE("errors about the model become findings, others pass through") {
  Findings findings;
  CHECK(findings.collect([] {}));
  CHECK_FALSE(findings.collect([] {
    with_context([] { fail(ErrorCode::mismatch, "dims differ"); }, [] { return "node 'a'"; });
  }));
  CHECK(findings.texts() == std::vector<std::string>{"dims differ, in node 'a'"});
  CHECK_THROWS_AS(findings.collect([] { fail(ErrorCode::io, "disk"); }), Error);
  CHECK_THROWS_AS(findings.collect([] { fail(ErrorCode::internal, "defect"); }), Error);
}

}  // namespace
}  // namespace ondine::graph
