// Known calls work 400 times in 40 goroutines that change threads and whose stacks grow within it.
package main

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

var moved, inside atomic.Int64

//go:noinline
func grow(depth int) int {
	var pad [256]byte
	if depth == 0 {
		return int(pad[0])
	}
	pad[depth%256] = 1
	return grow(depth-1) + int(pad[(depth+1)%256]) + 1
}

//go:noinline
func work(id int) (int, error) {
	began, from := syscall.Gettid(), time.Now()
	grow(id % 200)
	runtime.Gosched()
	time.Sleep(200 * time.Microsecond)
	if syscall.Gettid() != began {
		moved.Add(1)
	}
	inside.Add(time.Since(from).Nanoseconds())
	if id%10 == 0 {
		return -id, nil
	}
	return 2 * id, nil
}

//go:noinline
func fall(depth int) int {
	if depth <= 1 {
		return 1
	}
	return fall(depth-1) + 1
}

func main() {
	runtime.GOMAXPROCS(4)
	var all sync.WaitGroup
	var outside atomic.Int64
	for g := range 40 {
		all.Go(func() {
			for i := range 10 {
				from := time.Now()
				_, _ = work(10*g + i)
				outside.Add(time.Since(from).Nanoseconds())
			}
		})
	}
	all.Wait()
	fall(300)
	fmt.Printf("moved=%d\ninside=%d\noutside=%d\n", moved.Load(), inside.Load(), outside.Load())
}
