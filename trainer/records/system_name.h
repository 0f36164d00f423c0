#pragma once

#include <string>

namespace ondine::records {

// Name and release of the operating system, and the machine; empty if unknown.
std::string system_name();

}  // namespace ondine::records
