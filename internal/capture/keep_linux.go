package capture

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"wprof/internal/cli"
	"wprof/internal/proc"
)

// Keep is where snapshots are kept, and how many of them.
type Keep struct {
	Folder string
	Count  int   // 0: no limit
	Bytes  int64 // of all; 0: no limit
	Host   string
}

// keepTime is the time in the name of a snapshot, in UTC, so that names are in the order of time.
const keepTime = "20060102T150405.000Z"

// ParseKeep reads FOLDER, FOLDER,N or FOLDER,N,SIZE. 0 is no limit.
func ParseKeep(text string) (*Keep, error) {
	words := strings.Split(text, ",")
	k := &Keep{Folder: words[0]}
	if k.Folder == "" || len(words) > 3 {
		return nil, fmt.Errorf("%q is not FOLDER,N,SIZE such as /var/lib/wprof,20,1gb", text)
	}
	var err error
	if len(words) > 1 {
		if k.Count, err = strconv.Atoi(words[1]); err != nil || k.Count < 0 {
			return nil, fmt.Errorf("%q is no number of snapshots", words[1])
		}
	}
	if len(words) > 2 {
		if k.Bytes, err = cli.ParseSize(words[2]); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// CheckKeep validates the value of --keep before anything happens.
func CheckKeep(text string) error {
	_, err := ParseKeep(text)
	return err
}

// prefix is how the names of snapshots begin.
func (k *Keep) prefix() string { return filepath.Join(k.Folder, k.Host+"-") }

// open checks the folder, and finds out the name of the host.
func (k *Keep) open() error {
	host, err := proc.ReadHost()
	if err != nil {
		return err
	}
	k.Host = strings.ReplaceAll(host.Name, "/", "_")
	info, err := os.Stat(k.Folder)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return cli.Usagef("--keep: there is no folder %s; make it first", proc.Quote(k.Folder))
	case err != nil:
		return cli.Usagef("--keep: %w", err)
	case !info.IsDir():
		return cli.Usagef("--keep: %s is no folder", proc.Quote(k.Folder))
	}
	return nil
}

// keptFile is a snapshot in the folder.
type keptFile struct {
	name string
	size int64
}

// list returns the snapshots of this host, the newest first.
func (k *Keep) list() (all []keptFile, err error) {
	entries, err := os.ReadDir(k.Folder)
	if err != nil {
		return nil, err
	}
	for _, e := range slices.Backward(entries) { // by name, and so by time
		if !k.isSnapshot(e.Name()) {
			continue
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			all = append(all, keptFile{e.Name(), info.Size()})
		}
	}
	return all, nil
}

func (k *Keep) remove(name string) error {
	err := cli.AsUser(func() error { return os.Remove(filepath.Join(k.Folder, name)) })
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// prune removes the oldest snapshots of this host beyond the limits. The newest one stays whatever its size.
func (k *Keep) prune() (failed []error) {
	if k.Count == 0 && k.Bytes == 0 {
		return nil
	}
	all, err := k.list()
	if err != nil {
		return []error{err}
	}
	bytes := int64(0)
	for i, one := range all {
		bytes += one.size
		if i == 0 || (k.Count == 0 || i < k.Count) && (k.Bytes == 0 || bytes <= k.Bytes) {
			continue
		}
		if err := k.remove(one.name); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// pruneSpools removes the spools of recorders that were killed, all but the newest one, which has just been moved aside: a recorder that is
// killed and started again and again would fill the disk.
func (k *Keep) pruneSpools(newest string) (failed []error) {
	if k.Count == 0 && k.Bytes == 0 {
		return nil
	}
	entries, err := os.ReadDir(k.Folder)
	if err != nil {
		return []error{err}
	}
	for _, e := range entries {
		number, isSpool := strings.CutPrefix(e.Name(), k.Host+captureSuffix+".part.")
		if !isSpool || !isNumber(number) || e.Name() == filepath.Base(newest) || !e.Type().IsRegular() {
			continue
		}
		if err := k.remove(e.Name()); err != nil {
			failed = append(failed, err)
		}
	}
	return failed
}

// makeRoom removes the oldest snapshots of this host until they have freed the size of the newest one, which stays. It returns how many it
// removed.
func (k *Keep) makeRoom() (removed int, err error) {
	all, err := k.list()
	if err != nil || len(all) < 2 {
		return 0, err
	}
	freed := int64(0)
	for _, one := range slices.Backward(all[1:]) {
		if removed > 0 && freed >= all[0].size {
			break
		}
		if err := k.remove(one.name); err != nil {
			return removed, err
		}
		removed++
		freed += one.size
	}
	return removed, nil
}

// isSnapshot reports whether a file has a name as snapshots have: with the time, and perhaps a number.
func (k *Keep) isSnapshot(name string) bool {
	rest, is := strings.CutPrefix(name, k.Host+"-")
	rest, named := strings.CutSuffix(rest, captureSuffix)
	if !is || !named || len(rest) < len(keepTime) {
		return false
	}
	number, numbered := strings.CutPrefix(rest[len(keepTime):], ".")
	_, err := time.Parse(keepTime, rest[:len(keepTime)])
	return err == nil && (rest[len(keepTime):] == "" || numbered && isNumber(number))
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }
