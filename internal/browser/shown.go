package browser

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"

	"wprof/internal/cli"
)

// flagName is the flag that requests it.
const flagName = "open"

// Flag returns the flag that requests it.
func Flag(usage string) cli.Flag {
	return cli.Flag{Name: flagName, Usage: usage + " The file is served on 127.0.0.1 until it was fetched once. Without -o it is temporary."}
}

// Site is what shows a file.
type Site struct {
	Port   int    // at which it expects the file; 0: any
	Origin string // of the page that fetches the file; "": the browser shows the file itself
	Link   string // to that page, before the address of the file
}

// Shown is a file that will be shown.
type Shown struct {
	inv      *cli.Invocation
	site     Site
	listener net.Listener
	folder   string // for a temporary file; "": there is none
	path     string
}

// Begin returns nil without --open. It begins to listen at once, so that a port in use is found before the work is done.
func Begin(inv *cli.Invocation, site Site) (*Shown, error) {
	if !inv.Bool(flagName) {
		return nil, nil
	}
	listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", site.Port))
	if err != nil {
		return nil, fmt.Errorf("serve a file on port %d, where the page looks for it: %w; another --open may wait there for its page", site.Port, cause(err))
	}
	return &Shown{inv: inv, site: site, listener: listener}, nil
}

// cause is the reason alone.
func cause(err error) error {
	if system := new(os.SyscallError); errors.As(err, &system) {
		return system.Err
	}
	return err
}

// Create opens the output that will be shown. Without a path it is a temporary file, named by the input with another extension.
func (s *Shown) Create(path, ext string, binary bool) (*cli.Output, error) {
	if path == "-" {
		return nil, cli.Usagef("--open serves a file; name one with -o FILE, or leave out -o")
	}
	if path == "" {
		folder, err := os.MkdirTemp("", "wprof-open-")
		if err != nil {
			return nil, fmt.Errorf("make a folder for a temporary file: %w", err)
		}
		s.folder = folder
		s.inv.OnAbort(s.remove)
		path = filepath.Join(folder, s.baseName()+ext)
	}
	s.path = path
	return s.inv.CreateOutput(path, binary)
}

// baseName returns the name of the first input without its extension.
func (s *Shown) baseName() string {
	if len(s.inv.Args) == 0 || s.inv.Args[0] == "-" {
		return "capture"
	}
	base := filepath.Base(s.inv.Args[0])
	return strings.TrimSuffix(base, filepath.Ext(base))
}

// Close ends it; s may be nil.
func (s *Shown) Close() {
	if s != nil {
		_ = s.listener.Close()
		s.remove()
	}
}

func (s *Shown) remove() {
	if s.folder != "" {
		_ = os.RemoveAll(s.folder)
	}
}
