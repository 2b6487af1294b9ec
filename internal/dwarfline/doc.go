// Package dwarfline finds the source lines of addresses, and the functions that are inlined there, in the DWARF of an ELF file:
// versions 2 to 5, with split units (.dwo files, .dwp packages), supplementary files of dwz, and compressed sections.
//
// [debug/dwarf] reads neither split units nor supplementary files, needs all sections in memory, and makes an object of every
// attribute. Here only the units that contain an address are read, one at a time, and of those only functions.
//
// All input is untrusted. Every offset is checked before it is used, what is kept is bounded, and so is the work: parts of
// a file that refer to one another too often give an error.
package dwarfline
