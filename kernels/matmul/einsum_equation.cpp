#include <algorithm>
#include <cctype>
#include <map>

#include "kernels/matmul/einsum.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

EinsumTerm parse_term(std::string_view text, std::string_view whole) {
  EinsumTerm term;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '.') {
      const bool dots = text.substr(i, 3) == "..." && term.find('.') == EinsumTerm::npos;
      if (!dots) fail(ErrorCode::invalid_model, "stray dots in equation ", ondine::quoted(whole));
      i += 2;
      term += '.';
    } else if (std::isalpha(static_cast<unsigned char>(c)) != 0) {
      term += c;
    } else {
      fail(ErrorCode::invalid_model, "equation ", ondine::quoted(whole), " holds ",
           ondine::quoted(std::string(1, c)));
    }
  }
  return term;
}

// The letters that occur once in all, after the broadcast dims.
EinsumTerm implicit_output(const std::vector<EinsumTerm>& operands) {
  std::map<char, int> count;
  for (const auto& term : operands) {
    for (const char c : term) ++count[c];
  }
  EinsumTerm output;
  if (count.contains('.')) output += '.';
  for (const auto& [c, n] : count) {
    if (c != '.' && n == 1) output += c;
  }
  return output;
}

}  // namespace

EinsumEquation parse_einsum(std::string_view text, std::size_t operands, bool free) {
  std::string bare;
  for (const char c : text) {
    if (std::isspace(static_cast<unsigned char>(c)) == 0) bare += c;
  }
  const std::size_t arrow = bare.find("->");
  std::string_view left = std::string_view(bare).substr(0, arrow);
  EinsumEquation equation;
  while (true) {
    const std::size_t comma = left.find(',');
    equation.operands.push_back(parse_term(left.substr(0, comma), text));
    if (comma == std::string_view::npos) break;
    left.remove_prefix(comma + 1);
  }
  if (equation.operands.size() != operands) {
    fail(ErrorCode::invalid_model, "equation ", ondine::quoted(text), " has ",
         equation.operands.size(), " terms for ", operands, " operands");
  }
  if (arrow == std::string::npos) {
    if (free) fail(ErrorCode::invalid_model, "equation ", ondine::quoted(text), " has no output");
    equation.output = implicit_output(equation.operands);
    return equation;
  }
  equation.output = parse_term(std::string_view(bare).substr(arrow + 2), text);
  for (const char c : equation.output) {
    const bool once = std::count(equation.output.begin(), equation.output.end(), c) == 1;
    const bool known = std::any_of(equation.operands.begin(), equation.operands.end(),
                                   [&](const EinsumTerm& t) { return t.find(c) != t.npos; });
    // An output may name broadcast dims where there are none.
    if (!free && (!once || (!known && c != '.'))) {
      fail(ErrorCode::invalid_model, "output of equation ", ondine::quoted(text), " holds ",
           ondine::quoted(std::string(1, c)), once ? ", which no operand has" : " twice");
    }
  }
  return equation;
}

std::string to_string(const EinsumTerm& term) {
  std::string text;
  for (const char c : term) text += c == '.' ? std::string("...") : std::string(1, c);
  return text;
}

std::optional<Dims> einsum_dims(const EinsumEquation& equation,
                                std::span<const std::optional<Dims>> operands) {
  std::map<char, Dim> dim_of_label;
  Dims broadcasted;
  bool unknown_rank = false;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    const EinsumTerm& term = equation.operands[k];
    if (!operands[k]) {
      unknown_rank = true;
      continue;
    }
    const Dims& dims = *operands[k];
    const bool dots = term.find('.') != EinsumTerm::npos;
    const std::size_t letters = term.size() - (dots ? 1 : 0);
    if (dots ? dims.size() < letters : dims.size() != letters) {
      fail(ErrorCode::mismatch, "term ", ondine::quoted(to_string(term)), " does not fit dims ",
           graph::to_string(dims));
    }
    std::size_t at = 0;
    for (const char c : term) {
      if (c == '.') {
        const std::size_t count = dims.size() - letters;
        const auto begin = dims.begin() + static_cast<std::ptrdiff_t>(at);
        broadcasted =
            graph::broadcast(broadcasted, Dims(begin, begin + static_cast<std::ptrdiff_t>(count)));
        at += count;
        continue;
      }
      const Dim dim = dims[at++];
      const auto [found, fresh] = dim_of_label.try_emplace(c, dim);
      if (fresh || dim.same(1)) continue;
      found->second =
          found->second.same(1) ? dim : unify(found->second, dim, cat("dims of label ", c));
    }
  }
  if (unknown_rank) return std::nullopt;
  Dims output;
  for (const char c : equation.output) {
    if (c == '.') {
      output.insert(output.end(), broadcasted.begin(), broadcasted.end());
    } else {
      const auto found = dim_of_label.find(c);
      output.push_back(found == dim_of_label.end() ? Dim() : found->second);
    }
  }
  return output;
}

}  // namespace ondine::kernels
