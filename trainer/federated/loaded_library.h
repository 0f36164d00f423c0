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

  // Converts to a pointer to a function of any type.
  struct Address {
    void* value;
    template <class Function>
    operator Function*() const {
      return reinterpret_cast<Function*>(value);
    }
  };

  // Throws Error unsupported if the library has no such function.
  Address operator[](const char* function) const {
    void* const found = ::dlsym(library_, function);
    if (found == nullptr) fail(ErrorCode::unsupported, name_, " has no ", function);
    return {found};
  }

 private:
  std::string name_;
  void* library_;
};

}  // namespace ondine::federated
