// Kernels writes docs/kernels.md from what scripts/test-kernels has left in build/kernels: what passes on which kernel,
// where stacks are taken there, what is refused with which sentence, and what was skipped and why.
package main
