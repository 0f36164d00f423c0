// Chen et al. 2023, Symbolic Discovery of Optimization Algorithms, algorithm 2:
//   u = sign(beta1 m + (1 - beta1) g), x <- x - rate (u + decay x), m <- beta2 m + (1 - beta2) g
#include "graph/training/prepare/updates/rules.h"

namespace ondine::graph {
namespace {

// Sign is in ai.onnx from 9 on.
std::string write_sign(StepWriter& writer, const std::string& value, DType dtype,
                       const std::string& hint) {
  if (writer.writer().opset() >= 9) return writer.apply("Sign", value, hint);
  const std::string& zero = writer.number("zero", 0, dtype);
  const auto is = [&](const char* op, const char* what) {
    const std::string flags = writer.writer().node(op, {value, zero}, hint + what);
    return writer.writer().cast(flags, dtype, hint + what);
  };
  return writer.sub(is("Greater", ".positive"), is("Less", ".negative"), hint);
}

}  // namespace

std::string write_lion(StepWriter& writer, const ParameterStep& step, const Lion& settings) {
  const DType dtype = step.dtype;
  const std::string& name = step.parameter->name;
  const Tensor zeros(dtype, step.shape());
  const std::string m = writer.state(name + ".momentum", zeros);
  const std::string mixed = writer.blend(m, step.g, settings.beta1, dtype, step.x + ".direction");
  const std::string sign = write_sign(writer, mixed, dtype, step.x + ".sign");
  const std::string change =
      writer.mul(sign, step.rate->as(writer.writer(), dtype), step.x + ".change");
  const bool decays = step.decay != 0;
  const std::string stepped =
      writer.sub(step.x, change, decays ? step.x + ".undecayed" : step.next);
  const std::string next = writer.blend(m, step.g, settings.beta2, dtype, writer.next_hint(m));
  writer.bind(m, next, zeros);
  return decays ? writer.decayed(step, stepped, step.x) : stepped;
}

}  // namespace ondine::graph
