// stft.cpp — the transforms of frames of a signal, `frame_step` apart, weighted by a window:
// [batch, samples, parts] -> [batch, frames, bins, 2]; no frames where the signal is shorter than
// one. An expansion into Gather, Mul and DFT.
#include <numeric>

#include "kernels/common/infer_checks.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

// The value of a scalar input, where it is known.
std::optional<std::int64_t> scalar(const InferContext& context, std::size_t i, const char* what) {
  const IntegerParameter ints(context, i);
  if (!ints.given() || !ints.known()) return std::nullopt;
  const auto values = ints.values();
  if (values.size() != 1 || values[0] < 1) {
    context.reject(std::string_view(what), " must be one number above 0");
  }
  return values[0];
}

void infer(InferContext& context) {
  require_same_dtype(context, {0, 2});
  const Dims signal = dims_of_rank(context, 0, 3, "the signal");
  if (signal[2].known() && signal[2].size() != 1 && signal[2].size() != 2) {
    context.reject("the last dim of the signal has ", signal[2].size(),
                   " elements, needed: 1 or 2");
  }
  const auto step = scalar(context, 1, "frame_step");
  Dim length = context.has_input(3) ? Dim() : signal[1];
  if (const auto given = scalar(context, 3, "frame_length")) length = *given;
  if (context.has_input(2)) {
    const Dim window = dims_of_rank(context, 2, 1, "the window")[0];
    length = context.has_input(3) ? unify(length, window, "frame_length and the window") : window;
  }
  Dim frames;
  if (signal[1].known() && length.known()) {
    if (length.size() < 1) context.reject("frames of ", length.size(), " samples");
    const std::int64_t rest = signal[1].size() - length.size();
    if (rest < 0) frames = 0;
    if (rest >= 0 && step) frames = rest / *step + 1;
  }
  Dim bins = length;
  if (context.attr_int("onesided", 1) != 0) {
    bins = length.known() ? Dim(length.size() / 2 + 1) : Dim();
  }
  context.set_output(0, context.dtype(0), Dims{signal[0], frames, bins, 2});
}

Val range(Builder& b, Val n) { return b.node("Range", {b.int64(0), n, b.int64(1)}); }

// [batch, samples, parts] -> [batch, frames, length, parts]
Val any_frames(Val signal, Val step, Val length) {
  Builder& b = signal.builder();
  // 0 frames for a signal that is shorter than a frame.
  const Val samples = graph::dim_of(signal, 1);
  const Val rest = graph::maximum(samples - length + b.int64s({1}), b.int64s({0}));
  const Val frames = (rest + step - b.int64s({1})) / step;
  const Val starts = range(b, graph::squeeze(frames, {0})) * step;
  const Val positions = graph::unsqueeze(starts, {1}) + range(b, graph::squeeze(length, {0}));
  return graph::gather(signal, positions, 1);
}

// Whether blocks are worth it, and their positions few enough for a constant.
bool moves_blocks(std::int64_t samples, std::int64_t step, std::int64_t length) {
  if (length > samples) return false;
  const std::int64_t block = std::gcd(step, length);
  return block >= 4 && (samples - length) / step + 1 <= 65536 / (length / block);
}

// any_frames for signals whose sizes are all known: frames of whole blocks of samples, which are
// moved together.
Val blocked_frames(Val signal, std::int64_t samples, std::int64_t step, std::int64_t length) {
  Builder& b = signal.builder();
  const std::int64_t frames = (samples - length) / step + 1;
  const std::int64_t block = std::gcd(step, length);
  const std::int64_t used = (frames - 1) * step + length;
  const std::int64_t parts = signal.type().dims->back().size();
  if (used < samples) signal = graph::slice(signal, 0, used, 1);
  const Val blocks = graph::reshape(signal, {0, used / block, block * parts});
  std::vector<std::int64_t> positions;
  for (std::int64_t frame = 0; frame < frames; ++frame) {
    for (std::int64_t i = 0; i < length / block; ++i) positions.push_back(frame * step / block + i);
  }
  const Val at = graph::reshape(b.int64s(std::move(positions)), {frames, length / block});
  return graph::reshape(graph::gather(blocks, at, 1), {0, frames, length, parts});
}

// Value of a single number; nullopt if it is not known.
std::optional<std::int64_t> known_number(Val x) {
  const auto values = constant_integers(x);
  return values && values->size() == 1 ? std::optional((*values)[0]) : std::nullopt;
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val signal = context.x(0);
  const Val window = context.x(2);
  const auto scalar_of = [&](Val x) { return graph::reshape(graph::cast(x, DType::int64), {1}); };
  const auto size = [](Val x, std::size_t axis) {
    const Type type = x.type();
    const bool known = type.ranked() && (*type.dims)[axis].known();
    return known ? std::optional((*type.dims)[axis].size()) : std::nullopt;
  };
  const auto samples = size(signal, 1);
  const auto step = known_number(context.x(1));
  const auto length = context.x(3) ? known_number(context.x(3))
                      : window     ? size(window, 0)
                                   : samples;
  Val framed;
  if (samples && step && length && size(signal, 2) && moves_blocks(*samples, *step, *length)) {
    framed = blocked_frames(signal, *samples, *step, *length);
  } else {
    const Val count = context.x(3) ? scalar_of(context.x(3))
                      : window     ? graph::dim_of(window, 0)
                                   : graph::dim_of(signal, 1);
    framed = any_frames(signal, scalar_of(context.x(1)), count);
  }
  if (window) framed = framed * graph::unsqueeze(window, {1});
  return {
      b.node("DFT", {framed, Val(), b.int64(2)}, {{"onesided", context.attr_int("onesided", 1)}})};
}

}  // namespace

extern const OpDef stft{.name = "STFT", .infer = infer, .expand = expand, .no_gradient = 0b1010};

}  // namespace ondine::kernels::ops
