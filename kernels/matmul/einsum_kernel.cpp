#include <algorithm>
#include <map>
#include <numeric>

#include "core/checked.h"
#include "core/stop.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/element_conversion.h"
#include "kernels/matmul/einsum.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/product_kernels.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

using Strides = std::vector<std::int64_t>;

// Numbers of labels: letters, and the broadcast dims counted from the last one.
struct Labels {
  std::map<std::pair<char, std::size_t>, std::size_t> index;
  Strides sizes;

  std::vector<std::size_t> of(const EinsumTerm& term, const Shape& shape) {
    const bool dots = term.find('.') != EinsumTerm::npos;
    const std::size_t letters = term.size() - (dots ? 1 : 0);
    // The output may leave dots out of shapes that are too short for its letters.
    if (shape.rank() < letters || (!dots && shape.rank() != letters)) {
      fail(ErrorCode::mismatch, "term ", ondine::quoted(to_string(term)), " does not fit shape ",
           shape);
    }
    const std::size_t dotted = shape.rank() - letters;
    std::vector<std::size_t> labels;
    for (const char c : term) {
      const std::size_t count = c == '.' ? dotted : 1;
      for (std::size_t i = 0; i < count; ++i) {
        add({c, c == '.' ? count - i : 0}, shape[labels.size()], labels);
      }
    }
    return labels;
  }

 private:
  void add(std::pair<char, std::size_t> name, std::int64_t size, std::vector<std::size_t>& labels) {
    const auto [found, fresh] = index.try_emplace(name, sizes.size());
    if (fresh) sizes.push_back(size);
    std::int64_t& have = sizes[found->second];
    if (have != size && have != 1 && size != 1) {
      fail(ErrorCode::mismatch, "dims of one label differ: ", have, " and ", size);
    }
    if (have == 1) have = size;
    labels.push_back(found->second);
  }
};

Strides strides_of(const std::vector<std::size_t>& labels, const Shape& shape, std::size_t count) {
  Strides strides(count);
  std::int64_t stride = 1;
  for (std::size_t i = labels.size(); i-- > 0;) {
    if (shape[i] != 1) strides[labels[i]] += stride;
    stride *= shape[i];
  }
  return strides;
}

// Calls body(offset of each term) for all values of the labels [from, sizes.size()).
template <class Body>
void walk(const EinsumLoops& loops, std::size_t label, std::span<const std::int64_t> offsets,
          std::span<std::int64_t> memory, Body& body) {
  if (label == loops.sizes.size()) return body(offsets);
  const std::size_t terms = offsets.size();
  const std::span<std::int64_t> own = memory.first(terms);
  std::copy(offsets.begin(), offsets.end(), own.begin());
  const bool innermost = label + 1 == loops.sizes.size();
  for (std::int64_t i = 0; i < loops.sizes[label]; ++i) {
    if (!innermost || i % 1024 == 0) checkpoint(innermost ? 4096 : 4);
    walk(loops, label + 1, own, memory.subspan(terms), body);
    for (std::size_t k = 0; k < terms; ++k) own[k] += loops.strides[k][label];
  }
}

// A is the type of the sums.
template <class T, class A, class Load>
void run_loops(ThreadPool& pool, const EinsumLoops& loops, std::span<const T* const> in, A* out,
               Load load) {
  const std::size_t terms = loops.strides.size();
  // The first label may be split into chunks if it is one of the output.
  const bool split = !loops.sizes.empty() && loops.strides.back()[0] != 0;
  pool.for_chunks(split ? loops.sizes[0] : 1, 1, [&](std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> memory((loops.sizes.size() + 2) * terms);
    std::vector<std::int64_t> start(terms);
    const auto body = [&](std::span<const std::int64_t> at) {
      auto product = static_cast<A>(load(in[0][at[0]]));
      for (std::size_t k = 1; k + 1 < terms; ++k) {
        product = static_cast<A>(product * static_cast<A>(load(in[k][at[k]])));
      }
      out[at[terms - 1]] = static_cast<A>(out[at[terms - 1]] + product);
    };
    if (!split) return walk(loops, 0, start, memory, body);
    for (auto i = first; i < last; ++i) {
      for (std::size_t k = 0; k < terms; ++k) start[k] = i * loops.strides[k][0];
      walk(loops, 1, start, memory, body);
    }
  });
}

