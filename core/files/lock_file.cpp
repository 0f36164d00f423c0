#include "core/files/lock_file.h"

#include <unistd.h>

#include <cerrno>
#include <utility>

#include "core/message.h"

namespace ondine {
namespace {

// Whether `error` is the answer of a file system without locks.
bool lacks_locks(int error) {
  return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EBADF ||
         error == EINVAL;
}

}  // namespace

LockFile::LockFile(FileSystem& files, const std::string& path) : process_(::getpid()) {
  const std::string name = path + ".lock";
  std::string held_name = name;  // copied before there is a file to lose
  for (int attempt = 0; attempt < 100; ++attempt) {
    const IoResult made = files.create(name, path);
    if (made.error == 0) files.close(made.value);
    if (made.error != 0 && made.error != EEXIST) return;
    const IoResult locked = files.lock(name);
    if (locked.error == ENOENT) continue;  // its holder removed it meanwhile
    if (locked.error == EWOULDBLOCK) break;
    if (locked.error == 0) {
      handle_ = File(files, locked.value, std::move(held_name));
      files_ = &files;
      return;
    }
    if (made.error == 0) files.remove(name);
    if (lacks_locks(locked.error)) return;
    fail_io("lock", name, locked.error);
  }
  fail(ErrorCode::mismatch, quoted(path), " is in use by another run, which has locked ",
       quoted(name), "; wait for its end or name another file");
}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  if (this != &other) {
    release();
    files_ = other.files_;
    handle_ = std::move(other.handle_);
    process_ = other.process_;
  }
  return *this;
}

void LockFile::release() noexcept {
  if (!is_held()) return;
  // Removed while it is locked: who opened it meanwhile finds it gone and makes a new one.
  if (process_ == ::getpid()) files_->remove(handle_.path());
  handle_ = File();
}

}  // namespace ondine
