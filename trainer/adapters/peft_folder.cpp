#include "trainer/adapters/peft_folder.h"

#include <span>
#include <system_error>

#include "core/files/atomic_file.h"
#include "core/files/file.h"

namespace ondine::trainer {

std::string PeftFolder::settings() const {
  PosixFileSystem files;
  const std::string file = (folder_ / settings_file).string();
  FileSource source(files, file);
  constexpr std::uint64_t most = 1 << 20;
  if (source.size() > most) {
    fail(ErrorCode::limit, quoted(file), " has ", source.size(), " bytes, at most ", most);
  }
  std::string text(static_cast<std::size_t>(source.size()), '\0');
  source.read(std::as_writable_bytes(std::span(text)));
  return text;
}

Safetensors PeftFolder::tensors(const Limits& limits) const {
  PosixFileSystem files;
  return load_safetensors(files, folder_ / weights_file, limits);
}

void PeftFolder::write(const Safetensors& content, const std::string& settings) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  PosixFileSystem files;
  save_safetensors(files, folder_ / weights_file, content);
  atomic_write(files, (folder_ / settings_file).string(),
               [&](Sink& sink) { sink.write(std::as_bytes(std::span(settings))); });
}

}  // namespace ondine::trainer
