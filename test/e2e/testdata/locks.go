//go:build ignore

// SPDX-License-Identifier: Apache-2.0
// Goroutines that contend for one mutex; each prints for how long it waited for it.
package main

import (
	"fmt"
	"sync"
	"time"
)

func main() {
	var mutex sync.Mutex
	var all sync.WaitGroup
	totals := make([]time.Duration, 4)
	for i := range totals {
		all.Go(func() {
			for range 60 {
				from := time.Now()
				mutex.Lock()
				totals[i] += time.Since(from)
				time.Sleep(5 * time.Millisecond)
				mutex.Unlock()
			}
		})
	}
	all.Wait()
	for _, total := range totals {
		fmt.Printf("lock - waits 60 total %d longest 0\n", total)
	}
}
