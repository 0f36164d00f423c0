#include "tests/deadline/worst_cases.h"

namespace ondine::test {

const std::set<std::string>& unary_operators() {
  static const std::set<std::string> names{
      ":Abs", ":Acos", ":Acosh", ":Asin", ":Asinh", ":Atan", ":Atanh", ":Ceil", ":Cos", ":Cosh", ":Elu", ":Erf", ":Exp", ":Floor", ":HardSigmoid", ":HardSwish", ":LeakyRelu", ":Log", ":Mish", ":Neg", ":Reciprocal", ":Relu", ":Round", ":Selu", ":Shrink", ":Sigmoid", ":Sign", ":Sin", ":Sinh", ":Softplus", ":Softsign", ":Sqrt", ":Tan", ":Tanh", ":ThresholdedRelu", ":Celu", ":Gelu", ":IsNaN", ":IsInf"};
  return names;
}

const std::set<std::string>& linear_operators() {
  static const std::set<std::string> names{
      // LINEAR
  };
  return names;
}

}  // namespace ondine::test
