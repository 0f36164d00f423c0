#include "kernels/image/codecs/codec.h"

#ifdef ONDINE_TIFF
#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <tiffio.h>
#endif

namespace ondine::kernels::image {

#ifdef ONDINE_TIFF

namespace {

// The file in memory, and the last error of the library.
struct Source {
  Bytes bytes;
  std::size_t at = 0;
  char message[200] = "it is broken";
};

Source& source_of(thandle_t handle) { return *static_cast<Source*>(handle); }

tmsize_t read(thandle_t handle, void* to, tmsize_t n) {
  Source& source = source_of(handle);
  const std::size_t left = source.bytes.size() - std::min(source.at, source.bytes.size());
  const std::size_t count = std::min(left, static_cast<std::size_t>(std::max<tmsize_t>(n, 0)));
  if (count > 0) std::memcpy(to, source.bytes.data() + source.at, count);
  source.at += count;
  return static_cast<tmsize_t>(count);
}

toff_t seek(thandle_t handle, toff_t offset, int whence) {
  Source& source = source_of(handle);
  const std::size_t base = whence == SEEK_SET   ? 0
                           : whence == SEEK_CUR ? source.at
                                                : source.bytes.size();
  source.at = base + static_cast<std::size_t>(offset);
  return source.at;
}

int keep_message(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  Source& source = source_of(user);
  std::vsnprintf(source.message, sizeof source.message, format, arguments);
  return 1;
}

class File {
 public:
  explicit File(Source& source) {
    TIFFOpenOptions* options = TIFFOpenOptionsAlloc();
    if (options == nullptr) return;
    TIFFOpenOptionsSetErrorHandlerExtR(options, &keep_message, &source);
    TIFFOpenOptionsSetWarningHandlerExtR(
        options, [](TIFF*, void*, const char*, const char*, va_list) { return 1; }, nullptr);
    TIFFOpenOptionsSetMaxSingleMemAlloc(options, tmsize_t{1} << 30);
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

}  // namespace

Tensor decode_tiff(Bytes bytes, const Budget& budget) {
  Source source{bytes};
  const File file(source);
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  if (file.get() == nullptr || TIFFGetField(file.get(), TIFFTAG_IMAGEWIDTH, &width) == 0 ||
      TIFFGetField(file.get(), TIFFTAG_IMAGELENGTH, &height) == 0) {
    bad_image("TIFF", source.message);
  }
  Tensor image = new_image("TIFF", height, width, budget);
  const std::int64_t pixels = image.size() / 3;
  Tensor raster(DType::uint32, {pixels}, budget);
  const auto packed = raster.mutable_values<std::uint32_t>();
  if (TIFFReadRGBAImageOriented(file.get(), width, height, packed.data(), ORIENTATION_TOPLEFT, 1) ==
      0) {
    bad_image("TIFF", source.message);
  }
  auto* to = image.mutable_values<std::uint8_t>().data();
  for (const std::uint32_t pixel : packed) {
    *to++ = static_cast<std::uint8_t>(TIFFGetR(pixel));
    *to++ = static_cast<std::uint8_t>(TIFFGetG(pixel));
    *to++ = static_cast<std::uint8_t>(TIFFGetB(pixel));
  }
  return image;
}

#else

Tensor decode_tiff(Bytes, const Budget&) { no_library("TIFF"); }

#endif

}  // namespace ondine::kernels::image
