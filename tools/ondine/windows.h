// The API of Windows and what the files *_win32.cpp, which alone include this, share.
#pragma once

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <string>

namespace ondine::cli {

// Between UTF-8 and UTF-16; what is neither becomes U+FFFD.
std::string utf8_of(const wchar_t* text);
std::wstring utf16_of(const std::string& text);

}  // namespace ondine::cli
