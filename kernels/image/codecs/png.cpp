#include "kernels/image/codecs/codec.h"

#ifdef ONDINE_PNG
#include <bit>
#include <csetjmp>
#include <cstring>

#include <png.h>

#include "core/stop.h"
#endif

namespace ondine::kernels::image {

#ifdef ONDINE_PNG

namespace {

// The library reports errors by a jump: nothing with a destructor lives in the functions it may
// leave.
class Reader {
 public:
  Reader(Bytes bytes, bool wide) : rest_(bytes), wide_(wide) {
    png_ = png_create_read_struct(
        PNG_LIBPNG_VER_STRING, this,
        [](png_structp png, png_const_charp text) {
          auto* self = static_cast<Reader*>(png_get_error_ptr(png));
          std::strncpy(self->message_, text, sizeof self->message_ - 1);
          png_longjmp(png, 1);
        },
        [](png_structp, png_const_charp) {});
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      fail(ErrorCode::limit, "no memory for the PNG library");
    }
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool read_header() {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    png_set_read_fn(png_, this, [](png_structp png, png_bytep to, std::size_t n) {
      auto* self = static_cast<Reader*>(png_get_io_ptr(png));
      if (n > self->rest_.size()) png_error(png, "it ends early");
      std::memcpy(to, self->rest_.data(), n);
      self->rest_ = self->rest_.subspan(n);
    });
    png_read_info(png_, info_);
    stored_bytes_ =
        std::uint64_t{png_get_rowbytes(png_, info_)} * png_get_image_height(png_, info_);
    png_set_expand(png_);
    wide_ = wide_ && png_get_bit_depth(png_, info_) == 16;
    if (!wide_) png_set_strip_16(png_);
    if (wide_ && std::endian::native == std::endian::little) png_set_swap(png_);
    png_set_gray_to_rgb(png_);
    png_set_strip_alpha(png_);
    passes_ = png_set_interlace_handling(png_);
    png_read_update_info(png_, info_);
    return true;
  }
  bool read_rows(std::uint8_t* to) {
    if (setjmp(png_jmpbuf(png_)) != 0) return false;
    const std::size_t stride = std::size_t{png_get_image_width(png_, info_)} * (wide_ ? 6 : 3);
    if (png_get_rowbytes(png_, info_) != stride) png_error(png_, "its pixel format is unknown");
    for (int pass = 0; pass < passes_; ++pass) {
      for (png_uint_32 y = 0; y < png_get_image_height(png_, info_); ++y) {
        check_stop();
        png_read_row(png_, to + y * stride, nullptr);
      }
    }
    png_read_end(png_, nullptr);
    return true;
  }

  std::int64_t height() const { return png_get_image_height(png_, info_); }
  std::int64_t width() const { return png_get_image_width(png_, info_); }
  std::uint64_t stored_bytes() const { return stored_bytes_; }
  bool is_wide() const { return wide_; }
  std::string_view message() const { return message_; }

 private:
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Bytes rest_;
  bool wide_;
  std::uint64_t stored_bytes_ = 0;
  int passes_ = 1;
  char message_[128] = {};
};

}  // namespace

Tensor decode_png(Bytes bytes, const Budget& budget, bool wide) {
  Reader reader(bytes, wide);
  if (!reader.read_header()) bad_image("PNG", reader.message());
  require_data("PNG", bytes, reader.stored_bytes(), deflate_ratio);
  Tensor image = new_image("PNG", reader.height(), reader.width(), budget,
                           reader.is_wide() ? DType::uint16 : DType::uint8);
  if (!reader.read_rows(static_cast<std::uint8_t*>(image.mutable_data()))) {
    bad_image("PNG", reader.message());
  }
  return image;
}

#else

Tensor decode_png(Bytes, const Budget&, bool) { no_library("PNG"); }

#endif

}  // namespace ondine::kernels::image
