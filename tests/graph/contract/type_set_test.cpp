// Every set of one element against every form of type.
#include <array>
#include <catch2/catch.hpp>
#include <string>

#include "graph/contract/signature.h"

using namespace ondine;
using namespace ondine::graph;

namespace {

struct Form {
  std::uint32_t TypeSet::*mask;
  Type (*type)(DType);
  const char* text;  // of the type with elements of int8
};

Type tensor_of(DType dtype) { return Type::tensor(dtype); }
Type sequence_of(DType dtype) { return Type::sequence(Type::tensor(dtype)); }
Type optional_of(DType dtype) { return Type::optional(Type::tensor(dtype)); }
Type optional_sequence_of(DType dtype) { return Type::optional(sequence_of(dtype)); }
Type int64_map_to(DType dtype) { return Type::map(DType::int64, Type::tensor(dtype)); }
Type string_map_to(DType dtype) { return Type::map(DType::string, Type::tensor(dtype)); }
Type int64_maps_to(DType dtype) { return Type::sequence(int64_map_to(dtype)); }
Type string_maps_to(DType dtype) { return Type::sequence(string_map_to(dtype)); }

const std::array forms{
    Form{&TypeSet::tensors, tensor_of, "tensor(int8)"},
    Form{&TypeSet::sequences, sequence_of, "seq(tensor(int8))"},
    Form{&TypeSet::optionals, optional_of, "optional(tensor(int8))"},
    Form{&TypeSet::optional_sequences, optional_sequence_of, "optional(seq(tensor(int8)))"},
    Form{&TypeSet::int64_maps, int64_map_to, "map(int64, int8)"},
    Form{&TypeSet::string_maps, string_map_to, "map(string, int8)"},
    Form{&TypeSet::int64_map_sequences, int64_maps_to, "seq(map(int64, int8))"},
    Form{&TypeSet::string_map_sequences, string_maps_to, "seq(map(string, int8))"},
};

TypeSet only(const Form& form, DType dtype) {
  TypeSet set;
  set.*form.mask = std::uint32_t{1} << static_cast<unsigned>(dtype);
  return set;
}

TypeSet of_int8(std::uint32_t TypeSet::*mask) {
  TypeSet set;
  set.*mask = std::uint32_t{1} << static_cast<unsigned>(DType::int8);
  return set;
}

}  // namespace

TEST_CASE("a set of one element type in one form holds that type and no other") {
  for (const Form& form : forms) {
    const TypeSet set = only(form, DType::int8);
    for (const Form& other : forms) {
      INFO(form.text << " and " << other.text);
      CHECK(set.contains(other.type(DType::int8)) == (&other == &form));
      CHECK_FALSE(set.contains(other.type(DType::uint8)));
    }
    CHECK(to_string(set) == form.text);
    CHECK(set.contains(Type()));
  }
}

TEST_CASE("an element type that is unknown is allowed by sets of its form alone") {
  for (const Form& form : forms) {
    const TypeSet set = only(form, DType::int8);
    for (const Form& other : forms) {
      INFO(form.text << " and " << other.text);
      CHECK(set.contains(other.type(DType::undefined)) == (&other == &form));
    }
  }
}

TEST_CASE("a sequence of something unknown is allowed where any sequence is") {
  Type bare;
  bare.kind = TypeKind::sequence;
  for (const Type& type : {bare, Type::sequence(Type())}) {
    CHECK(of_int8(&TypeSet::sequences).contains(type));
    CHECK(of_int8(&TypeSet::int64_map_sequences).contains(type));
    CHECK(of_int8(&TypeSet::string_map_sequences).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::tensors).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::optionals).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::optional_sequences).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::int64_maps).contains(type));
  }
}

TEST_CASE("an optional of something unknown is allowed where any optional is") {
  Type bare;
  bare.kind = TypeKind::optional;
  for (const Type& type : {bare, Type::optional(Type())}) {
    CHECK(of_int8(&TypeSet::optionals).contains(type));
    CHECK(of_int8(&TypeSet::optional_sequences).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::tensors).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::sequences).contains(type));
  }
  Type sequence;
  sequence.kind = TypeKind::sequence;
  for (const Type& inner : {sequence, Type::sequence(Type())}) {
    const Type type = Type::optional(inner);
    CHECK(of_int8(&TypeSet::optional_sequences).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::optionals).contains(type));
    CHECK_FALSE(of_int8(&TypeSet::sequences).contains(type));
  }
}

TEST_CASE("a map to something unknown is allowed by the sets of its key type") {
  Type map;
  map.kind = TypeKind::map;
  map.dtype = DType::int64;
  CHECK(of_int8(&TypeSet::int64_maps).contains(map));
  CHECK_FALSE(of_int8(&TypeSet::string_maps).contains(map));
  map.dtype = DType::string;
  CHECK_FALSE(of_int8(&TypeSet::int64_maps).contains(map));
  CHECK(of_int8(&TypeSet::string_maps).contains(map));
}

TEST_CASE("no set holds nested sequences, sparse tensors or maps to sequences") {
  TypeSet every;
  for (const Form& form : forms) every.*form.mask = ~std::uint32_t{0};
  CHECK_FALSE(every.contains(Type::sequence(sequence_of(DType::int8))));
  CHECK_FALSE(every.contains(Type::optional(optional_of(DType::int8))));
  CHECK_FALSE(every.contains(Type::optional(int64_map_to(DType::int8))));
  CHECK_FALSE(every.contains(Type::map(DType::int64, sequence_of(DType::int8))));
  CHECK_FALSE(every.contains(Type::map(DType::int32, Type::tensor(DType::int8))));
  Type sparse = Type::tensor(DType::int8);
  sparse.kind = TypeKind::sparse_tensor;
  CHECK_FALSE(every.contains(sparse));
}

TEST_CASE("a set is written form by form, its element types in the order of their codes") {
  TypeSet set = only(forms[0], DType::int64);
  set.tensors |= std::uint32_t{1} << static_cast<unsigned>(DType::float32);
  set.sequences = std::uint32_t{1} << static_cast<unsigned>(DType::boolean);
  CHECK(to_string(set) == "tensor(float), tensor(int64), seq(tensor(bool))");
  CHECK(to_string(TypeSet()).empty());
}
