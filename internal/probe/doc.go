// Package probe is the language of user-defined probes (-U): its definitions as data, the parser, and what the kernel programs do for a
// probe. Finding functions and their arguments is in package usercode for programs, and in package kerneltype for the kernel.
package probe
