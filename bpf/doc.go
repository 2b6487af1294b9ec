// Package bpf loads and attaches the kernel programs, and reads the rings that they write to.
//
// The programs are C files beside this one: wprof.bpf.c includes them all, records.h says what they write. The
// compiled objects are committed; go generate rebuilds them and needs clang-19 and libbpf-dev.
//
// A [Tracer] is loaded and attached, but writes no records until [Tracer.Arm]. Then records collect in the rings, whose reader
// takes whole committed runs of bytes and releases the room ([Ring]). A window begins after that: see internal/capture.
package bpf

//go:generate go run github.com/cilium/ebpf/cmd/bpf2go -go-package bpf -tags linux -target amd64,arm64 -cc clang-19 -strip llvm-strip-19 -no-global-types -output-suffix _linux wprof wprof.bpf.c -- -O2 -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter
