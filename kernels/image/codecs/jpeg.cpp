#include "kernels/image/codecs/codec.h"

#ifdef ONDINE_JPEG
#include <csetjmp>
#include <cstdio>
#include <cstring>
#include <limits>
#include <vector>

#include <jerror.h>
#include <jpeglib.h>

#include "core/stop.h"
#endif

namespace ondine::kernels::image {

#ifdef ONDINE_JPEG

namespace {

// For code that exceptions may not leave.
bool is_stopped() {
  try {
    check_stop();
    return false;
  } catch (const Error&) {
    return true;
  }
}

// The library reports errors by a jump: nothing with a destructor lives in the functions it may
// leave.
class Reader {
 public:
  explicit Reader(Bytes bytes) {
    info_.err = jpeg_std_error(&errors_.base);
    errors_.base.error_exit = [](j_common_ptr info) { leave(info); };
    errors_.base.emit_message = [](j_common_ptr info, int level) {
      // Data that end early are filled up with grey by the library.
      const int code = info->err->msg_code;
      if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER)) leave(info);
    };
    progress_.base.progress_monitor = [](j_common_ptr info) {
      auto* progress = reinterpret_cast<Progress*>(info->progress);
      const auto* decompress = reinterpret_cast<j_decompress_ptr>(info);
      if (decompress->input_scan_number > most_scans) {
        std::strcpy(errors_of(info)->message, "it has too many scans");
      } else if (progress->calls++ % 64 != 0 || !is_stopped()) {
        return;
      }
      std::longjmp(errors_of(info)->jump, 1);
    };
    data_ = bytes.data();
    size_ = static_cast<unsigned long>(bytes.size());
  }
  ~Reader() { jpeg_destroy_decompress(&info_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  bool read_header() {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_create_decompress(&info_);
    info_.progress = &progress_.base;
    jpeg_mem_src(&info_, data_, size_);
    jpeg_read_header(&info_, TRUE);
    info_.out_color_space = info_.num_components == 4 ? JCS_CMYK : JCS_RGB;
    return true;
  }
  // `cmyk` holds one row of four components where is_cmyk().
  bool read_rows(std::uint8_t* to, std::uint8_t* cmyk) {
    if (setjmp(errors_.jump) != 0) return false;
    jpeg_start_decompress(&info_);
    while (info_.output_scanline < info_.output_height) {
      std::uint8_t* const rgb = to + std::size_t{info_.output_scanline} * info_.output_width * 3;
      check_stop();
      JSAMPROW row = is_cmyk() ? cmyk : rgb;
      jpeg_read_scanlines(&info_, &row, 1);
      if (is_cmyk()) to_rgb(cmyk, rgb);
    }
    jpeg_finish_decompress(&info_);
    return true;
  }

  std::int64_t height() const { return info_.image_height; }
  std::int64_t width() const { return info_.image_width; }
  bool is_cmyk() const { return info_.out_color_space == JCS_CMYK; }
  // Huffman codes take a bit for 64 pixels at least.
  std::uint64_t pixels_of_byte() const {
    return info_.arith_code ? std::numeric_limits<std::uint64_t>::max() : 8192;
  }
  bool keeps_coefficients() { return jpeg_has_multiple_scans(&info_) != 0; }
  std::string_view message() const { return errors_.message; }

 private:
  struct Errors {
    jpeg_error_mgr base;  // first: the library's pointer to it is one to this
    std::jmp_buf jump;
    char message[JMSG_LENGTH_MAX];
  };
  // Each scan is work for the whole image.
  static constexpr int most_scans = 500;
  struct Progress {
    jpeg_progress_mgr base;  // first, too
    unsigned calls;
  };
  static Errors* errors_of(j_common_ptr info) { return reinterpret_cast<Errors*>(info->err); }
  [[noreturn]] static void leave(j_common_ptr info) {
    auto* errors = errors_of(info);
    info->err->format_message(info, errors->message);
    std::longjmp(errors->jump, 1);
  }
  // Adobe writes its inks inverted.
  void to_rgb(const std::uint8_t* from, std::uint8_t* to) const {
    const int flip = info_.saw_Adobe_marker ? 0 : 255;
    for (JDIMENSION i = 0; i < info_.output_width; ++i, from += 4, to += 3) {
      for (int c = 0; c < 3; ++c) {
        to[c] = static_cast<std::uint8_t>((from[c] ^ flip) * (from[3] ^ flip) / 255);
      }
    }
  }

  jpeg_decompress_struct info_{};
  Errors errors_{};
  Progress progress_{};
  const unsigned char* data_;
  unsigned long size_;
};

}  // namespace

Tensor decode_jpeg(Bytes bytes, const Budget& budget) {
  Reader reader(bytes);
  if (!reader.read_header()) bad_image("JPEG", reader.message());
  const std::int64_t pixels = reader.height() * reader.width();
  require_data("JPEG", bytes, static_cast<std::uint64_t>(pixels), reader.pixels_of_byte());
  Tensor image = new_image("JPEG", reader.height(), reader.width(), budget);
  const Charge coefficients(budget, pixels, reader.keeps_coefficients() ? 8 : 0);
  std::vector<std::uint8_t> row(reader.is_cmyk() ? static_cast<std::size_t>(reader.width()) * 4
                                                 : 0);
  if (!reader.read_rows(image.mutable_values<std::uint8_t>().data(), row.data())) {
    check_stop();
    bad_image("JPEG", reader.message());
  }
  return image;
}

#else

Tensor decode_jpeg(Bytes, const Budget&) { no_library("JPEG"); }

#endif

}  // namespace ondine::kernels::image