// Two operands as a batch of matrix products of rearranged copies.
struct Matrices {
  // Labels of batch, rows, columns and of the sums.
  std::vector<std::size_t> batch, rows, columns, sums;
};

std::optional<Matrices> as_matrices(const EinsumLoops& loops,
                                    const std::vector<std::vector<std::size_t>>& labels,
                                    std::int64_t output_size) {
  if (labels.size() != 3) return std::nullopt;
  const auto has = [&](std::size_t k, std::size_t label) {
    return loops.strides[k][label] != 0 || loops.sizes[label] == 1;
  };
  for (const auto& term : labels) {
    for (const std::size_t l : term) {
      if (std::count(term.begin(), term.end(), l) != 1) return std::nullopt;
    }
  }
  Matrices m;
  std::int64_t size = 1;
  for (std::size_t l = 0; l < loops.sizes.size(); ++l) {
    if (loops.sizes[l] == 1) continue;
    const bool a = has(0, l);
    const bool b = has(1, l);
    const bool y = has(2, l);
    if (y) size *= loops.sizes[l];
    if (a && b && y) {
      m.batch.push_back(l);
    } else if (a && y) {
      m.rows.push_back(l);
    } else if (b && y) {
      m.columns.push_back(l);
    } else if (a && b) {
      m.sums.push_back(l);
    } else {
      return std::nullopt;
    }
  }
  if (size != output_size) return std::nullopt;
  return m;
}

// Copies between an array with the given strides and a dense one over `labels`.
class Rearranged {
 public:
  Rearranged(const EinsumLoops& loops, const Strides& strides,
             std::initializer_list<const std::vector<std::size_t>*> labels) {
    std::int64_t dense = 1;
    for (const auto* group : labels) {
      for (const std::size_t l : *group) {
        axes_.emplace_back(loops.sizes[l], strides[l]);
        dense *= loops.sizes[l];
      }
    }
    size_ = dense;
    for (const auto& [size, stride] : axes_) {
      dense /= std::max<std::int64_t>(size, 1);
      same_ = same_ && stride == dense;
    }
  }
  std::int64_t size() const noexcept { return size_; }
  bool same() const noexcept { return same_; }

  template <class C>
  void gather(ThreadPool& pool, const C* from, C* to) const {
    pool.for_chunks(size_, 16384, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) to[i] = from[offset(i)];
    });
  }
  template <class C>
  void scatter(ThreadPool& pool, const C* from, C* to) const {
    pool.for_chunks(size_, 16384, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) to[offset(i)] = from[i];
    });
  }

 private:
  std::int64_t offset(std::int64_t i) const {
    std::int64_t at = 0;
    for (std::size_t k = axes_.size(); k-- > 0;) {
      at += i % axes_[k].first * axes_[k].second;
      i /= axes_[k].first;
    }
    return at;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> axes_;
  std::int64_t size_ = 1;
  bool same_ = true;
};

std::int64_t size_of(const EinsumLoops& loops, const std::vector<std::size_t>& labels) {
  std::int64_t size = 1;
  for (const std::size_t l : labels) size = checked_mul(size, loops.sizes[l]);
  return size;
}

template <class C>
Kernel bind_products(BindContext& context, const EinsumLoops& loops, const Matrices& m,
                     std::size_t first, std::int64_t size) {
  const Rearranged a(loops, loops.strides[0], {&m.batch, &m.rows, &m.sums});
  const Rearranged b(loops, loops.strides[1], {&m.batch, &m.sums, &m.columns});
  const Rearranged y(loops, loops.strides[2], {&m.batch, &m.rows, &m.columns});
  const math::GemmShape shape{
      .m = size_of(loops, m.rows), .n = size_of(loops, m.columns), .k = size_of(loops, m.sums)};
  const math::GemmBatch batch{.count = size_of(loops, m.batch),
                              .stride_a = shape.m * shape.k,
                              .stride_b = shape.k * shape.n,
                              .stride_c = shape.m * shape.n};
  Scratch scratch;
  const ComputeIn<C> a_in(context, scratch, first);
  const ComputeIn<C> b_in(context, scratch, first + 1);
  const ComputeOut<C> out(context, scratch, 0, size);
  const std::size_t a_copy = a.same() ? 0 : scratch.add<C>(a.size());
  const std::size_t b_copy = b.same() ? 0 : scratch.add<C>(b.size());
  const std::size_t y_copy = y.same() ? 0 : scratch.add<C>(y.size());
  const math::GemmPrimitive<C> gemm(shape, batch.count, context.threads(),
                                    product_kernels(context));
  const std::size_t work = scratch.add_bytes(gemm.workspace());
  context.set_implementation(gemm.name(), gemm.isa());
  scratch.request(context);
  return [=](KernelContext& call) {
    if (size == 0) return;
    const auto source = [&](const Rearranged& r, const C* from, std::size_t copy) {
      if (r.same()) return from;
      C* to = Scratch::at<C>(call, copy);
      r.gather(call.pool(), from, to);
      return static_cast<const C*>(to);
    };
    C* to = out.data(call);
    C* dense = y.same() ? to : Scratch::at<C>(call, y_copy);
    gemm.run(call.pool(), batch, source(a, a_in(call), a_copy), source(b, b_in(call), b_copy),
             dense, {}, Scratch::at<std::byte>(call, work));
    if (!y.same()) y.scatter(call.pool(), dense, to);
    out.store(call);
  };
}

