package debuginfod

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
)

// Kind is what is wanted of a build-id.
type Kind string

const (
	Executable Kind = "executable" // the program or library itself
	DebugInfo  Kind = "debuginfo"  // its separate debug file
)

// ErrNone is the error for a file that no server has.
var ErrNone = fmt.Errorf("no debuginfod server has it: %w", fs.ErrNotExist)

// Client fetches files, each once. It is not safe for concurrent use, but for Abort.
type Client struct {
	// Verify checks a downloaded file before it is kept; an error is what is wrong with it.
	Verify func(file *os.File, buildID []byte) error
	// Warn is called once for each problem of a server, and for one of the cache.
	Warn func(text string)

	Downloads int // files
	Bytes     int64

	config  Config
	servers []*server
	cache   cache
	absent  map[string]bool // by path in the cache
	off     bool            // the cache cannot be used
}

// maxAbsent bounds the files that are remembered as absent.
const maxAbsent = 1 << 16

// New makes a client. It connects to nothing yet.
func New(c Config) *Client {
	client := &Client{config: c, cache: cache{folder: c.Cache}, absent: make(map[string]bool), Verify: func(*os.File, []byte) error { return nil }, Warn: func(string) {}}
	for _, u := range c.Servers {
		client.servers = append(client.servers, &server{url: u})
	}
	return client
}

// Fetch returns a file of a build-id, from the cache or from a server. Its caller closes it. The context ends a download.
func (c *Client) Fetch(ctx context.Context, buildID []byte, kind Kind) (*os.File, error) {
	if len(buildID) < 2 || c.off {
		return nil, ErrNone
	}
	path := c.cache.path(buildID, kind)
	if c.absent[path] {
		return nil, ErrNone
	}
	file, err := c.cached(ctx, path, buildID, kind)
	if err != nil && ctx.Err() == nil {
		if len(c.absent) >= maxAbsent {
			clear(c.absent)
		}
		c.absent[path] = true
	}
	return file, err
}

func (c *Client) cached(ctx context.Context, path string, buildID []byte, kind Kind) (*os.File, error) {
	if err := c.cache.prepare(); err != nil {
		return nil, c.giveUp(err)
	}
	file, err := c.cache.open(path)
	if err == nil {
		if err = c.Verify(file, buildID); err == nil {
			return file, nil
		}
		file.Close() // a broken copy is replaced
	} else if errors.Is(err, errAbsent) {
		return nil, ErrNone
	}
	return c.download(ctx, path, buildID, kind)
}

// giveUp ends all fetching for a reason of this machine.
func (c *Client) giveUp(err error) error {
	c.off = true
	c.Warn(fmt.Sprintf("debuginfod is not used: %v; set DEBUGINFOD_CACHE_PATH to a folder that can be written", err))
	return ErrNone
}

// download asks the servers in turn.
func (c *Client) download(ctx context.Context, path string, buildID []byte, kind Kind) (*os.File, error) {
	everywhere := true // every server said that it does not have the file
	for _, s := range c.servers {
		if s.down {
			everywhere = false
			continue
		}
		into, err := c.cache.create(path)
		if err != nil {
			return nil, c.giveUp(err)
		}
		n, err := s.get(ctx, &c.config, buildID, kind, into.file)
		if err == nil {
			if err = c.Verify(into.file, buildID); err != nil {
				err = fmt.Errorf("%w: %w", errWrong, err)
			}
		}
		if err == nil {
			c.Downloads++
			c.Bytes += n
			return into.keep(path)
		}
		into.discard()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		var write *os.PathError
		if errors.As(err, &write) {
			return nil, c.giveUp(err)
		}
		if !errors.Is(err, ErrNone) {
			everywhere = false
			c.note(s, err)
		}
	}
	if everywhere {
		c.cache.markAbsent(path)
	}
	return nil, ErrNone
}

// maxFailures is the number of unusable answers after which a server gets no more requests.
const maxFailures = 3

// note warns of a server's first failure, and stops using a server that does not answer or fails again.
func (c *Client) note(s *server, err error) {
	s.failures++
	if errors.Is(err, errTooLarge) {
		s.failures-- // not the server's fault
		if !s.warnedLarge {
			s.warnedLarge = true
			c.Warn(fmt.Sprintf("debuginfod server %s: %v", s.shown(), err))
		}
		return
	}
	s.down = !answered(err) || s.failures >= maxFailures
	switch {
	case s.down:
		c.Warn(fmt.Sprintf("debuginfod server %s is not used any more: %v; functions whose symbols it has may have no names", s.shown(), err))
	case s.failures == 1:
		c.Warn(fmt.Sprintf("debuginfod server %s: %v", s.shown(), err))
	}
}

// Abort removes what an unfinished download has left.
func (c *Client) Abort() { c.cache.abort() }

// shown is the server's URL without a password.
func (s *server) shown() string {
	u, err := url.Parse(s.url)
	if err != nil {
		return s.url
	}
	return u.Redacted()
}
