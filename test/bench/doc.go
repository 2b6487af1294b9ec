// Command bench measures the tools against no tracing and against public peers, on the machine that it runs on, and
// writes docs/performance.md with every single run. scripts/bench builds the tools and starts it.
//
// Machines are noisy: what is compared is run in turns within one process, slowdowns are medians of the ratios of
// neighbouring runs, and each median stands with a 95% interval that makes no assumption about the distribution.
package main
