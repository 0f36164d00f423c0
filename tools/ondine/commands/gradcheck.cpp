#include <ondine/gradcheck.h>
#include <ondine/printable.h>

#include <cstdio>
#include <iostream>
#include <memory>

#include "ondine/command.h"
#include "ondine/common.h"
#include "ondine/synthetic.h"

namespace ondine::cli {
namespace {

struct GradcheckArguments {
  std::string model;
  std::int64_t dim_size = 3;
  std::vector<std::string> shapes;
  bool as_is = false;
  GradcheckOptions check;
  LoadOptions load;
};

const char* remark(const GradcheckResult& result) {
  if (!result.kink) return "";
  return result.passed ? "  near a kink" : "  on a kink: try --perturb 0.01";
}

int run_gradcheck(const GradcheckArguments& options) {
  const GradientCheck check(options.model, options.check, options.load);
  print_warnings(check.warnings());
  const std::vector<PortInfo> inputs = check.inputs();
  const NamedValues feeds = synthetic_feeds(inputs, options.dim_size, options.check.seed + 1,
                                            parse_shapes(options.shapes, inputs));
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
  auto options = std::make_shared<GradcheckArguments>();
  Command command = parser.add(
      "gradcheck", "Compare the derivatives of every trained variable with numeric ones",
      "  ondine gradcheck train.onnx\n  ondine gradcheck train.onnx --dim-size 2 --seed 7\n"
      "  ondine gradcheck train.onnx --shape label=3x10\n");
  command.option("MODEL", &options->model, "Training model").required();
  command.option("--dim-size", &options->dim_size, "Size of dynamic dimensions").positive();
  command.renamed("--batch", "--dim-size");
  command.option("--shape", &options->shapes,
                 "INPUT=DIMxDIMx..., the shape of an input whose shape is not known or dynamic");
  command.option("--algorithm", &options->check.algorithm, "Index of the training algorithm");
  command
      .option("--directions", &options->check.directions,
              "Number of random directions for each variable")
      .positive();
  command.option("--seed", &options->check.seed, "Seed of the data and directions");
  command.option("--perturb", &options->check.perturbation,
                 "Move the variables by random amounts of this relative size first");
  command.option("--as-is", &options->as_is, "Keep the model's precision instead of float64");
  add_operator_sets(command, options->load);
  command.runs([options] {
    options->check.widen = !options->as_is;
    return run_gradcheck(*options);
  });
}

}  // namespace ondine::cli
