package columns

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"wprof/format"
)

// BenchmarkWrite writes the capture that WPROF_BENCH_CAPTURE names, into WPROF_BENCH_TO if that is set.
func BenchmarkWrite(b *testing.B) {
	path := os.Getenv("WPROF_BENCH_CAPTURE")
	if path == "" {
		b.Skip("WPROF_BENCH_CAPTURE names no capture")
	}
	for b.Loop() {
		begun := time.Now()
		in, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		r, err := format.NewReader(in)
		if err != nil {
			b.Fatal(err)
		}
		var total counting
		var outs []*os.File
		done, err := Write(r, func(name string) (io.Writer, error) {
			if dir := os.Getenv("WPROF_BENCH_TO"); dir != "" {
				f, err := os.Create(filepath.Join(dir, name))
				outs = append(outs, f)
				return f, err
			}
			return bufio.NewWriter(&total), nil
		}, Options{})
		if err != nil {
			b.Fatal(err)
		}
		for _, f := range outs {
			f.Close()
		}
		took := time.Since(begun).Seconds()
		b.ReportMetric(float64(done.Events)/took/1e6, "Mevents/s")
		b.ReportMetric(float64(total.n)/float64(done.Events), "B/event")
		b.Log(fmt.Sprint(done))
		in.Close()
	}
}

type counting struct{ n int64 }

func (c *counting) Write(p []byte) (int, error) { c.n += int64(len(p)); return len(p), nil }
