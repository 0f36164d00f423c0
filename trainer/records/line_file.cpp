#include "trainer/records/line_file.h"

#include <charconv>
#include <iterator>

#include "core/digest.h"
#include "core/files/atomic_file.h"
#include "core/message.h"
#include "trainer/records/output.h"

namespace ondine::records {
namespace {

// Whether the line is of a step after `last`; a header has no step.
bool is_after(std::string_view line, std::string_view prefix, std::uint64_t last) {
  if (!line.starts_with(prefix)) return false;
  std::uint64_t step = 0;
  const auto [end, error] =
      std::from_chars(line.data() + prefix.size(), line.data() + line.size(), step);
  return error == std::errc() && step > last;
}

}  // namespace

LineFile::LineFile(std::filesystem::path file, std::string prefix,
                   std::optional<std::uint64_t> resumed_at)
    : file_(std::move(file)), prefix_(std::move(prefix)) {
  std::error_code error;
  const bool kept = resumed_at && std::filesystem::exists(file_, error);
  if (kept) keep_until(*resumed_at);
  out_.open(file_, std::ios::binary | (kept ? std::ios::app : std::ios::trunc));
  require_written(out_, file_);
}

// A last line without its end is left out too.
void LineFile::keep_until(std::uint64_t step) {
  std::ifstream in(file_, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  in.close();  // Windows does not replace a file that is open
  std::string kept;
  std::size_t begin = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    if (kept.empty()) first_ = line;
    if (!is_after(line, prefix_, step)) kept.append(line).append("\n");
    begin = end + 1;
  }
  if (kept == text) return;
  PosixFileSystem files;
  atomic_write(files, file_.string(), [&](Sink& sink) { sink.write(bytes_of(kept)); });
}

void LineFile::header(const std::string& line) {
  if (first_.empty()) return this->line(line);
  if (first_ != line) {
    fail(ErrorCode::mismatch, "log ", quoted(file_.string()), " has the columns ", first_,
         ", the run has ", line);
  }
}

void LineFile::line(const std::string& text) {
  out_ << text << '\n';
  require_written(out_, file_);
}

void LineFile::flush() {
  out_.flush();
  require_written(out_, file_);
}

}  // namespace ondine::records
