package capture

import (
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"wprof/format"
	"wprof/internal/assemble"
	"wprof/internal/cli"
	"wprof/internal/proc"
)

// snapshots writes windows of a flight recorder into files of their own while it goes on recording, one after the other.
type snapshots struct {
	s       *session
	flight  *flight
	ended   chan struct{}  // closed when no more are to be written
	done    chan struct{}  // closed when the last one is written
	ending  sync.WaitGroup // goroutines that end a window
	running sync.WaitGroup // commands of --exec
	slots   chan struct{}  // of commands of --exec

	mu      sync.Mutex
	trigger assemble.Mark   // of the snapshot that is to be taken; without a reason: none is to be taken
	marks   []assemble.Mark // the triggers that are in the current window, by time
	ignored int             // triggers since the last one was taken
	next    time.Time
	writing bool // a requested one
	taken   int  // complete ones, for the limit
}

// maxExecs bounds the commands of --exec that run at a time.
const maxExecs = 4

func startSnapshots(s *session) *snapshots {
	n := &snapshots{s: s, flight: s.rec.flight, ended: make(chan struct{}), done: make(chan struct{}), slots: make(chan struct{}, maxExecs)}
	go n.run()
	return n
}

// finish waits until the snapshot that is being written is complete, and then for the commands that were run.
func (n *snapshots) finish() {
	if n == nil {
		return
	}
	close(n.ended)
	n.ending.Wait()
	<-n.done
}

// request requests a snapshot. One that was requested before, and has not begun, stands for both. A condition is also ignored during the pause
// after the last snapshot, and everything while the last one of --snapshot-count is written, and after it.
// reason is nil for a signal: its condition is the reason.
func (n *snapshots) request(mark assemble.Mark, reason func() string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	now := time.Now()
	if n.trigger.Reason != "" || reason != nil && now.Before(n.next) || n.isLast() {
		n.ignored++
		return
	}
	mark.Reason = mark.Condition
	if reason != nil {
		mark.Reason = reason()
	}
	n.trigger = mark
	n.mark(mark)
	after := n.s.cfg.Flight.After
	n.next = now.Add(n.s.cfg.Flight.Every + after)
	n.ending.Go(func() { n.endWindow(after) })
}

// endWindow ends the window of the next snapshot after a while.
func (n *snapshots) endWindow(after time.Duration) {
	select {
	case <-time.After(after):
	case <-n.ended:
		return
	}
	if err := n.s.rec.endWindow(); err != nil {
		n.s.inv.Warnf("spans that are under way are missing in the next snapshot: %v", err)
	}
}

// maxMarks bounds the triggers that are kept for a window.
const maxMarks = 4096

// mark keeps a trigger until it has left the window. Triggers are found up to a tenth of a second after they happened, and not in order.
func (n *snapshots) mark(mark assemble.Mark) {
	at := len(n.marks)
	for at > 0 && n.marks[at-1].At > mark.At {
		at--
	}
	n.marks = slices.Insert(n.marks, at, mark)
	passed := max(0, len(n.marks)-maxMarks)
	if window := n.s.cfg.Flight.Window; window > 0 {
		before := proc.Monotonic() - window.Nanoseconds() - int64(time.Minute)
		passed = max(passed, slices.IndexFunc(n.marks, func(m assemble.Mark) bool { return m.At >= before }))
	}
	n.marks = slices.Delete(n.marks, 0, passed)
}

// marked returns the triggers that are kept, by time.
func (n *snapshots) marked() []assemble.Mark {
	if n == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.marks)
}

// take returns the trigger of the snapshot that is to be written now, and how many were ignored.
func (n *snapshots) take() (trigger assemble.Mark, ignored int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	trigger, ignored = n.trigger, n.ignored
	n.trigger, n.ignored, n.writing = assemble.Mark{}, 0, true
	return trigger, ignored
}

