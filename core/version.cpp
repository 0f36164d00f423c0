#include <ondine/version.h>

namespace ondine {

const char* version() noexcept { return ONDINE_VERSION; }

}  // namespace ondine
