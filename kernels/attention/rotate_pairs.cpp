// RotatePairs (ai.ondine): (x [..., width], cos, sin) -> y. Rotates the pairs (a, b) of the first
// `rotary_dim` elements of each row, or of all where that is 0: (a cos_a - b sin_a,
// b cos_b + a sin_b). The elements of a pair come from the two halves, or are adjacent with
// `interleaved`. A row of the tables has a number for each element, or with `per_pair` one for each
// pair; their other dims broadcast to those of x. With `inverse` the transposed map: (a cos_a +
// b sin_b, b cos_b - a sin_a). The derivative by x is that of dy.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/common/broadcast.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/grain.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/vector.h"

namespace ondine::kernels::ops {
namespace {

bool is_interleaved(const NodeView& node) { return node.attr_int("interleaved", 0) != 0; }
bool is_inverse(const NodeView& node) { return node.attr_int("inverse", 0) != 0; }
bool is_per_pair(const NodeView& node) { return node.attr_int("per_pair", 0) != 0; }

// How many elements of a row of this width rotate.
std::int64_t rotated_of(const NodeView& node, std::int64_t width) {
  const std::int64_t given = node.attr_int("rotary_dim", 0);
  const std::int64_t rotated = given == 0 ? width : given;
  if (rotated < 0 || rotated % 2 != 0 || rotated > width) {
    fail(ErrorCode::mismatch, rotated, " elements of rows of ", width,
         " elements rotate, needed: an even number, at most all");
  }
  return rotated;
}

void check_table(const InferContext& context, std::size_t input) {
  if (!context.ranked(0) || !context.ranked(input)) return;
  const Dims& x = context.dims(0);
  const Dims& table = context.dims(input);
  const char* const name = input == 1 ? "cos" : "sin";
  const auto reject = [&] {
    context.reject(name, " ", graph::to_string(table), " does not fit rows ", graph::to_string(x));
  };
  if (table.empty() || table.size() > x.size()) reject();
  const std::size_t skipped = x.size() - table.size();
  for (std::size_t i = 0; i + 1 < table.size(); ++i) {
    const Dim size = table[i];
    const Dim whole = x[skipped + i];
    if (size.known() && size.size() != 1 && whole.known() && whole.size() != size.size()) reject();
  }
  if (!x.back().known() || !table.back().known()) return;
  const std::int64_t rotated = rotated_of(context, x.back().size());
  if (table.back().size() != (is_per_pair(context) ? rotated / 2 : rotated)) reject();
}

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  if (context.ranked(0) && context.rank(0) == 0) context.reject("x must have rank 1 or more");
  check_table(context, 1);
  check_table(context, 2);
  context.set_output(0, context.input(0));
}

constexpr std::int64_t block = 256;  // pairs

// Every second element from the first on.
template <class C>
void take_even(C* to, const C* from, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i] = from[2 * i];
}

template <class C>
class Rotation {
 public:
  explicit Rotation(BindContext& context) : Rotation(context, Scratch{}) {}

  void operator()(KernelContext& call) const {
    const C* const cos = cos_(call);
    const C* const sin = sin_(call);
    const std::int64_t numbers = per_pair_ ? rotated_ / 2 : rotated_;
    const std::int64_t rows = rows_.size();
    const std::int64_t grain =
        std::max<std::int64_t>(1, math::elementwise_grain / std::max<std::int64_t>(1, width_));
    call.pool().for_chunks(rows, grain, [&](std::int64_t first, std::int64_t last) {
      rows_.for_runs(first, last, [&](std::int64_t row, std::int64_t n, const auto& at) {
        for (std::int64_t i = 0; i < n; ++i) {
          const auto table_row = [&](std::size_t k) { return at[k] + (rows_.repeated(k) ? 0 : i); };
          rotate(call, row + i, cos + table_row(0) * numbers, sin + table_row(1) * numbers);
        }
      });
    });
  }