// isLast reports whether the last snapshot of --snapshot-count is being written, or complete. It needs the lock.
func (n *snapshots) isLast() bool {
	taken := n.taken
	if n.writing {
		taken++
	}
	return n.s.cfg.Flight.Count > 0 && taken >= n.s.cfg.Flight.Count
}

// wrote says what became of the snapshot that take has begun.
func (n *snapshots) wrote(complete bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.writing = false
	if complete {
		n.taken++
	}
}

func (n *snapshots) run() {
	defer close(n.done)
	for p, found := n.flight.pinning.next(n.ended); found; p, found = n.flight.pinning.next(n.ended) {
		n.write(p)
	}
	if trigger, _ := n.take(); trigger.Reason != "" {
		n.s.inv.Warnf("the recording ended before the snapshot (%s) was taken: %s", trigger.Reason, n.s.rec.whereIs(trigger.At))
	}
}

// whereIs says what the output has of a time near which the recording ended.
func (r *recorder) whereIs(at int64) string {
	closed := r.closedAt
	if closed == 0 { // an error has ended it
		closed = proc.Monotonic()
	}
	opened := r.flight.oldest.Load()
	if window := r.flight.config.Window; window > 0 {
		opened = max(opened, closed-window.Nanoseconds())
	}
	if at < opened {
		return fmt.Sprintf("the trigger was %s before the end, and the window of the output begins later", seconds(time.Duration(closed-at)))
	}
	return "the output has what was recorded until then"
}

// write writes one snapshot and reports it, or why it failed. The recording goes on whatever happens.
func (n *snapshots) write(p pinned) {
	trigger, ignored := n.take()
	reason := trigger.Reason
	began := time.Now()
	defer collect(100, math.MaxInt64)()
	path, summary, err := n.writeWithRoom(p, &trigger)
	n.flight.pinning.done <- p.pin
	n.wrote(err == nil)
	also := ""
	if ignored > 0 {
		also = fmt.Sprintf("; %s ignored since the last one", cli.Counted(uint64(ignored), "trigger"))
	}
	if err != nil {
		n.s.inv.Warnf("the snapshot (%s) failed: %v; the recording goes on%s", reason, err, also)
		return
	}
	o := Outcome{Losses: summary.Losses}
	lost := "nothing lost"
	if o.Lossy() {
		lost = cli.Counted(o.Lost(), "event") + " lost"
	}
	var events uint64
	for _, count := range summary.Events {
		events += count
	}
	n.s.inv.Warnf("snapshot %s (%s): %s in %s, %s, written in %s%s", path, reason, cli.Counted(events, "event"), seconds(time.Duration(summary.Close-summary.Open)),
		lost, seconds(time.Since(began)), also)
	if keep := n.s.cfg.Flight.Keep; keep != nil {
		for _, err := range keep.prune() {
			n.s.inv.Warnf("an old snapshot could not be removed: %v", err)
		}
	}
	n.execute(path)
	n.count()
}

// writeWithRoom writes a snapshot. While the disk is full, it makes room in the folder of --keep, and writes it again.
func (n *snapshots) writeWithRoom(p pinned, trigger *assemble.Mark) (path string, summary assemble.Summary, err error) {
	w, err := n.s.rec.windowOf(p)
	if err != nil {
		return "", summary, err
	}
	for keep := n.s.cfg.Flight.Keep; ; {
		path, summary, err = n.writeTo(w, trigger)
		if keep == nil || !cli.IsFull(err) {
			return path, summary, err
		}
		removed, failed := keep.makeRoom()
		if failed != nil {
			n.s.inv.Warnf("an old snapshot could not be removed: %v", failed)
		}
		if removed == 0 {
			return path, summary, err
		}
		n.s.inv.Warnf("the disk is full: %s made room for the next one by being removed", cli.Counted(uint64(removed), "old snapshot"))
	}
}

// count ends the recording after the last snapshot of --snapshot-count.
func (n *snapshots) count() {
	n.mu.Lock()
	last := n.isLast()
	n.mu.Unlock()
	if last {
		n.s.inv.Warnf("that was the last one of --snapshot-count, and the recording ends")
		n.s.rec.Stop()
	}
}

