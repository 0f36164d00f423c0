// ONDINE_HIDDEN keeps a part of an exported class out of the shared library's symbols.
#pragma once

#if defined(__GNUC__)
#define ONDINE_HIDDEN __attribute__((visibility("hidden")))
#else
#define ONDINE_HIDDEN
#endif
