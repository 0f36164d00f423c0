// reshape.cpp — y has x's elements in a new shape: -1 is inferred, 0 copies x's dim; dx = dy in x's
// shape. Version 1 has the shape as an attribute, 5 as an input; 14 adds allowzero (0 is a dim).
#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/checked.h"
#include "kernels/common/reshape_kernel.h"

namespace ondine::kernels::ops {
namespace {

Shape resolve(const Shape& x, std::span<const std::int64_t> target, bool allow_zero) {
  Shape out;
  std::optional<std::size_t> inferred;
  bool zero = false;
  for (std::size_t i = 0; i < target.size(); ++i) {
    std::int64_t dim = target[i];
    if (dim == 0 && !allow_zero) {
      if (i >= x.rank()) {
        fail(ErrorCode::mismatch, "shape element ", i, " is 0, but the input has rank ", x.rank());
      }
      dim = x[i];
    } else if (dim == 0) {
      zero = true;
    } else if (dim == -1) {
      if (inferred) fail(ErrorCode::mismatch, "more than one -1 in the shape");
      inferred = i;
      dim = 1;
    } else if (dim < 0) {
      fail(ErrorCode::mismatch, "shape element ", i, " is ", dim);
    }
    out.push_back(dim);
  }
  const std::int64_t have = x.size();
  const std::int64_t rest = out.size();
  if (inferred && zero) fail(ErrorCode::mismatch, "-1 and 0 in one shape with allowzero");
  if (inferred) {
    if (rest == 0 ? have != 0 : have % rest != 0) {
      fail(ErrorCode::mismatch, "cannot reshape ", x, ": ", have,
           " elements are not a multiple of ", rest);
    }
    out[*inferred] = rest == 0 ? 0 : have / rest;
  } else if (have != rest) {
    fail(ErrorCode::mismatch, "cannot reshape ", x, " to ", out, ": ", have, " elements, not ",
         rest);
  }
  return out;
}

// How many elements dims have: a number times the sizes of symbols; nothing if one is dynamic.
struct Elements {
  Dim number = 1;
  std::vector<std::uint32_t> symbols;

  static std::optional<Elements> of(std::span<const Dim> dims) {
    Elements elements;
    for (const Dim dim : dims) {
      if (!dim.known() && !dim.has_symbol()) return std::nullopt;
      elements.number = multiply(elements.number, dim.known() ? dim : Dim(dim.factor()));
      if (dim.has_symbol()) elements.symbols.push_back(dim.symbol());
    }
    return elements;
  }
};

// The one dim of the result that is not given: the input's dims over the other ones, after
// cancelling those that are the same.
Dim remaining(Dims have, Dims others) {
  std::erase_if(others, [&](Dim dim) {
    const auto same = std::ranges::find_if(have, [&](Dim d) { return d.same(dim); });
    if (same == have.end()) return false;
    have.erase(same);
    return true;
  });
  auto above = Elements::of(have);
  const auto below = Elements::of(others);
  if (!above || !below || below->number.same(0)) return {};
  for (const std::uint32_t symbol : below->symbols) {
    const auto same = std::ranges::find(above->symbols, symbol);
    if (same == above->symbols.end()) return {};
    above->symbols.erase(same);
  }
  if (above->symbols.size() > 1 || above->number.size() % below->number.size() != 0) return {};
  const std::int64_t quotient = above->number.size() / below->number.size();
  return above->symbols.empty() ? Dim(quotient) : Dim::multiple(quotient, above->symbols[0]);
}

Dims infer_dims(const InferContext& context, const Dims& target,
                std::optional<std::size_t> inferred) {
  Dims dims = target;
  Dims others;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (inferred && i == *inferred) continue;
    if (!inferred && !dims[i].known() && !dims[i].has_symbol()) {
      inferred = i;  // an unknown dim is inferred like a -1
      continue;
    }
    others.push_back(dims[i]);
  }
  if (inferred && context.ranked(0)) {
    const Dim left = remaining(context.dims(0), others);
    if (left.known() || left.has_symbol()) dims[*inferred] = left;
  }
  return dims;
}

void infer(InferContext& context) {
  const bool allow_zero = context.attr_int("allowzero", 0) != 0;
  const IntegerParameter target(context, "shape", 5, 1);
  if (context.version() >= 5) context.input(1);
  const auto copied = [&](std::size_t i) {
    if (!context.ranked(0)) return Dim();
    if (i >= context.rank(0)) {
      context.reject("shape element ", i, " is 0, but the input has rank ", context.rank(0));
    }
    return context.dims(0)[i];
  };
  if (target.known()) {
    const auto values = target.values();
    if (const auto shape = context.input(0).shape()) {
      return set_reshaped_output(context, to_dims(resolve(*shape, values, allow_zero)));
    }
    Dims dims;
    std::optional<std::size_t> inferred;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i] == -1) {
        if (inferred) context.reject("more than one -1 in the shape");
        inferred = i;
        dims.emplace_back();
      } else if (values[i] < 0) {
        context.reject("shape element ", i, " is ", values[i]);
      } else {
        dims.push_back(values[i] == 0 && !allow_zero ? copied(i) : Dim(values[i]));
      }
    }
    return set_reshaped_output(context, inferred ? infer_dims(context, dims, inferred) : dims);
  }
  if (auto dims = context.known_dims(1)) {
    for (std::size_t i = 0; i < dims->size(); ++i) {
      if ((*dims)[i].same(0) && !allow_zero) (*dims)[i] = copied(i);
    }
    return set_reshaped_output(context, infer_dims(context, *dims, {}));
  }
  const auto count = target.count();
  if (!count || *count > static_cast<std::int64_t>(Shape::max_rank)) {
    return set_reshaped_output(context, std::nullopt);
  }
  set_reshaped_output(context, Dims(static_cast<std::size_t>(*count)));
}

Kernel bind(BindContext& context) {
  const bool allow_zero = context.attr_int("allowzero", 0) != 0;
  return bind_reshape(context, IntegerParameter(context, "shape", 5, 1),
                      [allow_zero, x = context.shape(0)](std::span<const std::int64_t> target) {
                        return resolve(x, target, allow_zero);
                      });
}

}  // namespace

extern const OpDef reshape_op{.name = "Reshape",
                              .infer = infer,
                              .bind = bind,
                              .grad = reshape_gradient,
                              .traits = reshape_traits,
                              .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
