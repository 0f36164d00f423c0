#include "bindings/c/call.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#include <ondine/error.h>

namespace ondine::c {
namespace {

// Stands for an error that memory is too short to describe; it needs no freeing.
constexpr std::uintptr_t no_memory = 1;

ondine_error* make_error(ErrorCode code, const std::string& reason,
                         const std::vector<std::string>& context, const std::string& message) {
  New<ondine_error> made(ErrorObject{static_cast<int>(code) + 1, reason, context, message});
  return made.release();
}

}  // namespace

ondine_error* current_error() noexcept {
  try {
    try {
      throw;
    } catch (const Error& error) {
      return make_error(error.code(), error.message(), error.context(), error.what());
    } catch (const std::bad_alloc&) {
      throw;
    } catch (const std::length_error&) {
      throw;
    } catch (const std::exception& error) {
      return make_error(ErrorCode::internal, error.what(), {}, error.what());
    } catch (...) {
      const std::string reason = "a callback threw what is no std::exception";
      return make_error(ErrorCode::internal, reason, {}, reason);
    }
  } catch (...) {
    return reinterpret_cast<ondine_error*>(no_memory);  // NOLINT
  }
}

void require(const void* argument, const char* name) {
  if (argument == nullptr) throw Error(ErrorCode::mismatch, std::string(name) + " is NULL");
}

std::string text_in(const char* argument, const char* name) {
  require(argument, name);
  return argument;
}

std::vector<std::string> names_in(const char* const* list) {
  std::vector<std::string> result;
  for (; list != nullptr && *list != nullptr; ++list) result.emplace_back(*list);
  return result;
}

OptionValues options_in(const ondine_option* list) {
  OptionValues result;
  for (; list != nullptr && list->name != nullptr; ++list) {
    if (list->value == nullptr) {
      throw Error(ErrorCode::invalid_option, std::string(list->name) + " has no value");
    }
    result.emplace_back(list->name, list->value);
  }
  return result;
}

char* copy_text(std::string_view text) {
  auto* const copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = 0;
  return copy;
}

void* copy_bytes(const void* bytes, std::size_t size) {
  void* const copy = std::malloc(size + 1);
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, bytes, size);
  return copy;
}

}  // namespace ondine::c

using namespace ondine::c;  // NOLINT

namespace {

const ErrorObject* find(const ondine_error* error) {
  if (error == reinterpret_cast<const ondine_error*>(no_memory)) {  // NOLINT
    static const ErrorObject none{ONDINE_LIMIT, "out of memory", {}, "out of memory"};
    return &none;
  }
  // Valid until the caller frees the handle.
  return static_cast<const ErrorObject*>(find_object(error, Kind::error).get());
}

constexpr const char* freed = "the error was freed, or its handle is none";

}  // namespace

void ondine_free(void* memory) { std::free(memory); }

size_t ondine_live_handles(void) { return live_handles(); }

int ondine_error_code(const ondine_error* error) {
  if (error == nullptr) return ONDINE_OK;
  const ErrorObject* const found = find(error);
  return found == nullptr ? ONDINE_MISMATCH : found->code;
}

const char* ondine_code_name(int code) {
  if (code == ONDINE_OK) return "ok";
  if (code < ONDINE_OK || code > ONDINE_INVALID_OPTION) return "unknown";
  return ondine::to_string(static_cast<ondine::ErrorCode>(code - 1));
}

const char* ondine_error_message(const ondine_error* error) {
  if (error == nullptr) return "";
  const ErrorObject* const found = find(error);
  return found == nullptr ? freed : found->message.c_str();
}

const char* ondine_error_reason(const ondine_error* error) {
  if (error == nullptr) return "";
  const ErrorObject* const found = find(error);
  return found == nullptr ? freed : found->reason.c_str();
}

const char* ondine_error_context(const ondine_error* error, size_t index) {
  const ErrorObject* const found = error == nullptr ? nullptr : find(error);
  if (found == nullptr || index >= found->context.size()) return nullptr;
  return found->context[index].c_str();
}

void ondine_error_free(ondine_error* error) { close(error); }
