// Keeping others from using a file at the same time.
#pragma once

#include <string>

#include "core/files/file.h"

namespace ondine {

// The file PATH.lock, locked until the object goes, which removes it, or until the process ends in
// whatever way. A lock file that no process has locked is a left-over and is taken over. A fork
// shares the lock of its parent.
class LockFile {
 public:
  LockFile() = default;
  // Takes the lock. Error(mismatch) while another process, or another object of this one, has it;
  // Error(io) where what is at PATH.lock cannot be opened. Where no lock can be made (a folder that
  // cannot be written, a file system without locks) the object holds nothing.
  LockFile(FileSystem& files, const std::string& path);
  LockFile(LockFile&& other) noexcept = default;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile() { release(); }

  bool is_held() const noexcept { return handle_.is_open(); }
  void release() noexcept;

 private:
  FileSystem* files_ = nullptr;
  File handle_;
  int process_ = 0;
};

}  // namespace ondine
