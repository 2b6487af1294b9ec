package capture

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"wprof/format"
	"wprof/internal/sideband"
	"wprof/internal/spool"
	"wprof/internal/symbol"
)

// names looks up the names of a recording's frames.
type names struct {
	resolver *symbol.Resolver
	files    *sideband.Files
	// later leaves out files that wprof-symbolize finds as well: those with a build-id that are still at their path.
	later bool
}

// newNames uses the files that were kept open, and the kernel's symbols in the spool.
func newNames(recorded *spool.Spool, files *sideband.Files, cfg *Config, signalled <-chan struct{}, signalledTime time.Duration) *names {
	n := &names{files: files, later: !cfg.Symbolize}
	n.resolver = symbol.NewResolver(symbol.Options{
		DebugDirs: cfg.DebugDirs, Form: cfg.Names,
		Open: n.open, PerfMap: n.perfMap, VDSO: symbol.ReadVDSO, Signalled: signalled, SignalledTime: signalledTime,
		Kallsyms: recorded.Kallsyms, Modules: recorded.Modules,
	})
	return n
}

// Names implements assemble.Namer.
func (n *names) Names(m *format.Module, at []symbol.Address, out []symbol.Name) error {
	if n.files.Hung(m) {
		return errHung // opening its path may hang as well
	}
	if n.later && namedLater(m) {
		return nil
	}
	if err := n.resolver.Names(m, at, out); err != nil {
		return err
	}
	if why := n.resolver.Why(m); why != "" {
		return errors.New(why)
	}
	return nil
}

// Lines implements assemble.LineFinder. Why lines are missing is not reported: most programs have none, and wprof-symbolize says
// it.
func (n *names) Lines(m *format.Module, at []symbol.Address, visit func(i int, line *symbol.Line)) {
	if !n.files.Hung(m) {
		_ = n.resolver.Lines(m, at, visit)
	}
}

func namedLater(m *format.Module) bool {
	if format.ModuleKind(m.Kind) != format.ModuleKind_MODULE_FILE || len(m.BuildId) == 0 {
		return false
	}
	info, err := os.Stat(string(m.Path))
	return err == nil && info.Mode().IsRegular()
}

// open returns a file that was opened when it was mapped.
func (n *names) open(m *format.Module) (io.ReaderAt, int64, func(), error) {
	f, ok := n.files.Open(m)
	if !ok {
		return nil, 0, nil, os.ErrNotExist
	}
	size, err := f.Size()
	if err != nil {
		return nil, 0, nil, fmt.Errorf("read the size of %s: %w", m.Path, err)
	}
	return f, size, nil, nil
}

func (n *names) perfMap(m *format.Module) (io.ReadCloser, error) {
	var pid uint32
	if _, err := fmt.Sscanf(string(m.Path), "/tmp/perf-%d.map", &pid); err != nil {
		return nil, fmt.Errorf("%s is no map file: %w", m.Path, err)
	}
	f, ok := n.files.PerfMap(pid, int64(m.Generation))
	if !ok {
		return nil, os.ErrNotExist
	}
	return f, nil
}

// Close closes the files that names were read from.
func (n *names) Close() { n.resolver.Close() }
