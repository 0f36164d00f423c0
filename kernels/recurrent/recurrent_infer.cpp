#include "kernels/recurrent/recurrent_infer.h"

#include "kernels/common/infer_checks.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

using In = RecurrentInput;

struct Sizes {
  std::int64_t directions;
  bool batch_first;
  Dim sequence_length, batch_size, input_size, hidden_size;

  Dims state() const {
    return batch_first ? Dims{batch_size, directions, hidden_size}
                       : Dims{directions, batch_size, hidden_size};
  }
};

Sizes read_sizes(const InferContext& context) {
  const auto layout = context.attr_int("layout", 0);
  if (layout != 0 && layout != 1) context.reject("layout must be 0 or 1, found ", layout);
  const Dims x = dims_of_rank(context, In::x, 3, "X");
  const bool batch_first = layout == 1;
  Sizes s{.directions = Directions(context).count,
          .batch_first = batch_first,
          .sequence_length = x[batch_first ? 1 : 0],
          .batch_size = x[batch_first ? 0 : 1],
          .input_size = x[2],
          .hidden_size = dims_of_rank(context, In::r, 3, "R")[2]};
  if (context.has_attr("hidden_size")) {
    const auto size = context.attr_int("hidden_size", 0);
    if (size < 1) context.reject("hidden_size is ", size, ", must be 1 or more");
    s.hidden_size = unify(s.hidden_size, size, "hidden sizes of R and hidden_size");
  }
  return s;
}

void check_operands(const InferContext& context, const CellTraits& cell, const Sizes& s) {
  const auto expect = [&](std::size_t i, std::string_view what, const Dims& needed) {
    if (!context.has_input(i)) return;
    const Dims found = dims_of_rank(context, i, needed.size(), what);
    for (std::size_t k = 0; k < needed.size(); ++k) {
      unify(found[k], needed[k], cat("extents of ", what));
    }
  };
  const Dim width = multiply(s.hidden_size, cell.gates);
  expect(In::w, "W", {s.directions, width, s.input_size});
  expect(In::r, "R", {s.directions, width, s.hidden_size});
  expect(In::b, "B", {s.directions, multiply(width, 2)});
  expect(In::sequence_lens, "sequence_lens", {s.batch_size});
  if (context.has_input(In::sequence_lens) && context.dtype(In::sequence_lens) != DType::int32) {
    context.reject("sequence_lens must be int32");
  }
  expect(In::initial_h, "initial_h", s.state());
  if (!cell.cell_state) return;
  expect(In::initial_c, "initial_c", s.state());
  expect(In::p, "P", {s.directions, multiply(s.hidden_size, 3)});
}

}  // namespace

void infer_recurrent(InferContext& context, const CellTraits& cell) {
  require_same_dtype(context, {In::x, In::w, In::r, In::b, In::initial_h, In::initial_c, In::p});
  const Sizes s = read_sizes(context);
  read_activations(context, cell.activations, s.directions);
  check_operands(context, cell, s);

  const RecurrentOutput out(cell);
  const DType dtype = context.dtype(In::x);
  const DType saved = dtype == DType::float64 ? dtype : DType::float32;
  const Dim rows = multiply(s.sequence_length, s.batch_size);
  context.set_output(out.y, dtype,
                     s.batch_first
                         ? Dims{s.batch_size, s.sequence_length, s.directions, s.hidden_size}
                         : Dims{s.sequence_length, s.directions, s.batch_size, s.hidden_size});
  context.set_output(out.y_h, dtype, s.state());
  context.set_output(out.gates, saved,
                     Dims{s.directions, rows, multiply(s.hidden_size, cell.saved_gates)});
  if (!cell.cell_state) return;
  context.set_output(out.y_c, dtype, s.state());
  context.set_output(out.cells, saved, Dims{s.directions, rows, s.hidden_size});
}

void infer_recurrent_grad(InferContext& context, const CellTraits& cell) {
  using Out = RecurrentGradOutput;
  const auto like = [&](std::size_t output, std::size_t input, const Dims& otherwise) {
    if (context.has_input(input)) return context.set_output(output, context.input(input));
    context.set_output(output, context.dtype(In::x), otherwise);
  };
  const Dims r = dims_of_rank(context, In::r, 3, "R");
  const Dims x = dims_of_rank(context, In::x, 3, "X");
  const bool batch_first = context.attr_int("layout", 0) != 0;
  const Dims state = batch_first ? Dims{x[0], r[0], r[2]} : Dims{r[0], x[1], r[2]};
  like(Out::dx, In::x, {});
  like(Out::dw, In::w, {});
  like(Out::dr, In::r, {});
  like(Out::db, In::b, {r[0], multiply(r[2], 2 * cell.gates)});
  like(Out::dinitial_h, In::initial_h, state);
  like(Out::dinitial_c, In::initial_c, state);
  like(Out::dp, In::p, {r[0], multiply(r[2], 3)});
}

}  // namespace ondine::kernels
