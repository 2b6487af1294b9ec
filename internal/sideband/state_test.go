package sideband

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// randomRecords are what the side-band of a few processes may report, with times that nearly increase.
func randomRecords(rng *rand.Rand, count int) (records []Record) {
	for i := range count {
		r := Record{Time: int64(i+1) * 1e8, PID: 2 + rng.Uint32N(6)}
		page := func() uint64 { return uint64(1+rng.IntN(20)) << 12 }
		switch rng.IntN(10) {
		case 0:
			r.Kind = KindExec
		case 1:
			r.Kind, r.Parent = KindFork, 2+rng.Uint32N(6)
		case 2:
			r.Kind, r.Start, r.Length = KindMap, page(), page()
		case 3:
			r.Kind, r.Start, r.Length, r.Count = KindCode, page(), page()/8, 7
			r.Path, r.Inode, r.Device = []byte("/tmp/jit-3.dump"), 99, 1
		case 4:
			r.Kind, r.Inode, r.Device, r.BuildID = KindKept, uint64(rng.IntN(4)), 1, []byte(fmt.Sprintf("%020d", rng.IntN(3)))
		case 5:
			r.Kind, r.Data = KindCommand, []byte(fmt.Sprintf("command %d", i))
		default:
			r.Kind, r.Start, r.Length, r.Offset = KindMap, page(), page(), page()
			r.Path = []byte(fmt.Sprintf("/lib/%d.so", rng.IntN(5)))
			if rng.IntN(2) == 0 {
				r.BuildID = []byte(fmt.Sprintf("%020d", rng.IntN(9)))
			} else {
				r.Inode, r.Device = uint64(rng.IntN(4)), 1
			}
		}
		records = append(records, r)
	}
	return records
}

// What is kept with the state in place of the records before it resolves every address as all records do.
func TestStateReplacesTheRecordsBeforeIt(t *testing.T) {
	resolved := 0
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 1))
		records := randomRecords(rng, 400)
		cut := 200 + rng.IntN(150)
		whole, rest := NewTables(), NewTables()
		s := NewState()
		for i := range records {
			whole.Apply(&records[i])
			if i < cut {
				s.Add(Append(nil, &records[i]))
			}
		}
		at := records[cut].Time - StateLag
		s.Until(at)
		var r Record
		base := s.Append(nil, at)
		for len(base) > 0 {
			n, err := Next(base, &r)
			if err != nil {
				t.Fatal(err)
			}
			if r.Kind != KindCommand && r.Kind != KindFunction {
				rest.Apply(&r)
			}
			base = base[n:]
		}
		for i := range records[cut:] {
			rest.Apply(&records[cut+i])
		}
		for pid := uint32(2); pid < 8; pid++ {
			for address := uint64(0); address < 50<<12; address += 1 << 11 {
				m, offset := whole.Resolve(pid, address)
				got, at := rest.Resolve(pid, address)
				if (m == nil) != (got == nil) || offset != at || m != nil && m.Key() != got.Key() {
					t.Fatalf("seed %d: process %d, address %#x: %v at %#x, want %v at %#x", seed, pid, address, got, at, m, offset)
				}
				if m != nil {
					resolved++
				}
			}
		}
	}
	if resolved < 1000 {
		t.Errorf("only %d addresses were in mappings", resolved)
	}
}

func TestStateHasTheCommandLinesOfLiveProcesses(t *testing.T) {
	s := NewState()
	add := func(r Record) { s.Add(Append(nil, &r)) }
	for pid := uint32(1); pid <= 3; pid++ {
		add(Record{Kind: KindMap, Time: 1, PID: pid, Start: 4096, Length: 4096, Path: []byte("/a")})
		add(Record{Kind: KindCommand, Time: 1, PID: pid, Data: []byte("old")})
	}
	add(Record{Kind: KindExec, Time: 2, PID: 2})
	add(Record{Kind: KindExit, Time: 3, PID: 3})
	add(Record{Kind: KindExec, Time: 40e9, PID: 1}) // it waits
	s.Until(20e9)
	s.Forget(func(uint32) bool { return false })
	if got := fmt.Sprint(s.Unread()); got != "[1 2]" {
		t.Errorf("the command lines of %s are to be read, want those of 1 and 2", got)
	}
	s.SetCommands(Append(nil, &Record{Kind: KindCommand, PID: 2, Data: []byte("new")}))
	commands := map[uint32]string{}
	var r Record
	for b := s.Append(nil, 20e9); len(b) > 0; {
		n, err := Next(b, &r)
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind == KindCommand {
			commands[r.PID] = string(r.Data)
		}
		b = b[n:]
	}
	if commands[1] != "old" || commands[2] != "new" || len(commands) != 3 {
		t.Errorf("command lines %v", commands)
	}
}

func TestWholeRecordsAreNotSplit(t *testing.T) {
	var b []byte
	var ends []int
	for i := range 20 {
		b = Append(b, &Record{Kind: KindCommand, PID: 1, Data: make([]byte, 10*i)})
		ends = append(ends, len(b))
	}
	if n := Whole(b, 1<<20); n != len(b) {
		t.Errorf("%d bytes are whole, want all %d", n, len(b))
	}
	if n := Whole(b, ends[7]+3); n != ends[7] {
		t.Errorf("%d bytes are whole, want %d", n, ends[7])
	}
}
