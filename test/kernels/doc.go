// Kernels writes docs/kernels.md from the results of scripts/test-kernels in build/kernels: what passes on which kernel, where
// stacks are taken there, what is refused with which message, and what was skipped and why.
package main
