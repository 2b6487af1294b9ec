// Package chrome writes a stream as Chrome's trace event JSON, for tools that read no other format: what each CPU and each thread
// does, as slices, with arrows from the waker or preemptor of a thread to the slice with which it comes back on a CPU.
//
// Times are µs from the opening of the first window, with the three decimals that make them exact; see appendLength for
// lengths. Everything is written when it has ended; the format requires no order.
package chrome
