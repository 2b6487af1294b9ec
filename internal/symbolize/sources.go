package symbolize

import (
	"errors"
	"io"
	"os"
	"strings"
	"time"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// reasons is a resolver that also reports why a module has no names.
type reasons struct{ *symbol.Resolver }

// Names implements assemble.Namer.
func (r reasons) Names(m *format.Module, at []symbol.Address, out []symbol.Name) error {
	if err := r.Resolver.Names(m, at, out); err != nil {
		return err
	}
	if why := r.Why(m); why != "" {
		return errors.New(why)
	}
	return nil
}

// spoolLines is a resolver that keeps why modules have no lines.
type spoolLines struct {
	resolver *symbol.Resolver
	unread   []error
}

// Lines implements assemble.LineFinder.
func (s *spoolLines) Lines(m *format.Module, at []symbol.Address, visit func(i int, line *symbol.Line)) {
	if err := s.resolver.Lines(m, at, visit); err != nil && len(s.unread) < maxUnread {
		s.unread = append(s.unread, missingLines(m, err))
	}
}

// spoolSources returns the sources of names for a spool, which contains the kernel's symbols.
func spoolSources(inv *cli.Invocation, recorded *spool.Spool, name string) symbol.Options {
	boot := recorded.BootID()
	var until time.Time // when the spool was last written
	if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
		until = info.ModTime()
	}
	o := sources(inv, &boot, until)
	o.Open = func(m *format.Module) (io.ReaderAt, int64, func(), error) {
		if c, ok := recorded.Copy(m); ok {
			return c, c.Size(), nil, nil
		}
		return nil, 0, nil, os.ErrNotExist
	}
	o.Kallsyms, o.Modules = recorded.Kallsyms, recorded.Modules
	return o
}

// streamSources returns the sources of names for a stream. The kernel's symbols are those of this machine, unless it was rebooted.
func streamSources(inv *cli.Invocation, boot *string) symbol.Options {
	return sources(inv, boot, time.Time{})
}

func sources(inv *cli.Invocation, boot *string, until time.Time) symbol.Options {
	latest := make(map[string]uint64) // by map file: the program that last mapped code, which owns it
	sameBoot := func() bool { return *boot != "" && *boot == bootID() }
	running := func(path string) func() (io.ReadCloser, error) {
		return func() (io.ReadCloser, error) {
			if !sameBoot() {
				return nil, errOtherBoot
			}
			return os.Open(path)
		}
	}
	return symbol.Options{
		DebugDirs: inv.Strings("debug-dir"), Form: symbol.ParseForm(inv.String("demangle")), Signalled: inv.Stopped(),
		Kallsyms: running("/proc/kallsyms"),
		Modules:  running("/proc/modules"),
		PerfMap: func(m *format.Module) (io.ReadCloser, error) {
			if !sameBoot() {
				return nil, errOtherBoot
			}
			if m.Generation < latest[string(m.Path)] {
				return nil, errOtherProgram
			}
			f, err := openPerfMap(m, until)
			if err == nil {
				latest[string(m.Path)] = m.Generation
			}
			return f, err
		},
		VDSO: func() ([]byte, error) {
			if !sameBoot() {
				return nil, errOtherBoot
			}
			return readVDSO()
		},
	}
}

var (
	errOtherBoot    = errors.New("it was recorded on another machine, or before the last boot")
	errOtherProgram = errors.New("its map file may be another program's by now")
)

// bootID returns the id of this machine's boot; "" on other systems than Linux.
func bootID() string {
	text, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
