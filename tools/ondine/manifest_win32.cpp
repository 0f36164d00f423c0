// The manifest of the program, as a resource: the system takes its names and arguments as UTF-8,
// and names may be longer than 260 characters. In assembly, since resource compilers differ.
__asm__(
    ".section .rsrc$01,\"dr\"\n"
    // Directories of 16 bytes with one entry of 8: the type (24: a manifest), the name (1: that of
    // a program) and the language. A set first bit means a directory.
    ".long 0, 0, 0\n.short 0, 1\n.long 24, 0x80000018\n"
    ".long 0, 0, 0\n.short 0, 1\n.long 1, 0x80000030\n"
    ".long 0, 0, 0\n.short 0, 1\n.long 1033, 0x48\n"
    ".long manifest@IMGREL, manifest_end - manifest, 65001, 0\n"
    ".section .rsrc$02,\"dr\"\n"
    "manifest:\n"
    ".ascii \"<?xml version='1.0' encoding='UTF-8' standalone='yes'?>"
    "<assembly xmlns='urn:schemas-microsoft-com:asm.v1' manifestVersion='1.0'>"
    "<assemblyIdentity type='win32' name='ondine' version='1.0.0.0'/>"
    "<application xmlns='urn:schemas-microsoft-com:asm.v3'><windowsSettings>"
    "<activeCodePage xmlns='http://schemas.microsoft.com/SMI/2019/WindowsSettings'>UTF-8"
    "</activeCodePage>"
    "<longPathAware xmlns='http://schemas.microsoft.com/SMI/2016/WindowsSettings'>true"
    "</longPathAware>"
    "</windowsSettings></application></assembly>\"\n"
    "manifest_end:\n"
    ".text\n");
