// Package pytrace traces the calls of functions in processes of Python: it puts the agent (agent/agent.c) into a process, and reads what
// that writes.
//
// The process is stopped for some milliseconds, in which one of its threads executes a few system calls that map the agent and memory that
// it shares with the recorder. Then the agent's start is put into the interpreter's queue of pending calls, which the interpreter itself
// runs between two instructions of Python, with its global lock held. No stopped thread ever calls a function of the program.
//
// The agent is mapped as it is, not loaded as a library by a piece of Python: Python makes an exception in the program of a pending call that
// fails, and running a piece of Python may fail, by an audit hook or for lack of stack. It also leaves no names and no modules behind.
//
// [Attach] runs in a process of its own, because a process whose tracer ends in the middle goes on with the registers that this had
// set: so it does not matter when the recorder is killed.
package pytrace
