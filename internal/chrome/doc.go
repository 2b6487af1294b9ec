// Package chrome writes a stream as Chrome's trace event JSON, for tools that know only that: what each CPU and each thread
// does, as slices, with arrows from who wakes or preempts a thread to where it comes back on a CPU.
//
// Times are µs from the opening of the first window, with the three decimals that make them exact; see appendLength for
// lengths. Everything is written when it has ended; the format asks for no order.
package chrome
