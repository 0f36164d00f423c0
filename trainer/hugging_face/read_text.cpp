#include "trainer/hugging_face/read_text.h"

#include <span>

#include "core/checked.h"
#include "core/files/file.h"
#include "core/message.h"

namespace ondine::hugging_face {

std::string read_text(const std::filesystem::path& file, std::uint64_t most) {
  PosixFileSystem files;
  FileSource source(files, file.string());
  if (source.size() > most) {
    fail(ErrorCode::limit, quoted(file.filename().string()), " has ", source.size(),
         " bytes, the limit is ", most);
  }
  std::string text(size_in_memory(source.size(), "a file"), '\0');
  source.read(std::as_writable_bytes(std::span(text)));
  return text;
}

}  // namespace ondine::hugging_face
