// mel_weight_matrix.cpp — [dft_length / 2 + 1, num_mel_bins]: triangles of peak 1 whose corners are
// equidistant on the mel scale, 2595 log10(1 + f / 700), and lie on bins of the spectrum. The step
// is the range over num_mel_bins + 2, as in the reference of the standard. No derivative: corners
// are whole numbers.
#include <cmath>

#include "core/stop.h"
#include "kernels/common/convert_rows.h"
#include "kernels/common/dtype_attribute.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

std::int64_t one(std::span<const std::int64_t> values, const char* what, std::int64_t least) {
  if (values.size() != 1 || values[0] < least) {
    fail(ErrorCode::mismatch, std::string_view(what), " must be one number, ", least, " or more");
  }
  return values[0];
}

void infer(InferContext& context) {
  const DType dtype = number_attribute(context, "output_datatype", DType::float32);
  const IntegerParameter bins(context, 0);
  const IntegerParameter length(context, 1);
  Dims y(2);
  if (length.known()) y[0] = one(length.values(), "dft_length", 1) / 2 + 1;
  if (bins.known()) y[1] = one(bins.values(), "num_mel_bins", 0);
  context.set_output(0, dtype, y);
}

struct Mel {
  std::int64_t bins, length, rate;
  double low, high;

  static double of(double hertz) { return 2595 * std::log10(1 + hertz / 700); }
  // The bin of the spectrum that corner i lies on.
  double corner(std::int64_t i) const {
    const double from = of(low);
    const double step = (of(high) - from) / static_cast<double>(bins + 2);
    const double hertz = 700 * (std::pow(10.0, (from + step * static_cast<double>(i)) / 2595) - 1);
    return std::floor(static_cast<double>(length + 1) * hertz / static_cast<double>(rate));
  }
  // The weight of bin j of the spectrum in the triangle of these corners.
  static double weight(double left, double centre, double right, double j) {
    if (j == centre) return 1;
    if (j > left && j < centre) return (j - left) / (centre - left);
    if (j > centre && j < right) return (right - j) / (right - centre);
    return 0;
  }
};

Kernel bind(BindContext& context) {
  const IntegerParameter bins(context, 0);
  const IntegerParameter length(context, 1);
  const IntegerParameter rate(context, 2);
  for (const std::size_t i : {std::size_t{3}, std::size_t{4}}) {
    if (context.shape(i).size() != 1) fail(ErrorCode::mismatch, "an edge must be one number");
  }
  const ConvertRow read = row_to_double(context.dtype(3));
  const StoreNumber put = store_number(context.output_dtype(0));
  return [=, output = Output(context, 0)](KernelContext& call) {
    Mel mel{one(bins.read(call), "num_mel_bins", 0), one(length.read(call), "dft_length", 1),
            one(rate.read(call), "sample_rate", 1), 0, 0};
    read(&mel.low, call.in<void>(3), 1);
    read(&mel.high, call.in<void>(4), 1);
    if (!(mel.low >= 0 && mel.low <= mel.high && std::isfinite(mel.high))) {
      fail(ErrorCode::mismatch, "edges ", mel.low, " and ", mel.high,
           ", needed: 0 <= lower <= upper");
    }
    const std::int64_t rows = mel.length / 2 + 1;
    void* const y = output.memory(call, Shape{rows, mel.bins});
    call.pool().for_chunks(mel.bins, 4, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        const double left = mel.corner(i);
        const double centre = mel.corner(i + 1);
        const double right = mel.corner(i + 2);
        for_pieces(rows, 16, [&](std::int64_t from, std::int64_t to) {
          for (auto j = from; j < to; ++j) {
            put(y, j * mel.bins + i, Mel::weight(left, centre, right, static_cast<double>(j)));
          }
        });
      }
    });
  };
}

}  // namespace

extern const OpDef mel_weight_matrix{
    .name = "MelWeightMatrix", .infer = infer, .bind = bind, .no_gradient = any_input};

}  // namespace ondine::kernels::ops
