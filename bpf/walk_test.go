//go:build linux && amd64

package bpf

import (
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"wprof/internal/ringdata"
)

// stackChecks mirrors stack_checks in stacks.h.
type stackChecks struct {
	Remembered, RememberedWrong         uint64
	Shallow, ShallowWrong               uint64
	UserRemembered, UserRememberedWrong uint64
}

const round = 3 * time.Second

// Every stack that is taken without the kernel's unwinder is compared with the unwinder's, during a recording of everything.
func TestStacksMatchTheKernelsUnwinder(t *testing.T) {
	length := round
	if os.Getenv("WPROF_TEST_ALL") != "" {
		length = 5 * round
	}
	if soak := os.Getenv("WPROF_SOAK_STACKS"); soak != "" {
		var err error
		length, err = time.ParseDuration(soak)
		must(t, err)
	}
	for _, place := range []Place{AtExit, AtFinish} {
		t.Run(place.String(), func(t *testing.T) {
			both := Stacks{Kernel: true, User: true}
			tracer := mustLoadAt(t, Options{
				RingBytes: 64 << 20, Sample: Sample{Period: time.Millisecond, Kernel: true, User: true}, OffCPU: OffCPU{Stacks: both}, Waker: both,
				checkStacks: true,
			}, place)
			kernel, user := 0, 0
			for generation := range uint32(length / round) {
				must(t, tracer.SetGeneration(generation))
				var records []record
				t.Run("round", func(t *testing.T) { // which closes its files
					records = recording(t, tracer, func() { waitInAllPlaces(t, round) })
				})
				kernel += count(records, func(r record) bool { return r.is(ringdata.KindReturn) && r.returnKernel() != 0 })
				user += count(records, func(r record) bool { return r.is(ringdata.KindReturn) && r.returnUser() != 0 })
			}
			var c stackChecks
			must(t, tracer.collection.Variables["stack_checks"].Get(&c))
			t.Logf("soak: %d kernel stacks, %d of them remembered, %d wrong; %d user stacks, %d of them shallow, %d wrong",
				kernel, c.Remembered, c.RememberedWrong, user, c.Shallow, c.ShallowWrong)
			if c.RememberedWrong > 0 {
				t.Errorf("%d of %d remembered kernel stacks are wrong", c.RememberedWrong, c.Remembered)
			}
			// Other threads may write to a stack between the two walks.
			if float64(c.ShallowWrong) > 1e-5*float64(c.Shallow) {
				t.Errorf("%d of %d shallow user stacks are wrong", c.ShallowWrong, c.Shallow)
			}
			if kernel < 1000 || int(c.Remembered) < kernel/2 || int(c.Shallow) < user/2 {
				t.Errorf("of %d kernel stacks %d were remembered, of %d user stacks %d were shallow: too few to compare",
					kernel, c.Remembered, user, c.Shallow)
			}
		})
	}
}

// waitInAllPlaces has threads wait for each other, for timers, for files and for memory.
func waitInAllPlaces(t *testing.T, d time.Duration) {
	t.Helper()
	end := time.Now().Add(d)
	folder := t.TempDir()
	var all sync.WaitGroup
	for _, wait := range []func(){
		func() { newPair(t).play(500, func(play func()) { play() }) },
		func() { sleeps(50, 100*time.Microsecond) },
		func() { run(t, "sh", "-c", "for i in 1 2 3 4 5; do (true); done; /bin/true | cat; sleep 0.001") },
		func() { must(t, writeAndSync(filepath.Join(folder, "synced"))) },
		func() { must(t, faultIn(filepath.Join(folder, "mapped"))) },
		func() { must(t, echo(200)) },
		func() { handOver(500) },
		func() { tick(20, time.Millisecond) },
		func() { signalSelf(50) },
		func() { must(t, pollTimer(20, time.Millisecond)) },
	} {
		all.Go(func() {
			for time.Now().Before(end) {
				wait()
			}
		})
	}
	all.Wait()
}

func writeAndSync(path string) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for range 5 {
		if _, err := f.Write(make([]byte, 64<<10)); err != nil {
			return err
		}
		if err := f.Sync(); err != nil {
			return err
		}
	}
	return os.Remove(path)
}

// faultIn reads a mapped file whose pages are not in memory.
func faultIn(path string) error {
	const pages = 64
	page := os.Getpagesize()
	if err := os.WriteFile(path, make([]byte, pages*page), 0o600); err != nil {
		return err
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := unix.Fdatasync(int(f.Fd())); err != nil {
		return err
	}
	_ = unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED)
	memory, err := unix.Mmap(int(f.Fd()), 0, pages*page, unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	_ = unix.Madvise(memory, unix.MADV_RANDOM) // no readahead
	sum := byte(0)
	for at := 0; at < len(memory); at += page {
		sum += memory[at]
	}
	runtime.KeepAlive(sum)
	return unix.Munmap(memory)
}

// echo sends n bytes over a TCP connection and back, one at a time.
func echo(n int) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err == nil {
			_, _ = io.Copy(c, c)
			c.Close()
		}
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return err
	}
	defer c.Close()
	b := []byte{1}
	for range n {
		if _, err := c.Write(b); err != nil {
			return err
		}
		if _, err := io.ReadFull(c, b); err != nil {
			return err
		}
	}
	return nil
}

// handOver has two threads wake each other through futexes.
func handOver(n int) {
	to, fro := make(chan int), make(chan int)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		for i := range to {
			fro <- i
		}
		close(fro)
	}()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for i := range n {
		to <- i
		<-fro
	}
	close(to)
	<-fro
}

func tick(n int, each time.Duration) {
	ticker := time.NewTicker(each)
	defer ticker.Stop()
	for range n {
		<-ticker.C
	}
}

func signalSelf(n int) {
	arrived := make(chan os.Signal, 1)
	signal.Notify(arrived, syscall.SIGUSR1)
	defer signal.Stop(arrived)
	for range n {
		_ = unix.Kill(os.Getpid(), unix.SIGUSR1)
		<-arrived
	}
}

// pollTimer waits for a timerfd with poll and epoll in turn.
func pollTimer(n int, each time.Duration) error {
	timer, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(timer)
	poll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(poll)
	if err := unix.EpollCtl(poll, unix.EPOLL_CTL_ADD, timer, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		return err
	}
	once := unix.ItimerSpec{Value: unix.NsecToTimespec(each.Nanoseconds())}
	for i := range n {
		if err := unix.TimerfdSettime(timer, 0, &once, nil); err != nil {
			return err
		}
		if i%2 == 0 {
			_, err = unix.EpollWait(poll, make([]unix.EpollEvent, 1), 1000)
		} else {
			_, err = unix.Poll([]unix.PollFd{{Fd: int32(timer), Events: unix.POLLIN}}, 1000)
		}
		if err != nil && err != unix.EINTR {
			return err
		}
	}
	return nil
}
