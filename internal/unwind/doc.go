// Package unwind makes tables by which kernel programs unwind user stacks without frame pointers: for each place in the
// code of a file, where the caller's frame begins and where the caller's frame pointer is. They come from .eh_frame, which
// x86-64 programs have in memory because exceptions need it (System V ABI, AMD64 supplement, 3.7).
package unwind
