package debuginfod

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// slowBytes is what a server must send within each Config.Timeout.
const slowBytes = 100 << 10

var (
	errTooLarge = errors.New("a file is larger than DEBUGINFOD_MAXSIZE")
	errSlow     = fmt.Errorf("it sent less than %d KB within DEBUGINFOD_TIMEOUT", slowBytes>>10)
	errLong     = errors.New("a download took longer than DEBUGINFOD_MAXTIME")
	errWrong    = errors.New("it sent another file than the wanted one")
)

// statusError is an answer without a file.
type statusError struct{ status int }

func (e statusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("it answered with status %d %s", e.status, http.StatusText(e.status)))
}

// answered reports whether an error is one of an answer, after which the next one may be better.
func answered(err error) bool {
	return errors.As(err, new(statusError)) || errors.Is(err, errWrong)
}

// server is one debuginfod.
type server struct {
	url         string
	failures    int
	warnedLarge bool
	down        bool
}

// address is the URL of a file, made as elfutils' client does.
func (s *server) address(buildID []byte, kind Kind) string {
	base := s.url
	switch {
	case strings.HasSuffix(base, "buildid"):
	case strings.HasSuffix(base, "/"):
		base += "buildid"
	default:
		base += "/buildid"
	}
	return base + "/" + hex.EncodeToString(buildID) + "/" + string(kind)
}

// transport is that of all clients. Its own limits are those of a file's beginning.
var transport = func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxResponseHeaderBytes = 64 << 10
	return t
}()

// get downloads a file. Errors of writing are those of os.
func (s *server) get(ctx context.Context, c *Config, buildID []byte, kind Kind, into io.Writer) (int64, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	body := &counted{limit: c.MaxSize}
	stop := body.watch(cancel, c)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.address(buildID, kind), nil)
	if err != nil {
		return 0, err
	}
	request.Header.Set("User-Agent", "wprof-symbolize")
	request.Header.Set("X-DEBUGINFOD-MAXSIZE", strconv.FormatInt(c.MaxSize, 10))
	answer, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return 0, cause(ctx, err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return 0, ErrNone
	case http.StatusNotAcceptable, http.StatusRequestEntityTooLarge: // elfutils' server answers 406
		return 0, errTooLarge
	default:
		return 0, statusError{answer.StatusCode}
	}
	if answer.ContentLength > c.MaxSize {
		return 0, errTooLarge
	}
	body.in = answer.Body
	n, err := io.Copy(into, body)
	if err != nil {
		return n, cause(ctx, err)
	}
	return n, nil
}

// cause is why a request was ended, or else what went wrong with it, without the URL, which would be named twice.
func cause(ctx context.Context, err error) error {
	if why := context.Cause(ctx); why != nil {
		return why
	}
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err
	}
	return err
}

// counted is the body of an answer. It fails beyond its limit.
type counted struct {
	in    io.Reader
	limit int64
	n     atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.in.Read(b)
	if c.n.Add(int64(n)) > c.limit {
		return 0, errTooLarge
	}
	return n, err
}

// watch cancels a download that is too slow or takes too long, until stop is called.
func (c *counted) watch(cancel context.CancelCauseFunc, config *Config) (stop func()) {
	done := make(chan struct{})
	var slow, long <-chan time.Time
	var timers []func()
	if config.Timeout > 0 {
		t := time.NewTicker(config.Timeout)
		slow, timers = t.C, append(timers, t.Stop)
	}
	if config.MaxTime > 0 {
		t := time.NewTimer(config.MaxTime)
		long, timers = t.C, append(timers, func() { t.Stop() })
	}
	go func() {
		last := int64(0)
		for {
			select {
			case <-done:
				return
			case <-long:
				cancel(errLong)
				return
			case <-slow:
				now := c.n.Load()
				if now-last < slowBytes {
					cancel(errSlow)
					return
				}
				last = now
			}
		}
	}()
	return func() {
		close(done)
		for _, f := range timers {
			f()
		}
	}
}
