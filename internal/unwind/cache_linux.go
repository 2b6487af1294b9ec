package unwind

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Cache keeps tables in a folder of this user's own. The name of a table is a hash of everything that it is made from, or of itself, so
// no file gets the table of another one. Without a folder, each table is made.
type Cache struct{ dir string }

const (
	// maxCacheBytes bounds the files of a cache; those that were not used for the longest time are removed.
	maxCacheBytes = 256 << 20
	cacheVersion  = "wprof unwind table 5\n"
	cacheSuffix   = ".table"
	// usedAfter is the age of a file's mtime from which a use updates it.
	usedAfter = time.Hour
)

// OpenCache creates the folder unless it exists. Nobody else may be able to write to it.
func OpenCache(dir string) (Cache, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Cache{}, fmt.Errorf("create the folder for unwind tables: %w", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return Cache{}, fmt.Errorf("open the folder for unwind tables: %w", err)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !ok || !info.IsDir() || info.Mode().Perm()&0o022 != 0 || int(stat.Uid) != os.Geteuid() {
		return Cache{}, fmt.Errorf("open the folder for unwind tables: others may write to %s", dir)
	}
	return Cache{dir}, nil
}

// Build is as [Build], with the cache. name is that of the table in the cache; "": it is not there.
func (c Cache) Build(r io.ReaderAt, size int64) (t *Table, name string, err error) {
	in, err := read(r, size)
	if err != nil {
		return nil, "", err
	}
	if c.dir == "" {
		return in.table(), "", nil
	}
	var data []byte
	if len(in.golang) > 0 { // its table is made as fast as it is hashed
		t = in.table()
		data = encode(t)
		name = fileName(sha256.Sum256(data))
	} else {
		name = in.name()
	}
	if t := c.Load(name); t != nil {
		return t, name, nil
	}
	if t == nil {
		t = in.table()
		data = encode(t)
	}
	if err := write(filepath.Join(c.dir, name), data); err != nil {
		return t, "", nil
	}
	c.trim()
	return t, name, nil
}

func fileName(hash [sha256.Size]byte) string { return hex.EncodeToString(hash[:16]) + cacheSuffix }

// name is that of the table of a file without Go's functions.
func (in *input) name() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s%v %d %v\n", cacheVersion, in.frames.debug, in.frames.address, in.code)
	for _, e := range in.crt {
		fmt.Fprintf(h, "%d %d %v\n", e.begin, e.end, e.instructions)
	}
	h.Write(in.frames.data)
	return fileName([sha256.Size]byte(h.Sum(nil)))
}

// Load returns the table of a name; nil: there is none, or its file is damaged.
func (c Cache) Load(name string) *Table {
	path := filepath.Join(c.dir, name)
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxCacheBytes {
		return nil
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	if now := time.Now(); now.Sub(info.ModTime()) > usedAfter {
		_ = os.Chtimes(path, now, now)
	}
	t, err := decode(data)
	if err != nil {
		return nil
	}
	return t
}

// write leaves a whole file or none.
func write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "new-")
	if err != nil {
		return fmt.Errorf("store an unwind table: %w", err)
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// trim removes the files that were not used for the longest time, and temporary ones that were left, if all take too much.
func (c Cache) trim() {
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		return
	}
	var files []fs.FileInfo
	total := int64(0)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && (strings.HasSuffix(e.Name(), cacheSuffix) || strings.HasPrefix(e.Name(), "new-")) {
			files = append(files, info)
			total += info.Size()
		}
	}
	if total <= maxCacheBytes {
		return
	}
	slices.SortFunc(files, func(a, b fs.FileInfo) int { return cmp.Compare(a.ModTime().UnixNano(), b.ModTime().UnixNano()) })
	for _, info := range files {
		if total <= maxCacheBytes/4*3 {
			return
		}
		if os.Remove(filepath.Join(c.dir, info.Name())) == nil {
			total -= info.Size()
		}
	}
}

// tableHead precedes the rules, pages and rows of a table in a file. The checksum is of everything after it.
type tableHead struct {
	CRC, First, Rules, Pages, Rows uint32
}

func encode(t *Table) []byte {
	var b []byte
	order := binary.LittleEndian
	head := tableHead{First: t.First, Rules: uint32(len(t.Rules)), Pages: uint32(len(t.Pages)), Rows: uint32(len(t.Rows))}
	for _, part := range []any{head, t.Rules, t.Pages, t.Rows} {
		b, _ = binary.Append(b, order, part) // all have fixed sizes
	}
	order.PutUint32(b, crc32.Checksum(b[4:], crc32.MakeTable(crc32.Castagnoli)))
	return append([]byte(cacheVersion), b...)
}

var errDamaged = errors.New("the file of an unwind table is damaged")

// decode checks everything that the kernel programs rely on.
func decode(data []byte) (*Table, error) {
	data, ok := bytes.CutPrefix(data, []byte(cacheVersion))
	var head tableHead
	order := binary.LittleEndian
	n, err := binary.Decode(data, order, &head)
	if !ok || err != nil || head.CRC != crc32.Checksum(data[4:], crc32.MakeTable(crc32.Castagnoli)) {
		return nil, errDamaged
	}
	data = data[n:]
	size := uint64(head.Rules)*uint64(binary.Size(Rule{})) + 4*(uint64(head.Pages)+uint64(head.Rows))
	if size != uint64(len(data)) {
		return nil, errDamaged
	}
	t := &Table{First: head.First, Rules: make([]Rule, head.Rules), Pages: make([]uint32, head.Pages), Rows: make([]uint32, head.Rows)}
	for _, part := range []any{t.Rules, t.Pages, t.Rows} {
		n, err := binary.Decode(data, order, part)
		if err != nil {
			return nil, errDamaged
		}
		data = data[n:]
	}
	if !t.isSound() {
		return nil, errDamaged
	}
	return t, nil
}

// isSound reports whether each page has rows, of which the first is at the page's beginning, and each row has a rule.
func (t *Table) isSound() bool {
	if len(t.Pages) == 0 {
		return len(t.Rows) == 0
	}
	for i, first := range t.Pages[:len(t.Pages)-1] {
		if first >= t.Pages[i+1] || int(t.Pages[i+1]) > len(t.Rows) || t.Rows[first]&pageMask != 0 || t.Pages[i+1]-first > pageMask+1 {
			return false
		}
	}
	for _, row := range t.Rows {
		if int(row>>PageBits) >= len(t.Rules) {
			return false
		}
	}
	return t.Pages[0] == 0 && int(t.Pages[len(t.Pages)-1]) == len(t.Rows)
}
