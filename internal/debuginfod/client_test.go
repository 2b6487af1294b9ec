package debuginfod

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

var id = []byte{0xab, 0xcd, 0xef}

// asked is a server and the paths that it was asked for.
type asked struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
}

func serve(t *testing.T, answer http.HandlerFunc) *asked {
	t.Helper()
	a := &asked{}
	a.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		a.paths = append(a.paths, r.URL.Path)
		a.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(a.Close)
	return a
}

// asks returns the paths so far.
func (a *asked) asks() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Clone(a.paths)
}

func text(s string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, s) }
}

func missing(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }

// warned is a client that keeps its warnings.
type warned struct {
	*Client
	warnings []string
}

func client(t *testing.T, cache string, servers ...string) *warned {
	t.Helper()
	w := &warned{Client: New(Config{Servers: servers, Cache: cache, MaxSize: 1 << 20, Timeout: 10 * time.Second})}
	w.Warn = func(text string) { w.warnings = append(w.warnings, text) }
	return w
}

// fetch returns what a file has in it; "" if there is none.
func (w *warned) fetch(t *testing.T, buildID []byte, kind Kind) string {
	t.Helper()
	f, err := w.Fetch(t.Context(), buildID, kind)
	if err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got the error %v, want %v", err, ErrNone)
		}
		return ""
	}
	defer f.Close()
	var b bytes.Buffer
	if _, err = f.Seek(0, io.SeekStart); err == nil {
		_, err = b.ReadFrom(f)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// files lists what is below a folder, without the settings of the cache.
func files(t *testing.T, folder string) []string {
	t.Helper()
	var list []string
	err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
		if name, _ := filepath.Rel(folder, path); err == nil && !d.IsDir() && !strings.HasSuffix(name, "_s") {
			list = append(list, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestFilesAreFetchedOnceAndKeptAsElfutilsKeepsThem(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "a", "cache")
	first, second := serve(t, missing), serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "the ", filepath.Base(r.URL.Path)) })
	for range 2 {
		c := client(t, cache, first.URL, second.URL+"/x/buildid")
		for _, kind := range []Kind{Executable, DebugInfo} {
			if got, want := c.fetch(t, id, kind), "the "+string(kind); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if len(c.warnings) > 0 {
			t.Errorf("got warnings %q", c.warnings)
		}
	}
	if want := []string{"/buildid/abcdef/executable", "/buildid/abcdef/debuginfo"}; !slices.Equal(first.asks(), want) {
		t.Errorf("the first server was asked for %q, want %q", first.asks(), want)
	}
	if want := []string{"/x/buildid/abcdef/executable", "/x/buildid/abcdef/debuginfo"}; !slices.Equal(second.asks(), want) {
		t.Errorf("the second server was asked for %q, want %q", second.asks(), want)
	}
	if got, want := files(t, cache), []string{"abcdef/debuginfo", "abcdef/executable"}; !slices.Equal(got, want) {
		t.Errorf("the cache has %q, want %q", got, want)
	}
	if info, err := os.Stat(filepath.Join(cache, "abcdef/debuginfo")); err != nil || info.Mode() != 0o400 {
		t.Errorf("got %v, %v, want mode 0400", info.Mode(), err)
	}
}

func TestAbsentFilesAreNotAskedForAgain(t *testing.T) {
	cache := t.TempDir()
	server := serve(t, missing)
	c := client(t, cache, server.URL)
	for range 3 {
		c.fetch(t, id, DebugInfo)
	}
	client(t, cache, server.URL).fetch(t, id, DebugInfo)
	if len(server.asks()) != 1 {
		t.Errorf("asked %d times, want once", len(server.asks()))
	}
	marker := filepath.Join(cache, "abcdef/debuginfo")
	if info, err := os.Stat(marker); err != nil || info.Size() != 0 {
		t.Errorf("want an empty file: %v", err)
	}
	old := time.Now().Add(-defaultMiss - time.Minute)
	if err := os.Chtimes(marker, old, old); err != nil {
		t.Fatal(err)
	}
	client(t, cache, server.URL).fetch(t, id, DebugInfo)
	if len(server.asks()) != 2 {
		t.Errorf("asked %d times, want once more after ten minutes", len(server.asks()))
	}
}

func TestUnreachableServerIsReportedOnceAndLeftAlone(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	url := "http://user:secret@" + l.Addr().String()
	l.Close()
	cache := t.TempDir()
	c := client(t, cache, url, serve(t, missing).URL)
	for i := range byte(3) {
		c.fetch(t, []byte{i, 1}, Executable)
	}
	if len(c.warnings) != 1 || !strings.Contains(c.warnings[0], "refused") || strings.Contains(c.warnings[0], "secret") {
		t.Errorf("got %q, want one warning", c.warnings)
	}
	if got := files(t, cache); len(got) > 0 {
		t.Errorf("the cache has %q: what the server has is not known", got)
	}
}

func TestAnswersThatCannotBeUsedAreNotKept(t *testing.T) {
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		asked  int // of five
		want   string
	}{
		"another file":      {text("other"), 3, "not used any more: it sent another file"},
		"an error":          {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503) }, 3, "status 503 Service Unavailable"},
		"a large file":      {func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "1048577") }, 5, "larger than DEBUGINFOD_MAXSIZE"},
		"a refusal by size": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(406) }, 5, "larger than DEBUGINFOD_MAXSIZE"},
		"an endless file":   {endless, 5, "larger than DEBUGINFOD_MAXSIZE"},
		"a compressed bomb": {bomb, 5, "larger than DEBUGINFOD_MAXSIZE"},
		"less than it claims": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			fmt.Fprint(w, "x")
		}, 1, "unexpected EOF"},
		"redirects for ever":  {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, r.URL.Path, http.StatusFound) }, 1, "redirects"},
		"nonsense":            {hijack("\x00\x01 nonsense\r\n\r\n"), 1, "malformed HTTP"},
		"headers without end": {hijack("HTTP/1.1 200 OK\r\n" + strings.Repeat("A: b\r\n", 100_000)), 1, "exceeded"},
		"a redirect to a file": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "file:///etc/passwd", http.StatusFound)
		}, 1, "unsupported protocol"},
	} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			server := serve(t, c.answer)
			got := client(t, cache, server.URL)
			got.Verify = func(*os.File, []byte) error { return errors.New("its build-id differs") }
			for i := range byte(5) {
				if text := got.fetch(t, []byte{i, 1}, DebugInfo); text != "" {
					t.Errorf("got %q", text)
				}
			}
			ids := map[string]bool{}
			for _, p := range server.asks() {
				ids[p] = true
			}
			if len(ids) != c.asked {
				t.Errorf("asked for %d files, want %d", len(ids), c.asked)
			}
			if n := len(got.warnings); n == 0 || n > 2 || !strings.Contains(got.warnings[n-1], c.want) {
				t.Errorf("got warnings %q, want %q", got.warnings, c.want)
			}
			if left := files(t, cache); len(left) > 0 {
				t.Errorf("the cache has %q", left)
			}
		})
	}
}

