/* The command line of a wheel: the code is in the library beside it. */
int ondine_command_line(int argc, char** argv);

int main(int argc, char** argv) { return ondine_command_line(argc, argv); }
