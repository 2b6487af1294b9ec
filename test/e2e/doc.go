// Package e2e holds the tests that record this machine with the built tools and compare their output with what the
// workload itself counted and timed, with the kernel's own accounting, and with queries in Perfetto's engine.
package e2e
