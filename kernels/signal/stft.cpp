// stft.cpp — the transforms of frames of a signal, `frame_step` apart, weighted by a window:
// [batch, samples, parts] -> [batch, frames, bins, 2]; no frames where the signal is shorter than
// one. An expansion into Gather, Mul and DFT.
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

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val signal = context.x(0);
  const Val window = context.x(2);
  const auto scalar_of = [&](Val x) { return graph::reshape(graph::cast(x, DType::int64), {1}); };
  const Val samples = graph::dim_of(signal, 1);
  const Val step = scalar_of(context.x(1));
  const Val length = context.x(3) ? scalar_of(context.x(3))
                     : window     ? graph::dim_of(window, 0)
                                  : samples;
  // 0 frames for a signal that is shorter than a frame.
  const Val rest = graph::maximum(samples - length + b.int64s({1}), b.int64s({0}));
  const Val frames = (rest + step - b.int64s({1})) / step;
  const auto range = [&](Val n) {
    return b.node("Range", {b.int64(0), graph::squeeze(n, {0}), b.int64(1)});
  };
  const Val positions = graph::unsqueeze(range(frames) * step, {1}) + range(length);
  Val framed = graph::gather(signal, positions, 1);  // [batch, frames, length, parts]
  if (window) framed = framed * graph::unsqueeze(window, {1});
  return {
      b.node("DFT", {framed, Val(), b.int64(2)}, {{"onesided", context.attr_int("onesided", 1)}})};
}

}  // namespace

extern const OpDef stft{.name = "STFT", .infer = infer, .expand = expand, .no_gradient = 0b1010};

}  // namespace ondine::kernels::ops
