#include "trainer/model/dim_sizes.h"

#include "core/message.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

void check_rank(std::string_view what, const std::string& name, const Type& declared,
                std::size_t rank) {
  if (declared.dims->size() == rank) return;
  fail(ErrorCode::mismatch, what, " ", quoted(name), " has rank ", rank, ", the model declares ",
       declared.dims->size());
}

}  // namespace

DimSizes::DimSizes(const Symbols& symbols, const DimClasses& classes) noexcept
    : symbols_(&symbols), classes_(&classes) {
  few_.fill(-1);
}

void DimSizes::check(std::string_view what, const std::string& name, const Value& value,
                     const Type& declared) {
  if (value.is_tensor()) {
    check_tensor(what, name, value.tensor().shape(), declared, Given::gives);
  } else if (value.kind() == Value::Kind::optional && declared.element) {
    for (const Value& held : value.elements()) check(what, name, held, *declared.element);
  }
}

void DimSizes::check_elements(std::string_view what, const std::string& name, const Value& value,
                              const Type& declared) {
  if (!declared.element) return;
  const bool sequence = value.kind() == Value::Kind::sequence;
  if (!sequence && value.kind() != Value::Kind::optional) return;
  for (const Value& element : value.elements()) {
    if (sequence && element.is_tensor()) {
      check_tensor(what, name, element.tensor().shape(), *declared.element, Given::compares);
    } else {
      check_elements(what, name, element, *declared.element);
    }
  }
}

void DimSizes::check(std::string_view what, const std::string& name, const Type& actual,
                     const Type& declared) {
  const bool optional = declared.kind == TypeKind::optional && declared.element && actual.element;
  if (optional) return check(what, name, *actual.element, *declared.element);
  if (!declared.dims || !actual.dims) return;
  check_rank(what, name, declared, actual.dims->size());
  for (std::size_t axis = 0; axis < declared.dims->size(); ++axis) {
    const Dim size = (*actual.dims)[axis];
    if (size.known())
      check_dim(what, name, axis, (*declared.dims)[axis], size.size(), Given::gives);
  }
}

void DimSizes::check_tensor(std::string_view what, const std::string& name, const Shape& shape,
                            const Type& declared, Given given) {
  if (!declared.dims) return;
  check_rank(what, name, declared, shape.rank());
  for (std::size_t axis = 0; axis < declared.dims->size(); ++axis) {
    check_dim(what, name, axis, (*declared.dims)[axis], shape[axis], given);
  }
}

void DimSizes::check_dim(std::string_view what, const std::string& name, std::size_t axis,
                         Dim declared, std::int64_t actual, Given given) {
  if (declared.known() && declared.size() != actual) {
    fail(ErrorCode::mismatch, what, " ", quoted(name), " has ", actual, " along axis ", axis,
         ", the model declares ", declared.size());
  }
  if (!declared.is_symbolic()) return;
  const std::int64_t fixed = classes_->size(declared.symbol());
  std::int64_t& known = size_of(classes_->representative(declared.symbol()));
  const std::int64_t size = known < 0 ? fixed : known;
  if (size < 0 && given == Given::gives) known = actual;
  if (size < 0 || size == actual) return;
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
