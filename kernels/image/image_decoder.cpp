// image_decoder.cpp — an encoded image to pixels [height, width, channels], as RGB, BGR or
// Grayscale (0.299 R + 0.587 G + 0.114 B). Bytes that cannot be decoded are an error, where the
// standard would give an empty matrix: training must not continue with one.
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/image/codecs/image.h"

namespace ondine::kernels::ops {
namespace {

enum class Pixels { rgb, bgr, grey };

Pixels pixels_of(const NodeView& node) {
  const std::string format = node.attr_string("pixel_format", "RGB");
  if (format == "RGB") return Pixels::rgb;
  if (format == "BGR") return Pixels::bgr;
  if (format == "Grayscale") return Pixels::grey;
  fail(ErrorCode::invalid_model, "attribute 'pixel_format' is ", quoted(format),
       ", not RGB, BGR or Grayscale");
}

void infer(InferContext& context) {
  if (context.ranked(0) && context.rank(0) != 1) {
    context.reject("the encoded image must have rank 1, found ", graph::to_string(context.dims(0)));
  }
  const std::int64_t channels = pixels_of(context) == Pixels::grey ? 1 : 3;
  context.set_output(0, DType::uint8, Dims{Dim(), Dim(), channels});
}

Kernel bind(BindContext& context) {
  const Pixels pixels = pixels_of(context);
  const auto n = static_cast<std::size_t>(context.shape(0).size());
  return [=, output = Output(context, 0)](KernelContext& call) {
    const Tensor image = decode_image({call.in<std::uint8_t>(0), n}, call.budget());
    Shape shape = image.shape();
    if (pixels == Pixels::grey) shape[2] = 1;
    auto* to = output.memory<std::uint8_t>(call, shape);
    if (to == nullptr) return;
    const auto rgb = image.values<std::uint8_t>();
    for (std::size_t i = 0; i < rgb.size(); i += 3) {
      if (pixels == Pixels::grey) {
        const int grey = rgb[i] * 19595 + rgb[i + 1] * 38470 + rgb[i + 2] * 7471;
        *to++ = static_cast<std::uint8_t>((grey + 0x8000) >> 16);
      } else {
        const std::size_t flip = pixels == Pixels::bgr ? 2 : 0;
        for (std::size_t c = 0; c < 3; ++c) *to++ = rgb[i + (flip > 0 ? flip - c : c)];
      }
    }
  };
}

}  // namespace

extern const OpDef image_decoder{.name = "ImageDecoder", .infer = infer, .bind = bind};

}  // namespace ondine::kernels::ops