func endless(w http.ResponseWriter, _ *http.Request) {
	for {
		if _, err := w.Write(make([]byte, 1<<16)); err != nil {
			return
		}
	}
}

func bomb(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Encoding", "gzip")
	z := gzip.NewWriter(w)
	defer z.Close()
	for range 64 {
		_, _ = z.Write(make([]byte, 1<<16))
	}
}

func hijack(answer string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte(answer))
	}
}

func TestSlowServerIsLeftAlone(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"no answer": func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"few bytes": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				fmt.Fprint(w, "x")
				w.(http.Flusher).Flush()
				time.Sleep(time.Millisecond)
			}
		},
	} {
		cache := t.TempDir()
		server := serve(t, answer)
		c := client(t, cache, server.URL)
		c.config.Timeout = 100 * time.Millisecond
		for i := range byte(3) {
			c.fetch(t, []byte{i, 1}, DebugInfo)
		}
		if len(server.asks()) != 1 || len(c.warnings) != 1 || !strings.Contains(c.warnings[0], "DEBUGINFOD_TIMEOUT") {
			t.Errorf("%s: asked for %q, got %q; want one question and one warning", name, server.asks(), c.warnings)
		}
		if got := files(t, cache); len(got) > 0 {
			t.Errorf("%s: the cache has %q", name, got)
		}
	}
}

func TestStoppedDownloadLeavesNothing(t *testing.T) {
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	server := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "x")
		w.(http.Flusher).Flush()
		cancel()
		<-r.Context().Done()
	})
	c := client(t, cache, server.URL)
	if _, err := c.Fetch(ctx, id, DebugInfo); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := files(t, cache); len(got) > 0 || len(c.warnings) > 0 {
		t.Errorf("the cache has %q, warnings %q", got, c.warnings)
	}
}

func TestCacheThatCannotBeWrittenIsReportedOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, cache := range []string{"", filepath.Join(file, "cache")} {
		server := serve(t, text("x"))
		c := client(t, cache, server.URL)
		for i := range byte(3) {
			c.fetch(t, []byte{i, 1}, DebugInfo)
		}
		if len(server.asks()) > 0 || len(c.warnings) != 1 || !strings.Contains(c.warnings[0], "DEBUGINFOD_CACHE_PATH") {
			t.Errorf("%q: asked for %q, got %q", cache, server.asks(), c.warnings)
		}
	}
}

func TestBrokenCopyInTheCacheIsReplaced(t *testing.T) {
	cache := t.TempDir()
	path := filepath.Join(cache, "abcdef/debuginfo")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("broken"), 0o400); err != nil {
		t.Fatal(err)
	}
	c := client(t, cache, serve(t, text("whole")).URL)
	c.Verify = func(f *os.File, _ []byte) error {
		var b [6]byte
		if n, _ := f.ReadAt(b[:], 0); string(b[:n]) == "broken" {
			return errors.New("it is broken")
		}
		return nil
	}
	if got := c.fetch(t, id, DebugInfo); got != "whole" {
		t.Errorf("got %q", got)
	}
	if got, _ := os.ReadFile(path); string(got) != "whole" {
		t.Errorf("the cache has %q", got)
	}
}

func TestUnusedFilesAreRemovedOnceADay(t *testing.T) {
	folder := t.TempDir()
	now := time.Now()
	put := func(name string, age time.Duration) {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("86400"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(path, now.Add(-age), now.Add(-age)); err != nil {
			t.Fatal(err)
		}
	}
	day := 24 * time.Hour
	put("ab/debuginfo", 8*day)
	put("ab/executable.123", 8*day)
	put("cd/debuginfo", 6*day)
	put("cd/executable", 8*day)
	put("cd/notes", 8*day)
	put("other/debuginfo", 8*day)
	put(cleanIntervalFile, day/2)
	c := &cache{folder: folder}
	c.clean(now)
	if got := files(t, folder); len(got) != 6 {
		t.Errorf("cleaned within a day: %q is left", got)
	}
	put(cleanIntervalFile, 2*day)
	c.clean(now)
	if got, want := files(t, folder), []string{"cd/debuginfo", "cd/notes", "other/debuginfo"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := os.Stat(filepath.Join(folder, "ab")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an empty folder is left: %v", err)
	}
}
