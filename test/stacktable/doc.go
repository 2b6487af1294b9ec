// Command stacktable records programs of many kinds with wprof-record and with perf, counts whose stacks reach the function
// with which their thread began, and writes docs/symbols.md. scripts/stack-table builds the tools and starts it.
//
// The tools record the same process one after the other. One rule decides for all of them whether a stack is whole,
// by the names of its outermost frames. Programs of testdata know their call chains, with which whole stacks are compared.
package main
