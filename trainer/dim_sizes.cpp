#include "trainer/dim_sizes.h"

#include "core/message.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

DimSizes::DimSizes(const Symbols& symbols, const DimClasses& classes) noexcept
    : symbols_(&symbols), classes_(&classes) {
  few_.fill(-1);
}

void DimSizes::check(std::string_view what, const std::string& name, const Value& value,
                     const Type& declared) {
  if (value.kind() == Value::Kind::sequence || value.kind() == Value::Kind::optional) {
    if (!declared.element) return;
    for (const Value& element : value.elements()) check(what, name, element, *declared.element);
    return;
  }
  if (!value.is_tensor() || !declared.dims) return;
  const Shape& shape = value.tensor().shape();
  for (std::size_t axis = 0; axis < declared.dims->size() && axis < shape.rank(); ++axis) {
    check_dim(what, name, (*declared.dims)[axis], shape[axis]);
  }
}

void DimSizes::check(std::string_view what, const std::string& name, const Type& actual,
                     const Type& declared) {
  if (declared.element && actual.element) check(what, name, *actual.element, *declared.element);
  if (!declared.dims || !actual.dims) return;
  for (std::size_t axis = 0; axis < declared.dims->size() && axis < actual.dims->size(); ++axis) {
    const Dim size = (*actual.dims)[axis];
    if (size.known()) check_dim(what, name, (*declared.dims)[axis], size.size());
  }
}

void DimSizes::check_dim(std::string_view what, const std::string& name, Dim declared,
                         std::int64_t actual) {
  if (!declared.is_symbolic()) return;
  const std::int64_t fixed = classes_->size(declared.symbol());
  std::int64_t& size = size_of(classes_->representative(declared.symbol()));
  if (size < 0) size = fixed < 0 ? actual : fixed;
  if (size == actual) return;
  fail(ErrorCode::mismatch, what, " ", quoted(name), " has ", actual, " for dim ",
       quoted(symbols_->names[declared.symbol()]), ", another ", fixed < 0 ? what : "value",
       fixed < 0 ? " of this call has " : " of the model always has ", size);
}

std::int64_t& DimSizes::size_of(std::size_t symbol) {
  if (symbol < few_.size()) return few_[symbol];
  if (more_.size() <= symbol) more_.resize(symbol + 1, -1);
  return more_[symbol];
}

}  // namespace ondine::trainer
