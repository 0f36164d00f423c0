# Code generated from the ONNX schema, in the namespace ondine::onnx, so that a program can also
# link the official onnx library, whose namespace is onnx. Package names do not appear in the wire
# format.
set(_schema_dir ${PROJECT_BINARY_DIR}/schema)
set(_schema ${_schema_dir}/onnx_schema.proto)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/proto/onnx.proto)
file(READ ${PROJECT_SOURCE_DIR}/proto/onnx.proto _text)
string(REPLACE "\npackage onnx;" "\npackage ondine.onnx;" _text "${_text}")
file(CONFIGURE OUTPUT ${_schema} CONTENT "${_text}" @ONLY)
add_custom_command(
  OUTPUT ${_schema_dir}/onnx_schema.pb.cc ${_schema_dir}/onnx_schema.pb.h
  COMMAND protobuf::protoc --proto_path=${_schema_dir} --cpp_out=${_schema_dir} ${_schema}
  DEPENDS ${_schema} protobuf::protoc
  VERBATIM)
# The messages of federations, which have a namespace of their own.
add_custom_command(
  OUTPUT ${_schema_dir}/fleet.pb.cc ${_schema_dir}/fleet.pb.h
  COMMAND protobuf::protoc --proto_path=${PROJECT_SOURCE_DIR}/proto --cpp_out=${_schema_dir}
    ${PROJECT_SOURCE_DIR}/proto/fleet.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/proto/fleet.proto protobuf::protoc
  VERBATIM)
set_source_files_properties(${_schema_dir}/onnx_schema.pb.cc ${_schema_dir}/fleet.pb.cc PROPERTIES
  COMPILE_OPTIONS -w)
target_sources(ondine_proto PRIVATE
  ${_schema_dir}/onnx_schema.pb.cc ${_schema_dir}/onnx_schema.pb.h
  ${_schema_dir}/fleet.pb.cc ${_schema_dir}/fleet.pb.h)
target_include_directories(ondine_proto SYSTEM PRIVATE
  ${_schema_dir}
  $<TARGET_PROPERTY:protobuf::libprotobuf-lite,INTERFACE_INCLUDE_DIRECTORIES>)