 private:
  Rotation(BindContext& context, Scratch scratch)
      : width_(context.shape(0).back()),
        rotated_(rotated_of(context, width_)),
        interleaved_(is_interleaved(context)),
        inverse_(is_inverse(context)),
        per_pair_(is_per_pair(context)),
        read_(read_row<C>(context.dtype(0))),
        write_(write_row<C>(context.output_dtype(0))),
        read_size_(static_cast<std::int64_t>(size_of(context.dtype(0)))),
        written_size_(static_cast<std::int64_t>(size_of(context.output_dtype(0)))),
        cos_(context, scratch, 1),
        sin_(context, scratch, 2),
        rows_(make_rows(context)) {
    scratch.request(context);
  }

  static Shape without_last(const Shape& shape) {
    return Shape(shape.span().first(shape.rank() - 1));
  }
  static Broadcast make_rows(const BindContext& context) {
    const Shape tables[] = {without_last(context.shape(1)), without_last(context.shape(2))};
    return {without_last(context.shape(0)), tables};
  }

  // n elements of a row that begin at element `at`; `wide` is used where they are converted.
  const C* read(const std::byte* row, std::int64_t at, std::int64_t n, C* wide) const {
    const std::byte* const from = row + at * read_size_;
    if (read_ == nullptr) return reinterpret_cast<const C*>(from);
    read_(wide, from, n);
    return wide;
  }
  void write(std::byte* row, std::int64_t at, std::int64_t n, const C* values) const {
    std::byte* const to = row + at * written_size_;
    if (write_ != nullptr) return write_(to, values, n);
    std::memcpy(to, values, static_cast<std::size_t>(n) * sizeof(C));
  }

  void rotate(KernelContext& call, std::int64_t row, const C* cos, const C* sin) const {
    const std::byte* const x = call.in<std::byte>(0) + row * width_ * read_size_;
    std::byte* const y = call.out<std::byte>(0) + row * width_ * written_size_;
    for (std::int64_t at = 0; at < rotated_ / 2; at += block) {
      rotate_pairs(x, y, cos, sin, at, std::min(block, rotated_ / 2 - at));
    }
    for (std::int64_t at = rotated_; at < width_; at += block) {
      C wide[block];
      const std::int64_t n = std::min(block, width_ - at);
      const C* const values = read(x, at, n, wide);
      if (reinterpret_cast<const std::byte*>(values) != y + at * written_size_) {
        write(y, at, n, values);
      }
    }
  }

  // The numbers of the pairs from `at` on: of their first and of their second elements.
  struct Halves {
    const C* first;
    const C* second;
  };
  Halves halves_of(const C* row, std::int64_t at, std::int64_t n, C (&buffer)[2][block]) const {
    if (per_pair_) return {row + at, row + at};
    if (!interleaved_) return {row + at, row + rotated_ / 2 + at};
    take_even(buffer[0], row + 2 * at, n);
    take_even(buffer[1], row + 2 * at + 1, n);
    return {buffer[0], buffer[1]};
  }

  void rotate_pairs(const std::byte* x, std::byte* y, const C* cos_row, const C* sin_row,
                    std::int64_t at, std::int64_t n) const {
    alignas(64) C x_buffer[2][block], cos_buffer[2][block], sin_buffer[2][block], wide[2 * block];
    Halves a{};
    if (interleaved_) {
      const C* const pairs = read(x, 2 * at, 2 * n, wide);
      take_even(x_buffer[0], pairs, n);
      take_even(x_buffer[1], pairs + 1, n);
      a = {x_buffer[0], x_buffer[1]};
    } else {
      a = {read(x, at, n, x_buffer[0]), read(x, rotated_ / 2 + at, n, x_buffer[1])};
    }
    const Halves cos = halves_of(cos_row, at, n, cos_buffer);
    const Halves sin = halves_of(sin_row, at, n, sin_buffer);
    alignas(64) C first[block], second[block], crossed[block];
    const math::VectorKernels<C>& v = math::vector_kernels<C>();
    v.mul.vv(first, a.first, cos.first, n);
    v.mul.vv(crossed, a.second, inverse_ ? sin.second : sin.first, n);
    (inverse_ ? v.add : v.sub).vv(first, first, crossed, n);
    v.mul.vv(second, a.second, cos.second, n);
    v.mul.vv(crossed, a.first, inverse_ ? sin.first : sin.second, n);
    (inverse_ ? v.sub : v.add).vv(second, second, crossed, n);
    if (!interleaved_) {
      write(y, at, n, first);
      return write(y, rotated_ / 2 + at, n, second);
    }
    for (std::int64_t i = 0; i < n; ++i) {
      wide[2 * i] = first[i];
      wide[2 * i + 1] = second[i];
    }
    write(y, 2 * at, 2 * n, wide);
  }

