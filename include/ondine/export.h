// ONDINE_API marks what the shared library exports; everything else in it is hidden.
#pragma once

#if defined(__GNUC__)
#define ONDINE_API __attribute__((visibility("default")))
#else
#define ONDINE_API
#endif
