#include "kernels/image/codecs/codec.h"

#ifdef ONDINE_TIFF
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <tiffio.h>

#include "core/stop.h"
#include "kernels/image/codecs/orientation.h"
#endif

namespace ondine::kernels::image {

#ifdef ONDINE_TIFF

namespace {

// The file in memory, and the last error of the library.
struct Source {
  Bytes bytes;
  std::uint64_t at = 0;
  char message[200] = "it is broken";
};

Source& source_of(thandle_t handle) { return *static_cast<Source*>(handle); }

tmsize_t read(thandle_t handle, void* to, tmsize_t n) {
  Source& source = source_of(handle);
  const Bytes left = source.bytes.subspan(
      static_cast<std::size_t>(std::min<std::uint64_t>(source.at, source.bytes.size())));
  const std::size_t count =
      std::min(left.size(), static_cast<std::size_t>(std::max<tmsize_t>(n, 0)));
  if (count > 0) std::memcpy(to, left.data(), count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  Source& source = source_of(handle);
  const std::uint64_t base = whence == SEEK_SET   ? 0
                             : whence == SEEK_CUR ? source.at
                                                  : source.bytes.size();
  source.at = base + offset;
  return source.at;
}

int keep_message(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  Source& source = source_of(user);
  std::vsnprintf(source.message, sizeof source.message, format, arguments);
  return 1;
}

class File {
 public:
  File(Source& source, tmsize_t most_bytes) {
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    if (options == nullptr) return;
    TIFFOpenOptionsSetErrorHandlerExtR(options, &keep_message, &source);
    TIFFOpenOptionsSetWarningHandlerExtR(
        options, [](TIFF*, void*, const char*, const char*, va_list) { return 1; }, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, most_bytes);
    // "m": the library does not map the file.
    tiff_ = TIFFClientOpenExt(
        "image", "rm", &source, &read, [](thandle_t, void*, tmsize_t) -> tmsize_t { return 0; },
        &seek, [](thandle_t) { return 0; },
        [](thandle_t handle) -> toff_t { return source_of(handle).bytes.size(); }, nullptr, nullptr,
        options);
    TIFFOpenOptionsFree(options);
  }
  ~File() {
    if (tiff_ != nullptr) TIFFClose(tiff_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  TIFF* get() const { return tiff_; }

 private:
  TIFF* tiff_ = nullptr;
};

template <class T>
T field(TIFF* tiff, std::uint32_t tag, T absent) {
  T value = absent;
  return TIFFGetFieldDefaulted(tiff, tag, &value) == 0 ? absent : value;
}

struct Layout {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint16_t bits = 1;
  std::uint16_t samples = 1;
  std::uint16_t photometric = PHOTOMETRIC_MINISBLACK;
  bool planar = false;  // samples lie apart
  bool tiled = false;
  // A strip is a tile as wide as the image.
  std::uint32_t tile_width = 0;
  std::uint32_t tile_height = 0;
  std::uint64_t tile_bytes = 0;

  explicit Layout(TIFF* tiff)
      : width(field<std::uint32_t>(tiff, TIFFTAG_IMAGEWIDTH, 0)),
        height(field<std::uint32_t>(tiff, TIFFTAG_IMAGELENGTH, 0)),
        bits(field<std::uint16_t>(tiff, TIFFTAG_BITSPERSAMPLE, 1)),
        samples(field<std::uint16_t>(tiff, TIFFTAG_SAMPLESPERPIXEL, 1)),
        photometric(field<std::uint16_t>(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_MINISBLACK)),
        planar(field<std::uint16_t>(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG) ==
               PLANARCONFIG_SEPARATE),
        tiled(TIFFIsTiled(tiff) != 0) {
    if (tiled) {
      tile_width = field<std::uint32_t>(tiff, TIFFTAG_TILEWIDTH, 0);
      tile_height = field<std::uint32_t>(tiff, TIFFTAG_TILELENGTH, 0);
      tile_bytes = TIFFTileSize64(tiff);
    } else {
      tile_width = width;
      tile_height = std::min(height, field<std::uint32_t>(tiff, TIFFTAG_ROWSPERSTRIP, height));
      tile_bytes = TIFFStripSize64(tiff);
    }
    constexpr std::uint64_t most = std::uint64_t{1} << 48;
    if (tile_width == 0 || tile_height == 0 || tile_bytes == 0 || tile_bytes > most) {
      bad_image("TIFF", cat("its tiles or strips have ", tile_width, " x ", tile_height,
                            " pixels and ", tile_bytes, " bytes"));
    }
  }

  // Grey and RGB of 16 bits; samples beyond are alpha.
  bool is_wide(TIFF* tiff) const {
    const bool is_rgb = photometric == PHOTOMETRIC_RGB && samples >= 3;
    const bool is_grey =
        photometric == PHOTOMETRIC_MINISBLACK || photometric == PHOTOMETRIC_MINISWHITE;
    return bits == 16 && (is_rgb || is_grey) &&
           field<std::uint16_t>(tiff, TIFFTAG_SAMPLEFORMAT, SAMPLEFORMAT_UINT) == SAMPLEFORMAT_UINT;
  }
  std::uint32_t colours() const { return photometric == PHOTOMETRIC_RGB ? 3 : 1; }
};

// Bytes of pixels for each of the file, at most; 0 where there is no bound.
std::uint64_t ratio_of(std::uint16_t compression) {
  switch (compression) {
    case COMPRESSION_NONE:
      return 1;
    case COMPRESSION_PACKBITS:
      return 64;
    case COMPRESSION_LZW:
      return 4096;
    case COMPRESSION_DEFLATE:
    case COMPRESSION_ADOBE_DEFLATE:
      return deflate_ratio;
    default:
      return 0;
  }
}

// Samples of 16 bits, tile by tile.
class WideReader {
 public:
  WideReader(TIFF* tiff, const Layout& layout, const Source& source, Tensor& image,
             const Budget& budget)
      : tiff_(tiff),
        layout_(layout),
        source_(&source),
        pixels_(image.mutable_values<std::uint16_t>().data()),
        tile_(DType::uint16, {static_cast<std::int64_t>(layout.tile_bytes / 2)}, budget) {}

  void run() {
    const std::uint32_t planes = layout_.planar ? layout_.colours() : 1;
    for (std::uint32_t plane = 0; plane < planes; ++plane) {
      for (std::uint64_t y = 0; y < layout_.height; y += layout_.tile_height) {
        for (std::uint64_t x = 0; x < layout_.width; x += layout_.tile_width) {
          check_stop();
          read(static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(y),
               static_cast<std::uint16_t>(plane));
        }
      }
    }
  }

 private:
  void read(std::uint32_t x, std::uint32_t y, std::uint16_t plane) {
    const std::uint64_t columns = std::min(layout_.tile_width, layout_.width - x);
    const std::uint64_t rows = std::min(layout_.tile_height, layout_.height - y);
    const std::uint64_t step = layout_.planar ? 1 : layout_.samples;
    const auto size = static_cast<tmsize_t>(tile_.bytes());
    auto* const from = tile_.mutable_values<std::uint16_t>().data();
    const tmsize_t found =
        layout_.tiled
            ? TIFFReadEncodedTile(tiff_, TIFFComputeTile(tiff_, x, y, 0, plane), from, size)
            : TIFFReadEncodedStrip(tiff_, TIFFComputeStrip(tiff_, y, plane), from, size);
    const std::uint64_t wanted = ((rows - 1) * layout_.tile_width + columns) * step * 2;
    if (found < 0 || static_cast<std::uint64_t>(found) < wanted)
      bad_image("TIFF", source_->message);
    for (std::uint64_t row = 0; row < rows; ++row) {
      const std::uint16_t* sample = from + row * layout_.tile_width * step;
      std::uint16_t* to = pixels_ + ((y + row) * layout_.width + x) * 3;
      for (std::uint64_t i = 0; i < columns; ++i, sample += step, to += 3) put(sample, plane, to);
    }
  }

  void put(const std::uint16_t* sample, std::uint32_t plane, std::uint16_t* to) const {
    if (layout_.colours() == 1) {
      const int white = layout_.photometric == PHOTOMETRIC_MINISWHITE ? 0xffff : 0;
      to[0] = to[1] = to[2] = static_cast<std::uint16_t>(*sample ^ white);
    } else if (layout_.planar) {
      to[plane] = *sample;
    } else {
      std::copy_n(sample, 3, to);
    }
  }

  TIFF* tiff_;
  Layout layout_;
  const Source* source_;
  std::uint16_t* pixels_;
  Tensor tile_;
};

void read_bytes(TIFF* tiff, const Source& source, const Layout& layout, Tensor& image,
                const Budget& budget) {
  Tensor raster(DType::uint32, {image.size() / 3}, budget);
  const auto packed = raster.mutable_values<std::uint32_t>();
  if (TIFFReadRGBAImageOriented(tiff, layout.width, layout.height, packed.data(),
                                ORIENTATION_TOPLEFT, 1) == 0) {
    bad_image("TIFF", source.message);
  }
  auto* to = image.mutable_values<std::uint8_t>().data();
  for (const std::uint32_t pixel : packed) {
    *to++ = static_cast<std::uint8_t>(TIFFGetR(pixel));
    *to++ = static_cast<std::uint8_t>(TIFFGetG(pixel));
    *to++ = static_cast<std::uint8_t>(TIFFGetB(pixel));
  }
}

}  // namespace

Tensor decode_tiff(Bytes bytes, const Budget& budget, bool wide) {
  // Bounds of the limit on one allocation of the library.
  constexpr std::uint64_t least = std::uint64_t{1} << 20;
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  const std::uint64_t left = budget ? budget->limit() - budget->used() : most;
  Source source{bytes};
  const File file(source, static_cast<tmsize_t>(std::clamp(left, least, most)));
  TIFF* const tiff = file.get();
  std::uint32_t size = 0;
  if (tiff == nullptr || TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &size) == 0 ||
      TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &size) == 0) {
    bad_image("TIFF", source.message);
  }
  const Layout layout(tiff);
  const auto orientation = field<std::uint16_t>(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  // The library only mirrors, so that it is to leave the image as it is stored.
  TIFFSetField(tiff, TIFFTAG_ORIENTATION, ORIENTATION_TOPLEFT);
  if (const std::uint64_t ratio =
          ratio_of(field<std::uint16_t>(tiff, TIFFTAG_COMPRESSION, COMPRESSION_NONE))) {
    const std::uint64_t row = (std::uint64_t{layout.width} * layout.bits + 7) / 8;
    const std::uint64_t pixels = layout.height == 0 ? 0 : row * (layout.height - 1);
    // Tiles are whole, also where the image ends in them.
    require_data("TIFF", bytes, std::max(pixels, layout.tiled ? layout.tile_bytes : 0), ratio);
  }
  // A tile or strip of all planes.
  const Charge library(budget, static_cast<std::int64_t>(layout.tile_bytes),
                       layout.planar ? layout.samples : 1);
  wide = wide && layout.is_wide(tiff);
  Tensor image =
      new_image("TIFF", layout.height, layout.width, budget, wide ? DType::uint16 : DType::uint8);
  if (wide) {
    WideReader(tiff, layout, source, image, budget).run();
  } else {
    read_bytes(tiff, source, layout, image, budget);
  }
  return turned(std::move(image), orientation, budget);
}

#else

Tensor decode_tiff(Bytes, const Budget&, bool) { no_library("TIFF"); }

#endif

}  // namespace ondine::kernels::image