func (n *snapshots) writeTo(p *window, trigger *assemble.Mark) (path string, summary assemble.Summary, err error) {
	if path, err = n.s.cfg.snapshotPath(wallTime(p.closed)); err != nil {
		return "", summary, err
	}
	recorded, err := p.pin.Spool(p.blocked, p.tail)
	if err != nil {
		return "", summary, err
	}
	session := recorded.Header().Session
	session.Config = append(session.Config, &format.KeyValue{Key: "snapshot", Value: trigger.Reason},
		&format.KeyValue{Key: "snapshot-at", Value: wallTime(trigger.At).UTC().Format("2006-01-02T15:04:05.000Z")})
	out, err := n.s.inv.CreateOutput(path, true)
	if err != nil {
		return "", summary, err
	}
	defer out.Abort()
	o := assemble.Options{Cost: n.s.cost, Marks: n.marked()}
	naming := n.s.name(recorded, &o)
	defer naming.end()
	w := format.NewWriter(out, format.WriterOptions{Level: n.s.cfg.level(true)})
	summary, err = assemble.Finalise(recorded, w, o)
	switch written := cli.WriteError(err); {
	case written != nil:
		return "", summary, written
	case p.pin.IsLost():
		return "", summary, errors.New("writing it was slower than its part of the spool could be kept; give -F a larger SIZE, or use a faster disk")
	case err != nil:
		return "", summary, err
	}
	return path, summary, out.Commit()
}

// wallTime is a time of CLOCK_MONOTONIC by the wall clock. It must be recent, since the wall clock may be set.
func wallTime(at int64) time.Time { return time.Now().Add(time.Duration(at - proc.Monotonic())) }

// execute runs the command of --exec with the file's name.
func (n *snapshots) execute(path string) {
	command := n.s.cfg.Flight.Exec
	if command == "" {
		return
	}
	select {
	case n.slots <- struct{}{}:
	default:
		n.s.inv.Warnf("--exec did not run for %s: %d commands of earlier snapshots are still running", path, maxExecs)
		return
	}
	n.running.Add(1)
	go func() {
		defer func() {
			<-n.slots
			n.running.Done()
		}()
		cmd := exec.Command("/bin/sh", "-c", command+` "$1"`, "sh", path)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr // standard output is the stream's
		if err := cmd.Run(); err != nil {
			n.s.inv.Warnf("--exec with %s: %v", path, err)
		}
	}()
}

// wait waits for the commands of --exec.
func (n *snapshots) wait() {
	if n != nil {
		n.running.Wait()
	}
}

// snapshotPath is the name of the next snapshot: with the time at which its window ended in the folder of --keep, else the output's with a
// number.
func (cfg *Config) snapshotPath(ended time.Time) (string, error) {
	if keep := cfg.Flight.Keep; keep != nil {
		return firstFree(keep.prefix()+ended.UTC().Format(keepTime), 0)
	}
	if cfg.Output == "" || cfg.Output == "-" {
		return "", errors.New("it has no name on standard output: give -o FILE or --keep FOLDER")
	}
	return firstFree(strings.TrimSuffix(cfg.Output, captureSuffix), 1)
}

const captureSuffix = ".wprof"

// firstFree returns the first name without a file, with a number from a first one on; number 0 is not written.
func firstFree(stem string, first int) (string, error) {
	for n := first; n < first+maxNumber; n++ {
		path := stem + "." + strconv.Itoa(n) + captureSuffix
		if n == 0 {
			path = stem + captureSuffix
		}
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", fmt.Errorf("find a name for it: %w", err)
		}
	}
	return "", fmt.Errorf("there are %d files like %s already", maxNumber, filepath.Base(stem)+".1"+captureSuffix)
}

// maxNumber bounds the search for a free name.
const maxNumber = 100_000
