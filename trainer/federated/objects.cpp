#include "trainer/federated/objects.h"

#include <algorithm>
#include <charconv>

#include "core/digest.h"
#include "core/message.h"

namespace ondine::federated {
namespace {

constexpr std::size_t id_length = 64;
constexpr int most_levels = 5;  // message, dictionary, record, array, chunk

// Kind, ids and length of a header.
struct Header {
  std::string_view kind;
  std::string_view children;
  std::uint64_t length = 0;
  std::size_t end = 0;  // where the body begins
};

Header read_header(std::string_view content) {
  Header header;
  const std::size_t zero = content.find('\0');
  if (zero == std::string_view::npos) fail(ErrorCode::corrupt, "an object without a header");
  header.end = zero + 1;
  const std::string_view text = content.substr(0, zero);
  const std::size_t first = text.find(' ');
  const std::size_t last = text.rfind(' ');
  if (first == std::string_view::npos || first == last) {
    fail(ErrorCode::corrupt, "an object whose header is damaged");
  }
  header.kind = text.substr(0, first);
  header.children = text.substr(first + 1, last - first - 1);
  const std::string_view length = text.substr(last + 1);
  const auto [end, error] =
      std::from_chars(length.data(), length.data() + length.size(), header.length);
  if (error != std::errc() || end != length.data() + length.size()) {
    fail(ErrorCode::corrupt, "an object whose header is damaged");
  }
  return header;
}

std::vector<std::string> split_ids(std::string_view text) {
  std::vector<std::string> ids;
  while (!text.empty()) {
    const std::string_view id = text.substr(0, text.find(','));
    if (!is_object_id(id)) fail(ErrorCode::corrupt, "an object names a child without an id");
    ids.emplace_back(id);
    text.remove_prefix(std::min(id.size() + 1, text.size()));
  }
  return ids;
}

fleet::Tree tree_below(const std::string& root, const std::map<std::string, std::string>& contents,
                       int levels) {
  const auto found = contents.find(root);
  if (found == contents.end() || levels == 0) {
    fail(ErrorCode::corrupt, "the objects of the message are not complete");
  }
  fleet::Tree tree{root};
  for (const std::string& child : split_ids(read_header(found->second).children)) {
    tree.children.push_back(tree_below(child, contents, levels - 1));
  }
  return tree;
}

}  // namespace

std::string object_id(std::string_view content) { return to_hex(sha256(bytes_of(content))); }

bool is_object_id(std::string_view text) noexcept {
  return text.size() == id_length && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

Object read_object(std::string_view content, std::string_view id, std::string_view kind) {
  if (object_id(content) != id) {
    fail(ErrorCode::corrupt, "the bytes of an object (", quoted(kind), ") do not have its id");
  }
  const Header header = read_header(content);
  if (header.kind != kind) {
    fail(ErrorCode::corrupt, "an object is a ", quoted(header.kind), " where a ", quoted(kind),
         " must be");
  }
  Object object{std::string(kind), split_ids(header.children), content.substr(header.end)};
  if (object.body.size() != header.length) {
    fail(ErrorCode::corrupt, "an object (", quoted(kind), ") has ", object.body.size(),
         " bytes where its header says ", header.length);
  }
  return object;
}

fleet::Tree ObjectStore::add(std::string_view kind, std::vector<fleet::Tree> children,
                             std::string_view body) {
  std::string content(kind);
  content += ' ';
  for (std::size_t i = 0; i < children.size(); ++i) content += (i == 0 ? "" : ",") + children[i].id;
  content += ' ' + std::to_string(body.size()) + '\0';
  content += body;
  fleet::Tree tree{object_id(content), std::move(children)};
  contents_.emplace(tree.id, std::move(content));
  return tree;
}

fleet::Tree tree_of(const std::string& root, const std::map<std::string, std::string>& contents) {
  return tree_below(root, contents, most_levels);
}

}  // namespace ondine::federated
