// Command goleaf works for half a second in a function without a frame, whose caller frame pointers miss.
package main

import "time"

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
	for end := time.Now().Add(500 * time.Millisecond); time.Now().Before(end); {
		caller(data)
	}
}
