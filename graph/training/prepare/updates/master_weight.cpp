#include "graph/training/prepare/updates/master_weight.h"

#include "core/to_doubles.h"
#include "graph/training/prepare/losses/label_loss.h"

namespace ondine::graph {
namespace {

Tensor to_float32(const Tensor& tensor) {
  Tensor result(DType::float32, tensor.shape());
  const ReadElement read = element_reader(tensor.dtype());
  const auto values = result.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(read(tensor.data(), i));
  }
  return result;
}

// Equal compares numbers with fractions since version 11.
std::string write_equal(GraphWriter& writer, const std::string& a, const std::string& b,
                        const std::string& hint) {
  if (writer.opset() >= 11) return writer.node("Equal", {a, b}, hint);
  const std::string less = writer.node("Less", {a, b}, hint + ".less");
  const std::string greater = writer.node("Greater", {a, b}, hint + ".greater");
  return writer.node("Not", {writer.node("Or", {less, greater}, hint + ".not")}, hint);
}

}  // namespace

DType updated_type(const InitializerDef& parameter) noexcept {
  const DType dtype = parameter.value.dtype();
  return is_low_precision(dtype) ? DType::float32 : dtype;
}

MasterWeight write_master(GraphWriter& writer, const InitializerDef& parameter) {
  MasterWeight master;
  master.value = to_float32(parameter.value);
  master.name = writer.initializer(parameter.name + ".master", master.value);
  const std::string rounded =
      writer.cast(master.name, parameter.value.dtype(), master.name + ".rounded");
  const std::string same =
      write_equal(writer, rounded, parameter.name, master.name + ".is_current");
  const std::string given = writer.cast(parameter.name, DType::float32, parameter.name + ".float");
  master.current =
      write_choice(writer, same, master.name, given, DType::float32, master.name + ".current");
  return master;
}

}  // namespace ondine::graph
