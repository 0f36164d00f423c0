#include "kernels/optimizer/update_sink.h"

namespace ondine::kernels::ops {

const UpdateRule& update_rule(std::string_view op) {
  for (const UpdateRule* rule :
       {&adam_rule, &momentum_rule, &adagrad_rule, &fused_elementwise_rule, &sgd_update_rule}) {
    if (rule->op == op) return *rule;
  }
  fail(ErrorCode::invalid_model, "operator ", quoted(op), " does not update a variable");
}

std::size_t variable_outputs(std::size_t inputs, std::size_t groups) {
  if (inputs != 2 + groups) {
    fail(ErrorCode::invalid_model, "an update of one variable has ", inputs,
         " inputs, needed: ", 2 + groups);
  }
  return groups - 1;
}

}  // namespace ondine::kernels::ops
