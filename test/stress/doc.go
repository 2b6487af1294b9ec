// Package stress tests the tools under conditions that are rare in tests but not on machines: very many threads, hundreds of thousands
// of short threads, names of arbitrary bytes, reused ids, namespaces, clocks that jump, and environments where something is missing or
// scarce.
package stress
