#include "trainer/text/tokenizer/json_tree.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/message.h"
#include "core/stop.h"

namespace ondine::text::tokenizer {

namespace {

constexpr std::size_t most_levels = 32;

}  // namespace

class JsonTreeBuilder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit JsonTreeBuilder(JsonTree& tree) : tree_(&tree) {}

  bool null() override { return close_leaf(add(JsonKind::null)); }
  bool boolean(bool value) override {
    JsonTree::Node& node = add(JsonKind::boolean);
    node.flag = value;
    return close_leaf(node);
  }
  bool number_integer(number_integer_t value) override { return take(static_cast<double>(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return take(static_cast<double>(value));
  }
  bool number_float(number_float_t value, const string_t&) override { return take(value); }
  bool string(string_t& value) override {
    const JsonTree::Piece piece = keep(value);
    JsonTree::Node& node = add(JsonKind::text);
    node.text = piece;
    return close_leaf(node);
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(JsonKind::object); }
  bool start_array(std::size_t) override { return open(JsonKind::list); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    name_ = keep(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    fail(ErrorCode::corrupt, "no JSON at byte ", position);
  }

 private:
  JsonTree::Piece keep(const std::string& text) {
    const JsonTree::Piece piece{static_cast<std::uint32_t>(tree_->texts_.size()),
                                static_cast<std::uint32_t>(text.size())};
    tree_->texts_ += text;
    return piece;
  }
  JsonTree::Node& add(JsonKind kind) {
    checkpoint(64);
    if (!open_.empty()) ++tree_->nodes_[open_.back()].count;
    JsonTree::Node& node = tree_->nodes_.emplace_back();
    node.kind = kind;
    node.name = name_;
    name_ = {};
    return node;
  }
  bool close_leaf(JsonTree::Node& node) {
    node.end = static_cast<std::uint32_t>(tree_->nodes_.size());
    return true;
  }
  bool take(double value) {
    JsonTree::Node& node = add(JsonKind::number);
    node.number = value;
    return close_leaf(node);
  }
  bool open(JsonKind kind) {
    if (open_.size() >= most_levels) {
      fail(ErrorCode::limit, "more than ", most_levels, " levels of JSON");
    }
    add(kind);
    open_.push_back(tree_->nodes_.size() - 1);
    return true;
  }
  bool close() {
    tree_->nodes_[open_.back()].end = static_cast<std::uint32_t>(tree_->nodes_.size());
    open_.pop_back();
    return true;
  }

  JsonTree* tree_;
  std::vector<std::size_t> open_;
  JsonTree::Piece name_;
};

JsonTree::JsonTree(const std::string& text) {
  JsonTreeBuilder builder(*this);
  if (!nlohmann::json::sax_parse(text, &builder)) fail(ErrorCode::corrupt, "no JSON");
}

JsonKind JsonView::kind() const noexcept { return tree_->nodes_[node_].kind; }

void JsonView::fail_kind(const char* wanted) const {
  fail(ErrorCode::corrupt, path_.empty() ? "it" : quoted(path_), " is no ", wanted);
}

void JsonView::require(JsonKind wanted) const {
  constexpr const char* names[] = {"null", "boolean", "number", "text", "list", "object"};
  if (kind() != wanted) fail_kind(names[static_cast<std::size_t>(wanted)]);
}

std::string_view JsonView::text() const {
  require(JsonKind::text);
  return tree_->view(tree_->nodes_[node_].text);
}

bool JsonView::flag() const {
  require(JsonKind::boolean);
  return tree_->nodes_[node_].flag;
}

double JsonView::number() const {
  require(JsonKind::number);
  return tree_->nodes_[node_].number;
}

std::int64_t JsonView::integer(std::int64_t most) const {
  const double value = number();
  if (!(value >= 0) || value != std::floor(value)) fail_kind("integer from 0 on");
  if (value > static_cast<double>(most)) {
    fail(ErrorCode::limit, path_.empty() ? "it" : quoted(path_), " is ", value, ", above ", most);
  }
  return static_cast<std::int64_t>(value);
}

bool JsonView::has(std::string_view name) const {
  require(JsonKind::object);
  const auto& nodes = tree_->nodes_;
  for (std::uint32_t at = node_ + 1; at < nodes[node_].end; at = nodes[at].end) {
    if (tree_->view(nodes[at].name) == name) return nodes[at].kind != JsonKind::null;
  }
  return false;
}

JsonView JsonView::at(std::string_view name) const {
  require(JsonKind::object);
  std::string path = path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  const auto& nodes = tree_->nodes_;
  for (std::uint32_t at = node_ + 1; at < nodes[node_].end; at = nodes[at].end) {
    if (tree_->view(nodes[at].name) == name) return {*tree_, at, std::move(path)};
  }
  fail(ErrorCode::corrupt, quoted(path), " is missing");
}

std::string_view JsonView::text_or(std::string_view name, std::string_view absent) const {
  return has(name) ? at(name).text() : absent;
}

bool JsonView::flag_or(std::string_view name, bool absent) const {
  return has(name) ? at(name).flag() : absent;
}

void JsonView::allow_only(std::initializer_list<std::string_view> names) const {
  each_member([&](std::string_view name, const JsonView&) {
    if (name == "type" || std::find(names.begin(), names.end(), name) != names.end()) return;
    fail(ErrorCode::unsupported, "its member ",
         quoted(path_.empty() ? std::string(name) : path_ + "." + std::string(name)),
         " is not known");
  });
}

std::size_t JsonView::count() const { return tree_->nodes_[node_].count; }

}  // namespace ondine::text::tokenizer
