// Package symbol finds the function names of addresses: in ELF files and their debug files, in the kernel and its
// modules, in the vDSO and in code generated at run time. [Resolver] names the frames of a capture module
// by module.
//
// An address belongs to a symbol only inside the symbol's own range: a wrong name is worse than none.
//
// All input is untrusted. Every length is checked against the size of the file or a stated
// bound before it is used, and a malformed file gives an error, never a panic.
package symbol
