// What an operator says about itself. Rules in kernels/ and the engines in graph/, autodiff/ and
// trainer/ meet only here.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace ondine::graph {

class InferContext;
class BindContext;
class KernelContext;
class GradContext;
class ExpandContext;
class Val;
struct Node;

// One call of a bound operator. Reads and writes only through the context; does not allocate when
// all its shapes were known to bind. May run at once for different nodes, never for one node.
using Kernel = std::function<void(KernelContext&)>;

// Pure properties that the passes and the planner ask for. Masks: bit i is input i.
struct OpTraits {
  std::uint32_t inplace = 0;     // output 0 may take the memory of these inputs, element by element
  std::uint32_t shape_only = 0;  // only the type of these inputs is read, never the elements
  bool view = false;             // output 0 has the elements of input 0 in the same order
  bool cheap = false;            // recomputed rather than kept where that saves memory
  bool commutative = false;
  bool random = false;  // depends on the random state
  // In floating point its kernel, once bound, only computes: no error, no allocation.
  bool cannot_fail = false;
  bool inplace_every_output = false;  // `inplace` holds for every output, not for output 0 alone
  // Of an optimizer of the standard, which updates V variables one after the other, element by
  // element: how many lists of V inputs follow the first two. Input 2 + kV + i and output kV + i
  // belong to variable i, and any such output may take the memory of any such input.
  std::uint8_t variable_lists = 0;
};

inline constexpr std::uint32_t any_input = 0xffffffffU;

struct OpDef {
  std::string_view name;
  std::string_view domain = {};  // "" for ai.onnx

  // Types of the outputs from types and known values of the inputs. Every rule on shapes is here.
  void (*infer)(InferContext&) = nullptr;
  // Runs once when a plan is made, with every input shape known: reads attributes, picks the dtype,
  // returns the function that each step calls. Absent for operators that only expand.
  Kernel (*bind)(BindContext&) = nullptr;
  // Derivatives with respect to the inputs, composed of nodes. One entry for each input; a shorter
  // result or an empty Val contributes nothing. Absent: the derivative of expand's nodes is taken,
  // and when there is no expand either the operator has none.
  std::vector<Val> (*grad)(GradContext&) = nullptr;
  // The same outputs from other operators. Used where there is no bind or no grad.
  std::vector<Val> (*expand)(ExpandContext&) = nullptr;
  OpTraits traits = {};
  // Inputs by whose elements no derivative exists though they may be floats (bit i is input i).
  // A path through them contributes zero.
  std::uint32_t no_gradient = 0;
  // Turns a copy of a node into one that computes output 0 again, with the same bits, where the
  // original's outputs are at hand; false when it cannot. The other outputs of the copy are then
  // dropped. Absent: the node without its other outputs computes the same.
  bool (*make_repeatable)(Node& copy) = nullptr;
};

}  // namespace ondine::graph
