//go:build ignore

// shares.c in Go. The functions have locals, because the compiler gives others no frame, and what is called from
// main would seem to call them.
package main

import (
	"os"
	"strconv"
	"time"
)

var sink int

//go:noinline
func alpha() {
	var frame [16]int
	for i := range 2 * 3011 {
		frame[i&15] = i
	}
	sink = frame[3]
}

//go:noinline
func beta() {
	var frame [16]int
	for i := range 3 * 3011 {
		frame[i&15] = i
	}
	sink = frame[3]
}

//go:noinline
func gamma() {
	var frame [16]int
	for i := range 5 * 3011 {
		frame[i&15] = i
	}
	sink = frame[3]
}

//go:noinline
func left() {
	alpha()
	beta()
}

//go:noinline
func right() { gamma() }

func main() {
	seconds, _ := strconv.ParseFloat(os.Args[1], 64)
	for end := time.Now().Add(time.Duration(seconds * 1e9)); time.Now().Before(end); {
		for range 100 {
			left()
			right()
		}
	}
}
