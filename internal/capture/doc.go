// Package capture is a recording session: what is checked before it starts, when its window opens and closes, how the
// rings are drained while it is open, the command that is recorded, and what it has cost and lost at the end.
//
// The order is: check everything, create the spool, load and attach the kernel programs with the window shut, arm them,
// list all tasks, open the window; then rounds, each of which moves what the rings hold to the spool; then disarm,
// drain, note losses and costs, and finalise the spool into the output.
package capture
