// Package jitdump reads the files in which JIT compilers list the code that they generate, with its bytes and source lines: see
// tools/perf/Documentation/jitdump-specification.txt and tools/perf/util/jitdump.h of Linux. Any program can write one, so every
// number in it is untrusted.
//
// An address in generated code may belong to several functions one after the other. The offset of the same byte in the dump does not:
// it is the offset of frames in the module of a dump.
package jitdump
