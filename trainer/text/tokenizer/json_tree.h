// A JSON text as a tree in two blocks of memory, for files with a million values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ondine::text::tokenizer {

enum class JsonKind : std::uint8_t { null, boolean, number, text, list, object };

class JsonTree;

// A value of a tree, which must outlive it, with the way to it for messages.
class JsonView {
 public:
  JsonView(const JsonTree& tree, std::uint32_t node, std::string path)
      : tree_(&tree), node_(node), path_(std::move(path)) {}

  JsonKind kind() const noexcept;
  bool is_null() const noexcept { return kind() == JsonKind::null; }
  const std::string& path() const noexcept { return path_; }

  // Error(corrupt) naming the value unless it is of this kind.
  std::string_view text() const;
  bool flag() const;
  double number() const;
  // Error(limit) where it is above `most`.
  std::int64_t integer(std::int64_t most) const;
  void require(JsonKind kind) const;

  // Members of an object; require() and at() are Error(corrupt) where there is none.
  bool has(std::string_view name) const;  // and it is not null
  JsonView at(std::string_view name) const;
  std::string_view text_or(std::string_view name, std::string_view absent) const;
  bool flag_or(std::string_view name, bool absent) const;
  std::string_view type() const { return at("type").text(); }
  // Error(unsupported) naming a member that is none of these, besides "type".
  void allow_only(std::initializer_list<std::string_view> names) const;

  // Calls take(JsonView item) for each item of a list, or take(name, item) of an object.
  template <class Take>
  void each_item(const Take& take) const;
  template <class Take>
  void each_member(const Take& take) const;
  std::size_t count() const;

 private:
  [[noreturn]] void fail_kind(const char* wanted) const;

  const JsonTree* tree_;
  std::uint32_t node_;
  std::string path_;
};

class JsonTree {
 public:
  // Error(corrupt) for what is no JSON, Error(limit) for more than 32 levels. Members that are
  // there twice are found by the caller.
  explicit JsonTree(const std::string& text);

  JsonView root() const { return {*this, 0, {}}; }

 private:
  friend class JsonView;
  friend class JsonTreeBuilder;
  struct Piece {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  struct Node {
    double number = 0;
    Piece name;  // of a member
    Piece text;
    std::uint32_t end = 0;    // the node after all below this one
    std::uint32_t count = 0;  // of items
    JsonKind kind = JsonKind::null;
    bool flag = false;
  };

  std::string_view view(Piece piece) const {
    return std::string_view(texts_).substr(piece.begin, piece.size);
  }

  std::vector<Node> nodes_;
  std::string texts_;
};

template <class Take>
void JsonView::each_item(const Take& take) const {
  require(JsonKind::list);
  std::size_t i = 0;
  const auto& nodes = tree_->nodes_;
  for (std::uint32_t at = node_ + 1; at < nodes[node_].end; at = nodes[at].end) {
    take(JsonView(*tree_, at, path_ + "[" + std::to_string(i++) + "]"));
  }
}

template <class Take>
void JsonView::each_member(const Take& take) const {
  require(JsonKind::object);
  const auto& nodes = tree_->nodes_;
  for (std::uint32_t at = node_ + 1; at < nodes[node_].end; at = nodes[at].end) {
    take(tree_->view(nodes[at].name), JsonView(*tree_, at, {}));
  }
}

}  // namespace ondine::text::tokenizer
