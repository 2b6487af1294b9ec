// Command goleaf works for 300 ms of CPU time in a function without a frame, whose caller frame pointers miss.
package main

import (
	"os"
	"syscall"
)

//go:noinline
func leaf(data []byte) (sum int) {
	for _, b := range data {
		sum += int(b)
	}
	return sum
}

//go:noinline
func caller(data []byte) int { return leaf(data) + len(data) }

func main() {
	data := make([]byte, 1<<20)
	for used := (syscall.Rusage{}); used.Utime.Nano() < 300e6; {
		caller(data)
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
			os.Exit(1)
		}
	}
}
