// Package stress tests the tools with what machines have and tests seldom do: very many threads, threads that come and go
// by the hundred thousand, names made of any bytes, ids that are used again, namespaces, clocks that jump, and
// surroundings where something is missing or scarce.
package stress
