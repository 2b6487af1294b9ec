package unwind

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Stored is a file whose table is in a cache. Within one boot, these numbers identify the file and its contents.
type Stored struct {
	Device         uint32
	Inode, Changed uint64 // Changed: ctime, ns
	Python         bool   // it has an interpreter of Python, which is not in the cache, known or not
	Name           string // of its table, see [Cache.Build]
}

const (
	indexName = "files-4" // files-2 did not have the module that runs tasks as a part of an interpreter, nor interpreters of Ruby
	// maxStored is the number of files in an index.
	maxStored = 512
)

// Files returns the files of the index that was kept during this boot, those whose tables were made last first.
func (c Cache) Files(boot string) (all []Stored) {
	data, err := os.ReadFile(filepath.Join(c.dir, indexName))
	if c.dir == "" || err != nil {
		return nil
	}
	lines := bufio.NewScanner(bytes.NewReader(data))
	if !lines.Scan() || lines.Text() != boot || boot == "" {
		return nil
	}
	for lines.Scan() && len(all) < maxStored {
		var s Stored
		n, err := fmt.Sscanf(lines.Text(), "%d %d %d %t %s", &s.Device, &s.Inode, &s.Changed, &s.Python, &s.Name)
		if err != nil || n != 5 || strings.ContainsRune(s.Name, filepath.Separator) {
			return nil
		}
		all = append(all, s)
	}
	return all
}

// BySize returns files in order of the sizes of their tables, the smallest first.
func (c Cache) BySize(all []Stored) []Stored {
	sizes := map[string]int64{}
	for _, s := range all {
		if info, err := os.Stat(filepath.Join(c.dir, s.Name)); err == nil {
			sizes[s.Name] = info.Size()
		}
	}
	return slices.SortedStableFunc(slices.Values(all), func(a, b Stored) int { return cmp.Compare(sizes[a.Name], sizes[b.Name]) })
}

// KeepFiles replaces the index.
func (c Cache) KeepFiles(boot string, all []Stored) error {
	if c.dir == "" {
		return nil
	}
	var b bytes.Buffer
	fmt.Fprintln(&b, boot)
	for _, s := range all[:min(len(all), maxStored)] {
		fmt.Fprintf(&b, "%d %d %d %t %s\n", s.Device, s.Inode, s.Changed, s.Python, s.Name)
	}
	return write(filepath.Join(c.dir, indexName), b.Bytes())
}
