#include <ondine/replace_file.h>

#include <ostream>
#include <streambuf>

#include "core/files/atomic_file.h"
#include "core/out_of_memory.h"

namespace ondine {
namespace {

class SinkBuffer final : public std::streambuf {
 public:
  explicit SinkBuffer(Sink& sink) : sink_(sink) {}

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    sink_.write(std::as_bytes(std::span(text, static_cast<std::size_t>(count))));
    return count;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    xsputn(&one, 1);
    return c;
  }

 private:
  Sink& sink_;
};

}  // namespace

void replace_file(const std::filesystem::path& file,
                  const std::function<void(std::ostream&)>& write) {
  guard_memory("write a file", [&] {
    PosixFileSystem files;
    atomic_write(files, file.string(), [&](Sink& sink) {
      SinkBuffer buffer(sink);
      std::ostream stream(&buffer);
      // Exceptions of the sink go on to the caller.
      stream.exceptions(std::ios::badbit | std::ios::failbit);
      write(stream);
    });
  });
}

}  // namespace ondine
