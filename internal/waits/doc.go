// Package waits says what a thread waits for while it is off-CPU: a class for each such time, from the system call, the file or lock
// in its arguments, the state and the stack, and a short text about it.
//
// All outputs take classes and texts from here.
package waits
