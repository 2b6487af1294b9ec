package browser

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"wprof/internal/cli"
)

// server serves one file at an address that other users of the machine cannot guess.
type server struct {
	file    *os.File
	size    int64
	path    string // of the address
	host    string
	origin  string
	once    sync.Once
	fetched chan struct{} // closed when the file was sent whole
}

// Show serves the file, which is complete, until it was fetched or a signal ends that. s may be nil.
func (s *Shown) Show() error {
	if s == nil {
		return nil
	}
	one, err := s.server()
	if err != nil {
		return err
	}
	defer one.file.Close()
	web := &http.Server{Handler: one, ReadHeaderTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- web.Serve(s.listener) }()
	link := s.site.Link + "http://" + one.host + one.path
	opening := ""
	if open(link) {
		opening = "; it is being opened in the browser"
	}
	s.inv.Warnf("the page is %s%s", link, opening)
	s.inv.Warnf("waiting until the browser has fetched it; Ctrl-C ends that")
	select {
	case <-one.fetched:
	case err := <-ended:
		return fmt.Errorf("serve %s: %w", s.path, err)
	case <-s.interrupted():
		return cli.Failf("%s was not shown: a signal came before the browser had fetched it", s.path)
	}
	// The kernel has all of the file, and sends it whatever becomes of the server. A browser may hold other connections open for long.
	patience, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_ = web.Shutdown(patience)
	return nil
}

// interrupted is closed by the next signal. If one has ended the input already, the next ends the process.
func (s *Shown) interrupted() <-chan struct{} {
	select {
	case <-s.inv.Stopped():
		return nil
	default:
		s.inv.HandleStop()
		return s.inv.Stopped()
	}
}

func (s *Shown) server() (*server, error) {
	file, err := os.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("serve %s: %w", s.path, errors.Unwrap(err))
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is not a regular file")
	}
	if err != nil {
		file.Close()
		return nil, fmt.Errorf("serve %s: %w", s.path, err)
	}
	path := "/" + rand.Text()[:16] + "/" + url.PathEscape(filepath.Base(s.path))
	return &server{file: file, size: info.Size(), path: path, host: s.listener.Addr().String(), origin: s.site.Origin, fetched: make(chan struct{})}, nil
}

// ServeHTTP answers requests for the file from the page's origin. A request with another host comes from a page whose name was made to
// lead here.
func (o *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Host != o.host || r.URL.EscapedPath() != o.path {
		http.NotFound(w, r)
		return
	}
	header := w.Header()
	if o.origin != "" {
		header.Set("Access-Control-Allow-Origin", o.origin)
		header.Set("Access-Control-Allow-Private-Network", "true") // of a page on the Internet, in some browsers
	}
	switch r.Method {
	case http.MethodOptions:
		w.WriteHeader(http.StatusNoContent)
	case http.MethodGet:
		o.send(w)
	default:
		http.Error(w, "only GET", http.StatusMethodNotAllowed)
	}
}

func (o *server) send(w http.ResponseWriter) {
	w.Header().Set("Content-Type", contentType(o.path))
	w.Header().Set("Content-Length", fmt.Sprint(o.size))
	w.Header().Set("Cache-Control", "no-store")
	n, err := io.Copy(w, io.NewSectionReader(o.file, 0, o.size))
	if err == nil && n == o.size && http.NewResponseController(w).Flush() == nil {
		o.once.Do(func() { close(o.fetched) })
	}
}

func contentType(path string) string {
	switch filepath.Ext(path) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	}
	return "application/octet-stream"
}
