// Package stacks judges call stacks by how they end.
package stacks

import (
	"bytes"
	"slices"
)

// LooksCut tells whether the user part of a stack seems to end before the function with which its thread began: code
// without frame pointers ends a walk after a frame or two. depth is its number of frames, of which none means that there
// is no user part; outermost is the function of the last caller, empty where its name is not known.
//
// Deeper stacks pass for whole, because a walk that goes wrong does so at once.
func LooksCut(depth int, outermost []byte) bool {
	const shallow = 2
	return depth > 0 && depth <= shallow && !Starts(outermost)
}

// Starts tells whether threads begin in a function, or a stack of their own does. Versions (@@GLIBC_2.34) and the ABI
// that Go appends (.abi0) do not count.
func Starts(function []byte) bool {
	name, _, _ := bytes.Cut(function, []byte("@"))
	name = bytes.TrimSuffix(name, []byte(".abi0"))
	if slices.Contains(startFunctions(), string(name)) {
		return true
	}
	return slices.ContainsFunc(startPrefixes(), func(prefix string) bool { return bytes.HasPrefix(name, []byte(prefix)) })
}

func startFunctions() []string {
	return []string{
		"_start", "_start_c", "_dl_start", "_dl_start_user", "__libc_start_call_main", // a program
		"start_thread", "thread_start", "clone", "clone3", // a thread
		"runtime.mcall", "runtime.systemstack", // Go code on the thread's own stack
	}
}

// startPrefixes are beginnings of names that differ between versions and machines.
func startPrefixes() []string {
	return []string{
		"__libc_start_main", "__clone", "__GI___clone", "runtime.goexit", "runtime.mstart", "runtime.rt0_go", "_rt0_",
	}
}
