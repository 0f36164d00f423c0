#include "tests/support/op_harness.h"

#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "core/float_formats.h"
#include "graph/contract/signature.h"
#include "kernels/catalogue.h"
#include "kernels/common/element_conversion.h"
#include "tests/support/known_types.h"
#include "tests/support/same_value.h"

namespace ondine::test {

using namespace graph;  // NOLINT

const Catalogue& catalogue() {
  static const Catalogue all = kernels::catalogue();
  return all;
}

std::set<std::pair<std::string, std::string>>& exercised_operators() {
  static std::set<std::pair<std::string, std::string>> all;
  return all;
}

namespace {

// The first and the last version with the signature of the one that the case asks for.
std::set<std::int64_t> equal_versions(const OpCase& op_case) {
  const Signature* asked = find_signature(op_case.domain, op_case.op, op_case.version);
  if (asked == nullptr || !asked->deterministic()) return {};
  std::int64_t last = op_case.version;
  const std::int64_t newest = newest_version(op_case.domain);
  while (last < newest && find_signature(op_case.domain, op_case.op, last + 1) == asked) ++last;
  return {asked->since_version, last};
}

}  // namespace

std::vector<Value> run_op(const OpCase& op_case) {
  exercised_operators().insert({op_case.domain, op_case.op});
  const TypedRun run = run_known(op_case, op_case.version, Known::shapes);
  for (const std::int64_t version : equal_versions(op_case)) {
    if (version == op_case.version) continue;
    INFO(op_case.op << " of version " << version << " and of " << op_case.version);
    const auto others = run_known(op_case, version, Known::shapes).results;
    REQUIRE(others.size() == run.results.size());
    for (std::size_t i = 0; i < others.size(); ++i) CHECK(same_value(others[i], run.results[i]));
  }
  check_knowledge(op_case, run);
  return run.results;
}

Tensor run_op_tensor(const OpCase& op_case) { return run_op(op_case).at(0).tensor(); }

std::vector<double> as_doubles(const Tensor& tensor) {
  std::vector<double> out;
  if (tensor.dtype() == DType::boolean) {
    for (const bool x : tensor.values<bool>()) out.push_back(x ? 1 : 0);
    return out;
  }
  kernels::visit(tensor.dtype(), kernels::Numbers{}, [&]<class T>() {
    for (const T& x : tensor.values<T>()) out.push_back(static_cast<double>(kernels::load(x)));
  });
  return out;
}

void check_close(const Tensor& got, const Tensor& want, Closeness closeness) {
  REQUIRE(to_string(got.dtype()) == to_string(want.dtype()));
  REQUIRE(got.shape().to_string() == want.shape().to_string());
  if (!is_differentiable(want.dtype())) {
    if (!got.identical(want) && want.dtype() != DType::string && !is_float(want.dtype()) &&
        !is_complex(want.dtype()) && size_of(want.dtype()) > 0 && packed_bits(want.dtype()) >= 8) {
      CHECK(as_doubles(got) == as_doubles(want));
    }
    CHECK(got.identical(want));
    return;
  }
  const auto a = as_doubles(got);
  const auto b = as_doubles(want);
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])) ||
                      std::abs(a[i] - b[i]) <= closeness.atol + closeness.rtol * std::abs(b[i]);
    if (!same) {
      INFO("element " << i << " of " << want.shape().to_string());
      CHECK(a[i] == b[i]);
      return;
    }
  }
  SUCCEED();
}

}  // namespace ondine::test
