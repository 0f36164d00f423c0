#include <sys/utsname.h>

#include "trainer/records/system_name.h"

namespace ondine::records {

std::string system_name() {
  utsname system{};
  if (uname(&system) != 0) return {};
  return std::string(system.sysname) + " " + system.release + ", " + system.machine;
}

}  // namespace ondine::records
