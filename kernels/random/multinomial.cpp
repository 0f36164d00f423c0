// multinomial.cpp — sample_size class numbers a row of x [batch, classes], the logarithms of
// unnormalised probabilities; class c with probability e^x_c / sum e^x. No derivative.
#include <algorithm>
#include <cmath>

#include "core/stop.h"
#include "kernels/common/convert_rows.h"
#include "kernels/common/kernel_scratch.h"
#include "kernels/common/op.h"
#include "kernels/random/random_rows.h"

namespace ondine::kernels::ops {
namespace {

void infer(InferContext& context) {
  const std::int64_t samples = context.attr_int("sample_size", 1);
  if (samples < 1) {
    fail(ErrorCode::invalid_model, "attribute \"sample_size\" is ", samples, ", needed: 1 or more");
  }
  const std::int64_t code = context.attr_int("dtype", static_cast<std::int64_t>(DType::int32));
  const auto dtype = static_cast<DType>(code);
  if (code < 0 || code >= dtype_count || (dtype != DType::int32 && dtype != DType::int64)) {
    fail(ErrorCode::invalid_model, "attribute \"dtype\" is ", code, ", needed: int32 or int64");
  }
  Dim batch;
  if (context.ranked(0)) {
    const Dims& dims = context.dims(0);
    if (dims.size() != 2) context.reject("input has rank ", dims.size(), ", needed: 2");
    if (dims[1].same(0)) context.reject("there are no classes to draw from");
    batch = dims[0];
  }
  context.set_output(0, dtype, Dims{batch, samples});
}

// Turns logarithms into running sums of probabilities.
void accumulate(double* p, std::int64_t n) {
  const double greatest = *std::max_element(p, p + n);
  double sum = 0;
  for_pieces(n, 16, [&](std::int64_t first, std::int64_t last) {
    for (auto c = first; c < last; ++c) p[c] = sum += std::exp(p[c] - greatest);
  });
}

Kernel bind(BindContext& context) {
  const Shape shape = context.shape(0);
  const std::int64_t classes = shape[1];
  const std::int64_t samples = context.attr_int("sample_size", 1);
  const std::size_t size = size_of(context.dtype(0));
  const ConvertRow read = row_to_double(context.dtype(0));
  const auto seed = seed_attribute(context);
  Scratch scratch;
  scratch.add<double>(shape.size());
  scratch.request(context);
  return visit(
      context.output_dtype(0), Types<std::int32_t, std::int64_t>{}, [&]<class T>() -> Kernel {
        return [=](KernelContext& call) {
          const RandomRun run = random_run(call, seed, shape[0] * samples);
          const auto draw = [&](std::int64_t row) {
            double* p = call.workspace<double>() + row * classes;
            const auto at = static_cast<std::size_t>(row * classes) * size;
            read(p, call.in<std::byte>(0) + at, classes);
            accumulate(p, classes);
            for_pieces(samples, 64, [&](std::int64_t first, std::int64_t last) {
              for (std::int64_t s = row * samples + first; s < row * samples + last; ++s) {
                const double u = uniform_at(run.key, run.first + static_cast<std::uint64_t>(s));
                const double* found = std::upper_bound(p, p + classes - 1, u * p[classes - 1]);
                call.out<T>(0)[s] = static_cast<T>(found - p);
              }
            });
          };
          call.pool().for_chunks(shape[0], 1, [&](std::int64_t row, std::int64_t) { draw(row); });
        };
      });
}

}  // namespace

extern const OpDef multinomial{.name = "Multinomial",
                               .infer = infer,
                               .bind = bind,
                               .traits = {.random = true},
                               .no_gradient = 1};

}  // namespace ondine::kernels::ops
