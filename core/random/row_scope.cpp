#include "core/random/row_scope.h"

namespace ondine {
namespace {

constinit thread_local const RowScope* present = nullptr;

}  // namespace

RowScope::RowScope(const RowRange& rows, std::uint64_t step) noexcept
    : rows_(rows), step_(step), outer_(present) {
  present = this;
}

RowScope::~RowScope() { present = outer_; }

const RowScope* RowScope::current() noexcept { return present; }

}  // namespace ondine
