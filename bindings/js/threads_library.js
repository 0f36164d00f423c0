// For the linker of emscripten: processors are the threads that ready() loaded. Of others the library
// would start more than there are.
addToLibrary({
  emscripten_num_logical_cores: () => Module["threads"],
  emscripten_num_logical_cores__proxy: "sync",
});
