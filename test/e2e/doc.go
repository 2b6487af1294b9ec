// Package e2e holds the tests that record this machine with the built tools and compare what they say with what the
// workload itself counted and timed, with the kernel's own accounting, and with what Perfetto's engine makes of it.
package e2e
