package spool

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"wprof/format"
)

func TestCreateMovesAnOldSpoolAside(t *testing.T) {
	path := filepath.Join(t.TempDir(), "host.wprof.part")
	for n, want := range []string{"", path + ".1", path + ".2"} {
		w, err := Create(path)
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		if got := w.MovedAside(); got != want {
			t.Errorf("spool %d: the old one went to %q, want %q", n, got, want)
		}
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("spool %d: %v, %v; want mode 0600", n, info, err)
		}
	}
}

func TestCreateFollowsNoLink(t *testing.T) {
	dir := t.TempDir()
	victim, path := filepath.Join(dir, "victim"), filepath.Join(dir, "x.part")
	if err := os.WriteFile(victim, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path); err != nil {
		t.Skip(err)
	}
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	if got, _ := os.ReadFile(victim); string(got) != "precious" {
		t.Errorf("the file behind the link holds %q", got)
	}
	if info, err := os.Lstat(w.MovedAside()); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%q is not the link (%v)", w.MovedAside(), err)
	}
}

func TestWriterRefusesWhatCannotBeRead(t *testing.T) {
	w, err := Create(filepath.Join(t.TempDir(), "x.part"))
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	session := &format.Session{}
	for _, c := range []struct {
		err  error
		want string
	}{
		{w.Open(1), "it has not begun"},
		{w.Begin(Header{Session: session, Rings: maxRings + 1}), "it takes 1 to"},
		{w.Begin(Header{Session: session, Rings: 2}), ""},
		{w.Begin(Header{Session: session, Rings: 2}), "it has begun"},
		{w.Ring(2, 0, []byte{1}), "the spool has 2"},
		{w.Round(Round{Producer: []uint64{1}, Drained: []uint64{1}}), "there are 2 rings"},
		{w.Cut(&format.ClockSnapshot{}), "two rounds have not passed"},
		{w.BumpGeneration(1), ""},
		{w.BumpGeneration(2), "a cut is under way"},
	} {
		if c.want == "" && c.err != nil || c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)) {
			t.Errorf("%v, want %q", c.err, c.want)
		}
	}
}

func TestOpenRejectsWhatIsNoSpool(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	for _, content := range []string{"text", strings.Repeat("WSPL", 1000)} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Open(path); !errors.Is(err, errNoSpool) {
			t.Errorf("%.10q: %v, want errNoSpool", content, err)
		}
	}
	// What a recorder leaves behind that is killed before it has written anything.
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, ErrUnopened) {
		t.Errorf("an empty file: %v", err)
	}
}
