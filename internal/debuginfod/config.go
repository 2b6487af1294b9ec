package debuginfod

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const (
	defaultTimeout = 90 * time.Second
	// defaultMaxSize is the largest file that is downloaded. elfutils has no limit; the debug file of a browser has 2 GB.
	defaultMaxSize = 8 << 30
)

// Config is where to look, and how much of it to take.
type Config struct {
	Servers []string // their URLs, in the order in which they are tried
	Cache   string   // the folder
	// Timeout is within which a server must send 100 KB, again and again until the file is complete; 0: none.
	Timeout time.Duration
	MaxTime time.Duration // of one download; 0: none
	MaxSize int64         // of one file, in bytes
}

// FromEnvironment returns the configuration of elfutils' environment variables, which are described in debuginfod-find(1), and errors
// for values that it leaves out.
func FromEnvironment(getenv func(string) string) (c Config, ignored []error) {
	c = Config{Timeout: defaultTimeout, MaxSize: defaultMaxSize}
	for _, u := range strings.Fields(getenv("DEBUGINFOD_URLS")) {
		if strings.HasPrefix(u, "ima:") {
			continue // the policy for signatures of files, which are not checked here
		}
		if err := CheckURL(u); err != nil {
			ignored = append(ignored, fmt.Errorf("DEBUGINFOD_URLS: %w", err))
			continue
		}
		c.Servers = append(c.Servers, u)
	}
	for _, v := range []struct {
		name string
		set  func(int64)
	}{
		{"DEBUGINFOD_TIMEOUT", func(n int64) { c.Timeout = seconds(n) }},
		{"DEBUGINFOD_MAXTIME", func(n int64) { c.MaxTime = seconds(n) }},
		{"DEBUGINFOD_MAXSIZE", func(n int64) {
			if n > 0 {
				c.MaxSize = n
			}
		}},
	} {
		text := getenv(v.name)
		if text == "" {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		if err != nil {
			ignored = append(ignored, fmt.Errorf("%s: %q is not a number", v.name, text))
			continue
		}
		v.set(n)
	}
	c.Cache = cacheFolder(getenv)
	return c, ignored
}

func seconds(n int64) time.Duration {
	const most = 1 << 31 // the largest that elfutils takes
	return time.Duration(min(max(n, 0), most)) * time.Second
}

// cacheFolder is the folder that elfutils' client uses; "" if there is none.
func cacheFolder(getenv func(string) string) string {
	if path := getenv("DEBUGINFOD_CACHE_PATH"); path != "" {
		return path
	}
	home := getenv("HOME")
	if home != "" {
		if old := filepath.Join(home, ".debuginfod_client_cache"); isFolder(old) {
			return old
		}
	}
	if xdg := getenv("XDG_CACHE_HOME"); xdg != "" {
		return filepath.Join(xdg, "debuginfod_client")
	}
	if home == "" {
		return ""
	}
	return filepath.Join(home, ".cache", "debuginfod_client")
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

var errURL = errors.New("is not the URL of a server: it begins with http:// or https://")

// CheckURL checks the URL of a server.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("%q %w", text, errURL)
	}
	return nil
}
