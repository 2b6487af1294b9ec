// Package symbol turns addresses into names of functions: of ELF files and their debug files, of the kernel and its
// modules, of the vDSO and of code generated at run time. [Resolver] names the frames of a capture module
// by module.
//
// An address belongs to a symbol only inside the symbol's own range: a wrong name is worse than none.
//
// All input is untrusted. Every length is checked against the size of the file or a stated
// bound before it is used, and a file that breaks a rule gives an error, never a panic.
//
// For later extensions: [loaded] holds the symbols of one module. Inlined functions and source lines
// come from a second lookup, after Table.Lookup has found the function of the address, and Name then grows
// a list. A file from debuginfod is one more candidate in Resolver.candidates, after the debug directories.
package symbol
