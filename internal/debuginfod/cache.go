package debuginfod

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The names and contents of files in the cache are those of elfutils' client (debuginfod/debuginfod-client.c).
const (
	cleanIntervalFile = "cache_clean_interval_s" // its mtime is when the cache was last cleaned
	maxUnusedFile     = "max_unused_age_s"
	missFile          = "cache_miss_s"

	defaultCleanInterval = 24 * time.Hour
	defaultMaxUnused     = 7 * 24 * time.Hour
	defaultMiss          = 10 * time.Minute
)

// errAbsent is the error for a file that no server had lately.
var errAbsent = errors.New("no server had it lately")

var errNoCache = errors.New("there is no folder for its cache, because HOME is not set")

// cache is the folder of downloaded files.
type cache struct {
	folder   string
	prepared bool

	mu         sync.Mutex
	unfinished string // path of the temporary file
}

func (c *cache) path(buildID []byte, kind Kind) string {
	return filepath.Join(c.folder, hex.EncodeToString(buildID), string(kind))
}

// prepare makes the folder, and cleans it at times.
func (c *cache) prepare() error {
	if c.prepared {
		return nil
	}
	if c.folder == "" {
		return errNoCache
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	c.prepared = true
	c.clean(time.Now())
	return nil
}

// open opens a file in the cache. errAbsent: it is known that there is none; other errors: it has to be downloaded.
func (c *cache) open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, os.ErrInvalid
	}
	if info.Size() > 0 {
		return os.Open(path)
	}
	if time.Since(info.ModTime()) <= c.setting(missFile, defaultMiss) {
		return nil, errAbsent
	}
	return nil, os.ErrNotExist
}

// markAbsent notes that no server has a file. A failure costs one more question next time.
func (c *cache) markAbsent(path string) {
	_ = os.Remove(path)
	_ = os.MkdirAll(filepath.Dir(path), 0o700)
	if f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
	}
}

// setting reads one of the files with a number of seconds.
func (c *cache) setting(name string, otherwise time.Duration) time.Duration {
	text, err := readShort(filepath.Join(c.folder, name))
	if err != nil {
		return otherwise
	}
	n, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return otherwise
	}
	return seconds(n)
}

func readShort(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b [64]byte
	n, _ := f.Read(b[:])
	return string(b[:n]), nil
}

// partial is a file that is being downloaded.
type partial struct {
	cache *cache
	file  *os.File
}

// create makes the temporary file beside the place of the final one.
func (c *cache) create(path string) (*partial, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	c.setUnfinished(f.Name())
	return &partial{c, f}, nil
}

// keep gives the file its name, at once and complete.
func (p *partial) keep(path string) (*os.File, error) {
	defer p.cache.setUnfinished("")
	err := p.file.Chmod(0o400)
	if err == nil {
		err = os.Rename(p.file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(p.file.Name()) // it can still be read
	}
	return p.file, nil
}

func (p *partial) discard() {
	p.file.Close()
	p.cache.abort()
	_ = os.Remove(filepath.Dir(p.file.Name())) // if it is empty
}

func (c *cache) setUnfinished(path string) {
	c.mu.Lock()
	c.unfinished = path
	c.mu.Unlock()
}

// abort removes the temporary file.
func (c *cache) abort() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unfinished != "" {
		_ = os.Remove(c.unfinished)
		c.unfinished = ""
	}
}

// clean removes files that were not used for a week, once a day, as elfutils' client does. Errors are left to the next cleaning.
func (c *cache) clean(now time.Time) {
	control := filepath.Join(c.folder, cleanIntervalFile)
	info, err := os.Stat(control)
	if err != nil {
		c.writeSettings()
		return
	}
	if now.Sub(info.ModTime()) < c.setting(cleanIntervalFile, defaultCleanInterval) {
		return
	}
	_ = os.Chtimes(control, now, now)
	unused := c.setting(maxUnusedFile, defaultMaxUnused)
	folders, err := os.ReadDir(c.folder)
	if err != nil {
		return
	}
	for _, d := range folders {
		if _, err := hex.DecodeString(d.Name()); err != nil || !d.IsDir() {
			continue
		}
		cleanFolder(filepath.Join(c.folder, d.Name()), now.Add(-unused))
	}
}

// cleanFolder removes the files of one build-id that were last used before a time.
func cleanFolder(folder string, before time.Time) {
	files, err := os.ReadDir(folder)
	if err != nil {
		return
	}
	for _, f := range files {
		kind, _, _ := strings.Cut(f.Name(), ".") // of a temporary file too
		if Kind(kind) != Executable && Kind(kind) != DebugInfo && !strings.HasPrefix(kind, "source") {
			continue
		}
		if info, err := f.Info(); err == nil && lastUsed(info).Before(before) {
			_ = os.Remove(filepath.Join(folder, f.Name()))
		}
	}
	_ = os.Remove(folder) // if it is empty
}

// writeSettings makes the control files, as elfutils' client does in a new cache.
func (c *cache) writeSettings() {
	for name, d := range map[string]time.Duration{cleanIntervalFile: defaultCleanInterval, maxUnusedFile: defaultMaxUnused, missFile: defaultMiss} {
		f, err := os.OpenFile(filepath.Join(c.folder, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			continue
		}
		fmt.Fprintf(f, "%d", int64(d/time.Second))
		f.Close()
	}
}
