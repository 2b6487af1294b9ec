package firefox

import (
	"io"

	"wprof/format"
	"wprof/internal/records"
	"wprof/internal/spill"
	"wprof/internal/stacks"
	"wprof/internal/tracks"
)

// Options select what a profile shows.
type Options struct {
	NoStacks bool // neither stacks nor the function that a thread is blocked in
	Python   stacks.PythonView
}

// Result is the result of a conversion.
type Result struct {
	tracks.Summary
	Bytes   int64  // of the profile
	NotUTF8 string // the first text that held other bytes than UTF-8, as it is shown; "": none did
}

// Write writes a stream as a profile. Whatever ends the stream, the profile is well-formed; errors of the stream come back
// after all before them has been written.
func Write(r *format.Reader, out io.Writer, o Options) (Result, error) {
	return newProfile(r).convert(r, out, o)
}

func (p *profile) convert(r *format.Reader, out io.Writer, o Options) (Result, error) {
	defer p.store.Close()
	sum, err := tracks.Draw(r, p, tracks.Options{Threads: true, NoStacks: o.NoStacks, Python: o.Python})
	if p.failed != nil {
		return Result{}, p.failed
	}
	w := &writer{out: out}
	if failed := p.write(w, sum.Lost); failed != nil {
		err = failed
	}
	return Result{Summary: sum, Bytes: w.written, NotUTF8: p.texts.NotUTF8()}, err
}

// profile is the [tracks.Encoder] that keeps the tables of a profile.
type profile struct {
	store   *spill.Store
	failed  error // of the store
	texts   records.Texts
	about   records.About
	machine machine
	first   int64 // when the first window opened, CLOCK_MONOTONIC ns

	shared   shared
	threads  threads
	counters counters
	schemas  schemas
	data     []byte // of the current marker
}

// machine describes the machine in the profile.
type machine struct {
	kernel, arch string
	cpus         int
}

func newProfile(r *format.Reader) *profile {
	p := &profile{store: spill.NewStore(spill.InMemory, "the columns of the profile"), first: r.FirstOpen()}
	p.shared = newShared(p)
	p.threads = newThreads(p)
	p.counters = newCounters()
	p.schemas = newSchemas()
	return p
}

// Section implements [tracks.Encoder].
func (p *profile) Section(*format.Session) {}

// Open implements [tracks.Encoder].
func (p *profile) Open(at int64, s *format.Session) {
	p.about.Open(s, at)
	if p.machine.cpus == 0 {
		p.machine = machine{s.KernelRelease, s.Machine, len(s.Cpus)}
	}
}

// Close implements [tracks.Encoder].
func (p *profile) Close(at int64) {
	p.about.Close(at)
	for _, t := range p.threads.live {
		t.endSample(p)
	}
}

// Flush implements [tracks.Encoder].
func (p *profile) Flush() error {
	if len(p.threads.live) >= p.threads.sweepAt {
		p.sweep()
	}
	return p.failed
}
