// Package capture is a recording session: the checks before it starts, when its window opens and closes, how the
// rings are drained while it is open, the command that is recorded, and the report of its cost and losses.
//
// The order is: check everything, create the spool, load and attach the kernel programs, arm them,
// list all tasks, open the window; then rounds, each of which moves what the rings hold to the spool; then disarm,
// drain, record losses and costs, and finalise the spool into the output.
package capture
