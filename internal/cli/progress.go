package cli

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// StderrIsTerminal says whether a person sees standard error right away.
func (inv *Invocation) StderrIsTerminal() bool {
	f, ok := inv.Std.Err.(*os.File)
	return ok && isTerminal(f)
}

// Progress is a bar on standard error, drawn only if that is a terminal and at most ten times a second.
type Progress struct {
	inv   *Invocation
	label string
	draw  bool

	mu    sync.Mutex
	shown time.Time
}

// Progress begins a bar.
func (inv *Invocation) Progress(label string) *Progress {
	return &Progress{inv: inv, label: label, draw: inv.StderrIsTerminal()}
}

// Set draws how much of the total is done. A total of 0 is one that is not known.
func (p *Progress) Set(done, total int64) {
	if !p.draw {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.shown) < 100*time.Millisecond {
		return
	}
	p.shown = time.Now()
	if total <= 0 {
		fmt.Fprintf(p.inv.Std.Err, "\r%s %d\x1b[K", p.label, done)
		return
	}
	const width = 30
	full := int(min(done, total) * width / total)
	fmt.Fprintf(p.inv.Std.Err, "\r%s [%s%s] %d%%\x1b[K", p.label, strings.Repeat("#", full), strings.Repeat(" ", width-full), min(done, total)*100/total)
}

// Done wipes the bar.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.draw && !p.shown.IsZero() {
		fmt.Fprint(p.inv.Std.Err, "\r\x1b[K")
	}
}
