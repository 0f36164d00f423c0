#include "kernels/image/codecs/codec.h"

#ifdef ONDINE_OPENJPEG
#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include <openjpeg.h>

#include "core/checked.h"
#include "core/stop.h"
#include "kernels/image/codecs/codestream_header.h"
#endif

namespace ondine::kernels::image {

#ifdef ONDINE_OPENJPEG

namespace {

struct Source {
  Bytes bytes;
  std::size_t at = 0;
  std::string message = "it is broken or ends early";
};

OPJ_SIZE_T read(void* to, OPJ_SIZE_T n, void* user) {
  auto& source = *static_cast<Source*>(user);
  const std::size_t count = std::min<std::size_t>(n, source.bytes.size() - source.at);
  if (count == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.bytes.data() + source.at, count);
  source.at += count;
  return count;
}

OPJ_BOOL seek(OPJ_OFF_T offset, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (offset < 0 || std::cmp_greater(offset, source.bytes.size())) return OPJ_FALSE;
  source.at = static_cast<std::size_t>(offset);
  return OPJ_TRUE;
}

OPJ_OFF_T skip(OPJ_OFF_T n, void* user) {
  const auto& source = *static_cast<Source*>(user);
  return seek(static_cast<OPJ_OFF_T>(source.at) + n, user) ? n : -1;
}

struct Decoder {
  opj_stream_t* stream = nullptr;
  opj_codec_t* codec = nullptr;
  opj_image_t* image = nullptr;

  explicit Decoder(Source& source) {
    const bool boxed = source.bytes[0] == 0;
    codec = opj_create_decompress(boxed ? OPJ_CODEC_JP2 : OPJ_CODEC_J2K);
    stream = opj_stream_default_create(OPJ_TRUE);
    if (codec == nullptr || stream == nullptr) return;
    opj_set_error_handler(
        codec,
        [](const char* text, void* user) {
          std::string message(text);
          while (!message.empty() && message.back() == '\n') message.pop_back();
          static_cast<Source*>(user)->message = std::move(message);
        },
        &source);
    opj_stream_set_read_function(stream, &read);
    opj_stream_set_seek_function(stream, &seek);
    opj_stream_set_skip_function(stream, &skip);
    opj_stream_set_user_data(stream, &source, nullptr);
    opj_stream_set_user_data_length(stream, source.bytes.size());
  }
  ~Decoder() {
    opj_image_destroy(image);
    opj_destroy_codec(codec);
    opj_stream_destroy(stream);
  }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  bool read_header() {
    opj_dparameters_t parameters;
    opj_set_default_decoder_parameters(&parameters);
    return codec != nullptr && stream != nullptr && opj_setup_decoder(codec, &parameters) &&
           opj_read_header(stream, codec, &image);
  }
  bool decode() { return opj_decode(codec, stream, image) && opj_end_decompress(codec, stream); }
};

// One component at a pixel of the image, 0 to `largest`.
double sample(const opj_image_comp_t& part, std::uint32_t x, std::uint32_t y, double largest) {
  const std::uint32_t column = std::min(x / part.dx, part.w - 1);
  const std::uint32_t row = std::min(y / part.dy, part.h - 1);
  const double offset = part.sgnd ? static_cast<double>(1U << (part.prec - 1)) : 0;
  const double value = part.data[std::size_t{row} * part.w + column] + offset;
  const double max_value = static_cast<double>((std::uint64_t{1} << part.prec) - 1);
  return value * largest / max_value;
}

// Writes the pixels; `luma`: components are luma and colour differences.
template <class T>
void write_pixels(const opj_image_t& decoded, std::uint32_t colours, bool luma,
                  std::uint32_t height, std::uint32_t width, T* to) {
  constexpr double largest = std::numeric_limits<T>::max();
  constexpr double middle = (largest + 1) / 2;
  for (std::uint32_t y = 0; y < height; ++y) {
    check_stop();
    for (std::uint32_t x = 0; x < width; ++x, to += 3) {
      double rgb[3];
      for (std::uint32_t c = 0; c < 3; ++c) {
        rgb[c] = sample(decoded.comps[c % colours], x, y, largest);
      }
      if (luma) {
        const double blue = rgb[1] - middle;
        const double red = rgb[2] - middle;
        rgb[1] = rgb[0] - 0.344136 * blue - 0.714136 * red;
        rgb[2] = rgb[0] + 1.772 * blue;
        rgb[0] += 1.402 * red;
      }
      for (int c = 0; c < 3; ++c) {
        to[c] = static_cast<T>(std::clamp(rgb[c] + 0.5, 0.0, largest));
      }
    }
  }
}

}  // namespace

Tensor decode_jpeg2000(Bytes bytes, const Budget& budget, bool wide) {
  constexpr std::string_view name = "JPEG 2000";
  Source source{bytes};
  const CodestreamHeader header = read_codestream_header(bytes);
  const Charge tiles(budget, header.tiles, header.tile_bytes);
  const Charge blocks(budget, header.block_bytes, 1);
  Decoder decoder(source);
  if (!decoder.read_header()) bad_image(name, source.message);
  const std::uint32_t width = decoder.image->x1 - decoder.image->x0;
  const std::uint32_t height = decoder.image->y1 - decoder.image->y0;
  const Charge planes(budget, checked_mul(height, width),
                      checked_mul(decoder.image->numcomps, 2 * sizeof(std::int32_t)));
  if (!decoder.decode()) bad_image(name, source.message);

  const opj_image_t& decoded = *decoder.image;
  const std::uint32_t colours = decoded.numcomps < 3 ? 1 : 3;
  bool subsampled = false;
  for (std::uint32_t c = 0; c < colours; ++c) {
    const opj_image_comp_t& part = decoded.comps[c];
    if (decoded.numcomps <= c || part.data == nullptr || part.w == 0 || part.h == 0 ||
        part.dx == 0 || part.dy == 0 || part.prec == 0 || part.prec > 31) {
      bad_image(name, "a component has no data");
    }
    wide = wide && part.prec > 8;
    subsampled = subsampled || part.dx != decoded.comps[0].dx || part.dy != decoded.comps[0].dy;
  }
  Tensor image = new_image(name, height, width, budget, wide ? DType::uint16 : DType::uint8);
  const bool luma = colours == 3 && (decoded.color_space == OPJ_CLRSPC_SYCC || subsampled);
  with_samples(image, [&](auto* to) { write_pixels(decoded, colours, luma, height, width, to); });
  return image;
}

#else

Tensor decode_jpeg2000(Bytes, const Budget&, bool) { no_library("JPEG 2000"); }

#endif

}  // namespace ondine::kernels::image
