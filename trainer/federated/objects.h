// Objects of Flower: "KIND CHILDREN LENGTH", a zero byte and the body. An object's id is the
// SHA-256 hash of all of it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "proto/fleet_messages.h"

namespace ondine::federated {

std::string object_id(std::string_view content);

// Ids are 64 lower-case hexadecimal digits.
bool is_object_id(std::string_view text) noexcept;

// An object that was taken apart; the body lies in the content.
struct Object {
  std::string kind;
  std::vector<std::string> children;
  std::string_view body;
};

// Error(corrupt) for bytes that are no object of that kind or whose hash is not the id.
Object read_object(std::string_view content, std::string_view id, std::string_view kind);

// Gives the content of an object by its id. The content stays until the message is read.
using FetchObject = std::function<const std::string&(const std::string& id)>;

// The objects of a message that is made, by their ids.
class ObjectStore {
 public:
  // Adds an object; equal ones are kept once. Returns its tree.
  fleet::Tree add(std::string_view kind, std::vector<fleet::Tree> children, std::string_view body);

  const std::map<std::string, std::string>& all() const noexcept { return contents_; }
  std::map<std::string, std::string> take() && noexcept { return std::move(contents_); }

 private:
  std::map<std::string, std::string> contents_;
};

// A message with its objects by their ids; the root is message.metadata.id.
struct Parcel {
  fleet::Message message = {};
  std::map<std::string, std::string> objects = {};
  double seconds = 0;  // that the task of a reply took
};

// The tree of an object whose descendants are all in `contents`. Error(corrupt) where one is not,
// or lies deeper than the objects of a message do.
fleet::Tree tree_of(const std::string& root, const std::map<std::string, std::string>& contents);

}  // namespace ondine::federated
