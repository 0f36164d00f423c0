// OpDef: the definition of an operator. The interface between the operators in kernels/ and the
// modules that use them: graph/, autodiff/ and trainer/.
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
struct Graph;
struct Node;

// Runs a bound operator once. Reads and writes only through the context; allocates nothing when all
// shapes were known at binding. Kernels of different nodes may run concurrently, one kernel never
// runs concurrently with itself.
using Kernel = std::function<void(KernelContext&)>;

// Properties that passes and the planner rely on. In masks, bit i stands for input i.
struct OpTraits {
  std::uint32_t inplace = 0;     // output 0 may overwrite these inputs, element by element
  std::uint32_t shape_only = 0;  // only the types of these inputs are read
  // Inputs that have the batch along axis 0, as output 0 has: sample i of output 0 follows from
  // sample i of each of them, or from all of those that have fewer dims or a dim of 1 there, and
  // from the other inputs.
  std::uint32_t per_sample = 0;
  // Where not null: whether `per_sample` holds for a node of a typed graph.
  bool (*is_per_sample)(const Node&, const Graph&) = nullptr;
  bool view = false;   // output 0 has the elements of input 0 in the same order
  bool cheap = false;  // recomputed instead of stored where that saves memory
  bool commutative = false;
  bool random = false;  // depends on the random state
  // A run takes one of the subgraphs: the others need not fit the shapes of the inputs.
  bool takes_one_subgraph = false;
  // For floating point dtypes the bound kernel neither throws nor allocates.
  bool cannot_fail = false;
  bool inplace_every_output = false;  // `inplace` holds for every output, not only for output 0
  // For the standard's optimizers, which update V variables one after the other, element by
  // element: the number of lists of V inputs that follow the first two inputs. Input 2 + kV + i and
  // output kV + i belong to variable i; each of its outputs may overwrite each of its inputs.
  std::uint8_t variable_lists = 0;
};

// Float32 inputs of a node that may be bfloat16 instead: bit i stands for input i.
struct RoundedInputs {
  std::uint32_t read = 0;     // what the kernel accepts
  std::uint32_t rounded = 0;  // of these, what it rounds itself, so that results keep their bits
};

// When the result of a node may be stored as bfloat16.
enum class RoundedResult : std::uint8_t {
  never,
  where_rounded,  // where all that reads it rounds it itself: with the same results
  where_read      // where all that reads it takes bfloat16
};

// Where the kernel takes bfloat16 in place of the float32 of its graph. With Precision::bfloat16
// the planner stores values so (trainer/plan/rewrite/roundable.h, compact.h): it changes the dtype
// of inputs and outputs that these members permit. The kernel computes in float32.
struct RoundedStorage {
  // Inputs that the kernel can read as bfloat16, each independently of the others, as a mask.
  std::uint32_t reads = 0;
  // The kernel can write output 0 as bfloat16.
  bool writes = false;
  // Output 0 has the precision of the inputs that `reads` names: it is rounded where all of them
  // are bfloat16 and what reads it takes that.
  bool follows = false;
  // Where not 0, the index of an extra output, after those that `infer` knows: the kernel writes
  // input 0 there as bfloat16 while it reads it, if the planner asks for that output.
  std::uint8_t copy = 0;
  // Where not null, in place of `reads` and of `writes`. They depend on the types, attributes and
  // precision of the node.
  RoundedInputs (*inputs)(const BindContext&) = nullptr;
  RoundedResult (*result)(const BindContext&) = nullptr;
};

inline constexpr std::uint32_t any_input = 0xffffffffU;

struct OpDef {
  std::string_view name;
  std::string_view domain = {};  // "" for ai.onnx

  // Computes output types from the types and known elements of the inputs. Checks shapes.
  void (*infer)(InferContext&) = nullptr;
  // Called once per plan, with every input shape known: reads attributes, selects the
  // implementation for the dtype and returns the kernel. Absent for operators that only expand.
  Kernel (*bind)(BindContext&) = nullptr;
  // Appends nodes for the derivatives with respect to the inputs: one entry per input; missing and
  // empty entries are zero. Absent: the expansion is differentiated; without `expand` the operator
  // has no derivative.
  std::vector<Val> (*grad)(GradContext&) = nullptr;
  // Computes the outputs with other operators. Used where `bind` or `grad` is absent.
  std::vector<Val> (*expand)(ExpandContext&) = nullptr;
  OpTraits traits = {};
  // Mask of inputs without a derivative even if they are floats. Paths through them contribute
  // zero.
  std::uint32_t no_gradient = 0;
  // Turns a copy of a node into one that recomputes output 0, bit by bit the same, given the
  // outputs of the original; false when that is impossible. The caller then drops the copy's other
  // outputs. Absent: the node recomputes output 0 even without its other outputs.
  bool (*make_repeatable)(Node& copy) = nullptr;
  RoundedStorage rounded = {};
  // Where not null, the operator that output 1, if a node has it, repeats, bit by bit: of the
  // inputs from 1 on, with the attributes of the node. The planner asks for it in place of a node
  // of that operator (trainer/plan/rewrite/join_repeats.h).
  const OpDef* repeats = nullptr;
};

}  // namespace ondine::graph
