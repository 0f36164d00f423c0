#include "kernels/elementwise/elementwise.h"

#include <algorithm>

namespace ondine::kernels {
namespace {

constexpr std::int64_t block = 256;    // elements converted at a time
constexpr std::int64_t copied = 1024;  // elements copied at a time

template <class T>
void copy_row(void* to, const void* from, std::int64_t n) {
  std::copy_n(static_cast<const T*>(from), n, static_cast<T*>(to));
}

using PutRow = void (*)(void* to, const void* from, std::int64_t n, bool repeated);

// Data of a running kernel, fixed when it is bound.
struct ElementwiseLoop {
  Broadcast broadcast;
  Row row;
  RowFunction function;
  ConvertRow narrow;
  std::size_t count;
  std::size_t out_size;
  std::array<std::size_t, Broadcast::max_operands> inputs{};
  std::array<std::size_t, Broadcast::max_operands> sizes{};
  std::array<ConvertRow, Broadcast::max_operands> converts{};
  bool converting = false;
  bool joins = false;  // operands with a function in `puts` are written out
  std::array<PutRow, Broadcast::max_operands> puts{};
  ConvertRow copy = nullptr;
  std::size_t copy_size = 0;

  void run(const Row& part) const { converting ? run_converted(part) : function(part); }
  void run_converted(Row part) const;
  void run_copying(Row part, void* to) const;
  void run_run(const Row& part, std::int64_t y, void* copies) const;
  void join_short_runs(std::span<const Shape> shapes, std::int64_t size);
  void run_joined(const Row& whole, std::int64_t first, std::int64_t last, void* copies) const;
  void operator()(graph::KernelContext& call) const;
};

const void* skip(const void* p, std::int64_t elements, std::size_t size) {
  return static_cast<const std::byte*>(p) + static_cast<std::size_t>(elements) * size;
}
void* skip(void* p, std::int64_t elements, std::size_t size) {
  return static_cast<std::byte*>(p) + static_cast<std::size_t>(elements) * size;
}

// Long computations between loads keep hardware prefetchers from doing this in time.
void prefetch(const void* x, std::int64_t elements, std::size_t size) {
  constexpr std::int64_t line = 64;
  const std::int64_t bytes = elements * static_cast<std::int64_t>(size);
  for (std::int64_t i = 0; i < bytes; i += line) {
    __builtin_prefetch(static_cast<const std::byte*>(x) + i);
  }
}

// One run by blocks, through buffers of the type that the row function computes in.
void ElementwiseLoop::run_converted(Row whole) const {
  alignas(64) std::byte buffers[Broadcast::max_operands + 1][block * sizeof(double)];
  Row part = whole;
  for (std::int64_t done = 0; done < whole.n; done += block) {
    part.n = std::min(block, whole.n - done);
    for (std::size_t i = 0; i < count; ++i) {
      const bool repeated = whole.repeated[i];
      const void* x = repeated ? whole.x[i] : skip(whole.x[i], done, sizes[i]);
      part.x[i] = x;
      if (!repeated) prefetch(skip(x, 2 * block, sizes[i]), block, sizes[i]);
      if (converts[i] == nullptr) continue;
      if (!repeated || done == 0) converts[i](buffers[i], x, repeated ? 1 : part.n);
      part.x[i] = buffers[i];
    }
    void* const y = skip(whole.y, done, out_size);
    part.y = narrow != nullptr ? static_cast<void*>(buffers[Broadcast::max_operands]) : y;
    function(part);
    if (narrow != nullptr) narrow(y, part.y, part.n);
  }
}

// One run that copies operand 0, which y may overwrite.
void ElementwiseLoop::run_copying(Row part, void* to) const {
  const Row whole = part;
  for (std::int64_t done = 0; done < whole.n; done += copied) {
    part.n = std::min(copied, whole.n - done);
    for (std::size_t i = 0; i < count; ++i) {
      if (!whole.repeated[i]) part.x[i] = skip(whole.x[i], done, sizes[i]);
    }
    part.y = skip(whole.y, done, out_size);
    copy(skip(to, done, copy_size), part.x[0], part.n);
    run(part);
  }
}

void ElementwiseLoop::run_run(const Row& part, std::int64_t y, void* copies) const {
  if (copy != nullptr) return run_copying(part, skip(copies, y, copy_size));
  run(part);
}

// n elements from x on, or the one at x.
template <class T>
void put_row(void* to, const void* from, std::int64_t n, bool repeated) {
  T* y = static_cast<T*>(to);
  const T* x = static_cast<const T*>(from);
  for (std::int64_t j = 0; j < n; ++j) y[j] = x[repeated ? 0 : j];
}

PutRow put_row_of(std::size_t size) {
  if (size == 1) return &put_row<std::uint8_t>;
  if (size == 2) return &put_row<std::uint16_t>;
  if (size == 4) return &put_row<std::uint32_t>;
  return size == 8 ? &put_row<std::uint64_t> : nullptr;
}

// Runs that are so short that a call of the row function costs more than joining several.
void ElementwiseLoop::join_short_runs(std::span<const Shape> shapes, std::int64_t size) {
  constexpr std::int64_t longest = 32;
  std::int64_t length = 0;
  broadcast.for_runs(
      0, std::min(size, longest + 1),
      [&](std::int64_t, std::int64_t n, const auto&) { length = std::max(length, n); });
  if (length > longest || size < 4 * length) return;
  for (std::size_t i = 0; i < count; ++i) {
    if (put_row_of(sizes[i]) == nullptr) return;
    const bool whole = shapes[i].size() == size || shapes[i].size() == 1;
    if (!whole) puts[i] = put_row_of(sizes[i]);
  }
  joins = true;
}

// Operands that are broadcast are written out for several runs at a time.
void ElementwiseLoop::run_joined(const Row& whole, std::int64_t first, std::int64_t last,
                                 void* copies) const {
  constexpr std::int64_t joined = 512;  // elements
  alignas(64) std::byte buffers[Broadcast::max_operands][joined * sizeof(double)];
  for (; first < last; first += joined) {
    const std::int64_t end = std::min(last, first + joined);
    broadcast.for_runs(first, end, [&](std::int64_t y, std::int64_t n, const auto& x) {
      for (std::size_t i = 0; i < count; ++i) {
        if (puts[i] == nullptr) continue;
        puts[i](skip(static_cast<void*>(buffers[i]), y - first, sizes[i]),
                skip(whole.x[i], x[i], sizes[i]), n, whole.repeated[i]);
      }
    });
    Row part = whole;
    part.n = end - first;
    part.y = skip(whole.y, first, out_size);
    for (std::size_t i = 0; i < count; ++i) {
      part.repeated[i] = whole.repeated[i] && puts[i] == nullptr;
      if (puts[i] != nullptr) {
        part.x[i] = buffers[i];
      } else if (!part.repeated[i]) {
        part.x[i] = skip(whole.x[i], first, sizes[i]);
      }
    }
    run_run(part, first, copies);
  }
}

void ElementwiseLoop::operator()(graph::KernelContext& call) const {
  Row whole = row;
  whole.y = call.out<void>(0);
  void* const copies = copy != nullptr ? call.out<void>(1) : nullptr;
  for (std::size_t i = 0; i < count; ++i) whole.x[i] = call.in<void>(inputs[i]);
  call.pool().for_chunks(
      broadcast.size(), elementwise_grain, [&](std::int64_t first, std::int64_t last) {
        if (joins) return run_joined(whole, first, last, copies);
        broadcast.for_runs(first, last, [&](std::int64_t y, std::int64_t n, const auto& x) {
          Row part = whole;
          part.n = n;
          part.y = skip(whole.y, y, out_size);
          for (std::size_t i = 0; i < count; ++i) part.x[i] = skip(whole.x[i], x[i], sizes[i]);
          run_run(part, y, copies);
        });
      });
}

}  // namespace

Kernel elementwise(const graph::BindContext& context, const Elementwise& what) {
  std::vector<Shape> shapes;
  for (const auto& operand : what.operands) shapes.push_back(operand.shape);
  auto walk = std::make_shared<ElementwiseLoop>(
      ElementwiseLoop{.broadcast = Broadcast(what.out, shapes),
                      .row = {},
                      .function = what.row,
                      .narrow = what.narrow,
                      .count = shapes.size(),
                      .out_size = size_of(context.output_dtype(0)),
                      .copy = what.copy});
  if (what.copy != nullptr) walk->copy_size = size_of(context.output_dtype(1));
  walk->row.params = what.params;
  walk->converting = what.narrow != nullptr;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const auto& operand = what.operands[i];
    walk->row.repeated[i] = walk->broadcast.repeated(i);
    walk->inputs[i] = operand.input;
    walk->sizes[i] = size_of(context.dtype(operand.input));
    walk->converts[i] = operand.convert;
    walk->converting = walk->converting || operand.convert != nullptr;
  }
  walk->join_short_runs(shapes, what.out.size());
  return [walk](graph::KernelContext& call) { (*walk)(call); };
}

Kernel elementwise(const graph::BindContext& context, RowFunction row, Params params) {
  Elementwise what{.row = row, .params = params, .operands = {}, .out = {}};
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const DType dtype = context.dtype(i);
    const bool widened = compute_dtype(dtype) != dtype;
    what.operands.push_back({i, context.shape(i), widened ? row_to_float(dtype) : nullptr});
  }
  what.out = *context.output_shape(0);
  const DType out = context.output_dtype(0);
  if (compute_dtype(out) != out) what.narrow = row_from_float(out);
  if (context.has_output(1)) {
    const bool is_rounded = context.dtype(0) == DType::bfloat16;
    what.copy = is_rounded ? &copy_row<std::uint16_t> : row_from_float(context.output_dtype(1));
  }
  return elementwise(context, what);
}

DType compute_dtype(DType dtype) noexcept {
  const bool narrow = is_float(dtype) && dtype != DType::float64;
  return narrow ? DType::float32 : dtype;
}

}  // namespace ondine::kernels
