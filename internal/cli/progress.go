package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// barInterval is the shortest time between two drawings.
const barInterval = 100 * time.Millisecond

const wipeLine = "\r\x1b[K"

// bar is the state that a progress bar shares with messages, which must not be printed into it.
type bar struct {
	mu    sync.Mutex
	shown bool
}

// interrupt wipes a bar that is on the screen; the next Set draws it again.
func (b *bar) interrupt(w io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.shown {
		io.WriteString(w, wipeLine)
		b.shown = false
	}
}

func (b *bar) show(w io.Writer, line string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	io.WriteString(w, wipeLine+line)
	b.shown = true
}

// StderrIsTerminal reports whether standard error is a terminal.
func (inv *Invocation) StderrIsTerminal() bool {
	f, ok := inv.Std.Err.(*os.File)
	return ok && isTerminal(f)
}

// Progress is a bar on standard error, drawn only if that is a terminal and at most ten times a second. Its methods may be
// called from several goroutines.
type Progress struct {
	inv   *Invocation
	label string

	mu    sync.Mutex
	draw  bool
	drawn time.Time
}

// Progress begins a bar.
func (inv *Invocation) Progress(label string) *Progress {
	return &Progress{inv: inv, label: label, draw: inv.StderrIsTerminal()}
}

// Set draws how much of the total is done, in any unit. A total of 0 means unknown.
func (p *Progress) Set(done, total int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.draw || time.Since(p.drawn) < barInterval {
		return
	}
	p.drawn = time.Now()
	p.inv.bar.show(p.inv.Std.Err, p.line(done, total))
}

func (p *Progress) line(done, total int64) string {
	if total <= 0 {
		return fmt.Sprintf("%s %d", p.label, done)
	}
	const width = 30
	part := float64(max(0, min(done, total))) / float64(total)
	full := int(part * width)
	return fmt.Sprintf("%s [%s%s] %3d%%", p.label, strings.Repeat("#", full), strings.Repeat(" ", width-full), int(part*100))
}

// Done wipes the bar for good.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.draw = false
	p.inv.bar.interrupt(p.inv.Std.Err)
}