  std::int64_t width_, rotated_;
  bool interleaved_, inverse_, per_pair_;
  ReadRow<C> read_;
  WriteRow<C> write_;
  std::int64_t read_size_, written_size_;
  ComputeIn<C> cos_, sin_;
  Broadcast rows_;
};

Kernel bind(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel { return Rotation<C>(context); });
}

std::vector<Val> grad(GradContext& g) {
  if (g.wants(1) || g.wants(2)) return grad_of_expansion(g);
  Attributes attributes;
  for (const char* name : {"rotary_dim", "interleaved", "per_pair"}) {
    attributes.emplace_back(name, g.attr_int(name, 0));
  }
  attributes.emplace_back("inverse", std::int64_t{!is_inverse(g)});
  return {g.builder().node("RotatePairs", {g.dy(0), g.x(1), g.x(2)}, attributes, ondine_domain),
          {},
          {}};
}

// The first and second elements of pairs, along the last axis.
std::array<Val, 2> split_pairs(const Val& x, bool interleaved) {
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  if (interleaved) {
    return {graph::slice(x, 0, INT64_MAX, last, 2), graph::slice(x, 1, INT64_MAX, last, 2)};
  }
  const auto halves =
      x.builder().nodes("Split", {&x, 1}, {{"axis", last}, {"num_outputs", std::int64_t{2}}}, 2);
  return {halves[0], halves[1]};
}

std::vector<Val> expand(ExpandContext& context) {
  const Val x = context.x(0);
  if (!x.ranked()) fail(ErrorCode::unsupported, "RotatePairs needs a known rank");
  const auto last = static_cast<std::int64_t>(x.rank()) - 1;
  const std::int64_t rotated = context.attr_int("rotary_dim", 0);
  const Val part = rotated > 0 ? graph::slice(x, 0, rotated, last) : x;
  const bool interleaved = is_interleaved(context);
  const bool inverse = is_inverse(context);
  const auto table = [&](std::size_t i) {
    const Val whole = context.x(i);
    return is_per_pair(context) ? std::array{whole, whole} : split_pairs(whole, interleaved);
  };
  const auto [a, b] = split_pairs(part, interleaved);
  const auto cos = table(1);
  const auto sin = table(2);
  const Val first = inverse ? a * cos[0] + b * sin[1] : a * cos[0] - b * sin[0];
  const Val second = inverse ? b * cos[1] - a * sin[0] : b * cos[1] + a * sin[1];
  Val y;
  if (interleaved) {
    const Val pairs[] = {graph::unsqueeze(first, {last + 1}), graph::unsqueeze(second, {last + 1})};
    y = graph::reshape_like(graph::concat(pairs, last + 1), part);
  } else {
    const Val halves[] = {first, second};
    y = graph::concat(halves, last);
  }
  if (rotated == 0) return {y};
  const Val both[] = {y, graph::slice(x, rotated, INT64_MAX, last)};
  return {graph::concat(both, last)};
}

}  // namespace

extern const OpDef rotate_pairs{.name = "RotatePairs",
                                .domain = ondine_domain,
                                .infer = infer,
                                .bind = bind,
                                .grad = grad,
                                .expand = expand,
                                .traits = {.inplace = 1, .per_sample = 0b111, .cannot_fail = true},
                                .rounded = {.reads = 0b1, .writes = true, .follows = true}};

}  // namespace ondine::kernels::ops
