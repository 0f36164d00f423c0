#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

Directions::Directions(const graph::NodeView& node) {
  const std::string direction = node.attr_string("direction", "forward");
  reverse = direction == "reverse";
  count = direction == "bidirectional" ? 2 : 1;
  if (count == 2 || reverse || direction == "forward") return;
  fail(ErrorCode::invalid_model, "direction must be forward, reverse or bidirectional, found ",
       quoted(direction));
}

Recurrence read_recurrence(const graph::NodeView& node, const CellTraits& cell, const Shape& x,
                           const Shape& r) {
  const Directions directions(node);
  Recurrence s;
  s.cell = cell;
  s.directions = directions.count;
  s.reverse = directions.reverse;
  s.batch_first = node.attr_int("layout", 0) != 0;
  s.linear_before_reset = node.attr_int("linear_before_reset", 0) != 0;
  s.input_forget = node.attr_int("input_forget", 0) != 0;
  s.peepholes = cell.cell_state && node.has_input(RecurrentInput::p);
  s.activations = read_activations(node, cell.activations, directions.count);
  s.sequence_length = x[s.batch_first ? 1 : 0];
  s.batch_size = x[s.batch_first ? 0 : 1];
  s.input_size = x[2];
  s.hidden_size = r[2];
  return s;
}

void check_lengths(const Recurrence& s, const std::int32_t* lengths) {
  for (std::int64_t b = 0; b < s.batch_size; ++b) {
    if (lengths[b] < 0 || lengths[b] > s.sequence_length) {
      fail(ErrorCode::mismatch, "sequence_lens holds ", lengths[b], ", X has ", s.sequence_length,
           " steps");
    }
  }
}

std::int64_t Recurrence::batch_chunk() const noexcept {
  constexpr std::int64_t block = 8;  // rows of the products
  const std::int64_t whole = std::max<std::int64_t>(1, batch_size);
  if (!fits_l2(hidden_size) || batch_size < block) return whole;
  const std::int64_t count = std::max<std::int64_t>(2, (batch_size + block - 1) / block);
  return (batch_size + count - 1) / count;
}

std::int64_t Recurrence::block_steps() const noexcept {
  constexpr std::int64_t rows = 192;
  if (batch_first) return std::max<std::int64_t>(1, sequence_length);
  return std::max<std::int64_t>(1, rows / std::max<std::int64_t>(1, batch_size));
}

}  // namespace ondine::kernels
