#pragma once

#include <string>

#include <dlfcn.h>

#include "core/message.h"

namespace ondine::federated {

// A shared library that is loaded when it is first needed and never closed. libcurl and libcrypto
// bring dozens of libraries and relocations along, which every program would pay for when it
// starts.
class LoadedLibrary {
 public:
  // Throws Error unsupported that names the Debian package if the library is missing.
  LoadedLibrary(const char* name, const char* package)
      : name_(name), library_(::dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
    if (library_ != nullptr) return;
    fail(ErrorCode::unsupported, "federations need ", name,
         ", which is not installed (Debian package ", package, ")");
  }

  template <class Function>
  void find(const char* function, Function& to) const {
    to = reinterpret_cast<Function>(::dlsym(library_, function));
    if (to == nullptr) fail(ErrorCode::unsupported, name_, " has no ", function);
  }

 private:
  std::string name_;
  void* library_;
};

}  // namespace ondine::federated
