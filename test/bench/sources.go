package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"wprof/docs"
)

// sources measures what an event of each source costs, for wprof-record --list: the recorder measures itself, beside a workload of
// everything that it can record.
func (b *bench) sources() error {
	const command = "wprof-record --list --measure --json, beside perf bench sched pipe, execs, fsync, signals, moves, requests to io_uring and datagrams"
	ns, bytes := map[string][]float64{}, map[string][]float64{}
	var order []string
	for range b.few() {
		stop, err := startMixture(b.tmp)
		if err != nil {
			return err
		}
		u, err := run(nil, nil, b.tool("wprof-record"), "--list", "--measure", "--json")
		stop()
		if err != nil {
			return err
		}
		for line := range strings.Lines(u.out) {
			var s struct {
				Source string
				Cost   *struct {
					Ns    float64 `json:"ns_per_event"`
					Bytes float64 `json:"bytes_per_event"`
				}
			}
			if err := json.Unmarshal([]byte(line), &s); err != nil {
				return fmt.Errorf("%s: %w", command, err)
			}
			if s.Cost == nil {
				continue
			}
			if ns[s.Source] == nil {
				order = append(order, s.Source)
			}
			ns[s.Source] = append(ns[s.Source], s.Cost.Ns)
			if s.Cost.Bytes > 0 {
				bytes[s.Source] = append(bytes[s.Source], s.Cost.Bytes)
			}
		}
	}
	for _, source := range order {
		row := Row{Name: docs.CostOf(source), Unit: "ns an event", Runs: ns[source], Command: command}
		if source == "tp" {
			row.Note = "the tracepoint is sched:sched_switch, with two texts of 16 bytes and five numbers"
		}
		b.add(row)
		if len(bytes[source]) > 0 {
			b.add(Row{Name: docs.BytesOf(source), Unit: "bytes an event", Runs: bytes[source], Command: command})
		}
	}
	return b.tracepoints()
}

// startMixture starts a mixed load, and returns a function that ends it.
func startMixture(folder string) (stop func(), err error) {
	const script = `taskset -c 1 perf bench sched pipe -l 100000000 >/dev/null & pipe=$!
trap 'kill $pipe; exit' TERM
trap : USR1
while :; do
	/bin/true
	dd if=/dev/zero of="$0" bs=64k count=1 conv=fsync status=none
	for i in 1 2 3 4 5 6 7 8 9 10; do kill -USR1 $$; done
	taskset -cp 0 $$ >/dev/null
	taskset -cp 0,1 $$ >/dev/null
	"$1" 0 requests 10
	sleep 0.002
done`
	events := filepath.Join(folder, "events")
	if err := compile(events, "test/bench/testdata/events.c"); err != nil {
		return nil, err
	}
	cmd := exec.Command("bash", "-c", script, filepath.Join(folder, "mixture"), events)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	done, ended := make(chan struct{}), make(chan error)
	go func() { ended <- sendUntil(done) }()
	time.Sleep(200 * time.Millisecond)
	return func() {
		close(done)
		<-ended
		_ = exec.Command("kill", fmt.Sprint(cmd.Process.Pid)).Run()
		_ = cmd.Wait()
	}, nil
}

// sendUntil sends datagrams on loopback, a hundred a millisecond at most.
func sendUntil(done <-chan struct{}) error {
	for {
		select {
		case <-done:
			return nil
		case <-time.After(time.Millisecond):
		}
		if _, err := datagrams(100).seconds(); err != nil {
			return err
		}
	}
}

// tracepoints measures a tracepoint with few numbers, and one with a text of variable length.
func (b *bench) tracepoints() error {
	for _, of := range []struct {
		event, what string
		work        workload
	}{
		{"sched:sched_wakeup", "a text of 16 bytes and three numbers", pipeLoop{cpu: 1, loops: pipeLoops}},
		{"net:net_dev_queue", "two numbers and a text of variable length", datagrams(200_000)},
	} {
		var cost, stored []float64
		for range b.few() {
			file := filepath.Join(b.tmp, "tracepoint.wprof")
			if _, _, err := traced(nil, of.work, b.tool("wprof-record"), "-v", "--stats", "-d60s", "-f", "no-sched,no-wakeup,no-samples,tp="+of.event, "-o", file); err != nil {
				return err
			}
			c, err := readCapture(file)
			if err != nil {
				return err
			}
			for _, p := range c.cost.GetPrograms() {
				if p.Name == "tracepoint_event" && p.Runs > 10_000 {
					cost = append(cost, float64(p.Ns)/float64(p.Runs))
				}
			}
			stored = append(stored, float64(c.stored)/float64(c.events))
		}
		command := "wprof-record --stats -f no-sched,no-wakeup,no-samples,tp=" + of.event
		b.add(Row{Name: "kernel program of the tracepoint " + of.event, Unit: "ns an event", Runs: cost, Command: command, Note: of.what + "; the kernel's own work for the record is not in it"})
		b.add(Row{Name: "stored bytes of an event of the tracepoint " + of.event, Unit: "bytes an event", Runs: stored, Command: command})
	}
	return nil
}

// datagrams is the number of datagrams that are sent to a port of loopback that is read.
type datagrams int

func (n datagrams) seconds() (float64, error) {
	to, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer to.Close()
	from, err := net.Dial("udp4", to.LocalAddr().String())
	if err != nil {
		return 0, err
	}
	defer from.Close()
	start := time.Now()
	for range int(n) {
		if _, err := from.Write([]byte("datagram")); err != nil {
			return 0, err
		}
	}
	return time.Since(start).Seconds(), nil
}
