#include "graph/check/structure.h"

#include "graph/check/rules.h"

namespace ondine::graph {

void check_structure(const ModelDef& model, const Catalogue& catalogue, const Limits& limits,
                     Findings& findings) {
  CheckContext context{model, catalogue, limits, findings, FunctionTable(model.functions)};
  check_header(context);
  if (!check_limits(context)) return;
  context.function_attributes = FunctionAttributes(context.functions);
  check_functions(context);

  Environment environment;
  environment.opsets = Opsets(model.opsets);
  const Location location;
  Scope main;
  check_graph(model.graph, GraphRole::main, main, {context, environment, location});
  check_training(context, main, environment);
  context.missing.report(check_calls(context), findings);
}

}  // namespace ondine::graph
