// Package simulate is a small machine for tests: threads that run, sleep, wake each other, fork, exec, change their
// names and exit on a few CPUs. It writes the stream that the recorder would have written, and has the true states.
package simulate