template <class C>
Kernel bind_float(BindContext& context, const EinsumLoops& loops, std::size_t first,
                  std::int64_t size) {
  Scratch scratch;
  std::vector<ComputeIn<C>> inputs;
  for (std::size_t k = 0; k + 1 < loops.strides.size(); ++k) {
    inputs.emplace_back(context, scratch, first + k);
  }
  const ComputeOut<C> out(context, scratch, 0, size);
  scratch.request(context);
  return [=](KernelContext& call) {
    std::vector<const C*> in;
    for (const auto& input : inputs) in.push_back(input(call));
    C* to = out.data(call);
    std::fill_n(to, size, C{0});
    run_loops<C, C>(call.pool(), loops, in, to, [](C x) { return x; });
    out.store(call);
  };
}

// Sums modulo 2^bits.
template <class T>
Kernel bind_integer(const EinsumLoops& loops, std::size_t first, std::int64_t size) {
  using U = std::make_unsigned_t<T>;
  return [=](KernelContext& call) {
    std::vector<const T*> in;
    for (std::size_t k = 0; k + 1 < loops.strides.size(); ++k) in.push_back(call.in<T>(first + k));
    auto* to = call.out<U>(0);
    std::fill_n(to, size, U{0});
    run_loops<T, U>(call.pool(), loops, in, to,
                    [](T x) { return static_cast<std::uint64_t>(static_cast<U>(x)); });
  };
}

}  // namespace

Kernel bind_einsum(BindContext& context, const EinsumEquation& equation, std::size_t first) {
  Labels labels;
  const Shape y = *context.output_shape(0);
  // The output's labels first: the outer loops run over elements of the output.
  std::vector<std::vector<std::size_t>> terms;
  std::vector<Shape> shapes;
  const auto output = labels.of(equation.output, y);
  for (std::size_t k = 0; k < equation.operands.size(); ++k) {
    shapes.push_back(context.shape(first + k));
    terms.push_back(labels.of(equation.operands[k], shapes.back()));
  }
  terms.push_back(output);
  shapes.push_back(y);
  EinsumLoops loops{labels.sizes, {}};
  for (std::size_t k = 0; k < terms.size(); ++k) {
    loops.strides.push_back(strides_of(terms[k], shapes[k], labels.sizes.size()));
  }
  std::int64_t points = 1;
  for (const std::int64_t size : loops.sizes) points = checked_mul(points, size);
  if (static_cast<std::uint64_t>(points) > context.limits().einsum_points) {
    fail(ErrorCode::limit, "Einsum over ", points, " products, the limit is ",
         context.limits().einsum_points);
  }
  const std::int64_t size = y.size();
  const DType dtype = context.dtype(first);
  if (is_integer(dtype)) {
    return visit(dtype, Integers{},
                 [&]<class T>() -> Kernel { return bind_integer<T>(loops, first, size); });
  }
  const auto matrices = as_matrices(loops, terms, size);
  return visit_compute(dtype, [&]<class C>() -> Kernel {
    if (matrices) return bind_products<C>(context, loops, *matrices, first, size);
    return bind_float<C>(context, loops, first, size);
  });
}

}  // namespace ondine::kernels
