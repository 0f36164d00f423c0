#include <ondine/gradcheck.h>
#include <ondine/printable.h>

#include <cstdio>
#include <iostream>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/synthetic.h"

namespace ondine::cli {
namespace {

const char* remark(const GradcheckResult& result) {
  if (!result.kink) return "";
  return result.passed ? "  near a kink" : "  on a kink: try --perturb 0.01";
}

GradcheckOptions gradcheck_of(const CommandOptions& options) {
  GradcheckOptions result;
  result.algorithm = options.count("algorithm");
  result.widen = !options.has("as-is");
  result.directions = static_cast<int>(options.integer("directions"));
  result.seed = options.count("seed");
  result.perturbation = options.real("perturb");
  return result;
}

int run_gradcheck(const CommandOptions& options) {
  const GradientCheck check(options.text("model"), gradcheck_of(options), load_of(options));
  print_warnings(check.warnings());
  const std::vector<PortInfo> inputs = check.inputs();
  const NamedValues feeds =
      synthetic_feeds(inputs, options.integer("dim-size"), options.count("seed") + 1,
                      parse_shapes(options.texts("shape"), inputs));
  bool passed = true;
  std::printf("%s\n", check.widened() ? "in float64" : "in the model's own precision");
  for (const GradcheckResult& result : check.run(feeds)) {
    passed = passed && result.passed;
    std::printf("%-6s %-32s analytic %13.6e  numeric %13.6e  error %9.2e%s\n",
                result.passed ? "ok" : "FAILED", printable(result.variable).c_str(),
                result.analytic, result.numeric, result.error, remark(result));
  }
  return passed ? 0 : 1;
}

}  // namespace

void add_gradcheck(Parser& parser) {
  parser.add("gradcheck", "Compare the derivatives of every trained variable with numeric ones",
             "  ondine gradcheck train.onnx\n  ondine gradcheck train.onnx --dim-size 2 --seed 7\n"
             "  ondine gradcheck train.onnx --shape label=3x10\n",
             run_gradcheck);
}

}  // namespace ondine::cli
