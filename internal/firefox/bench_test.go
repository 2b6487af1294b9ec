package firefox

import (
	"bytes"
	"io"
	"testing"

	"wprof/format"
	"wprof/internal/timeline/simulate"
)

func BenchmarkWrite(b *testing.B) {
	stream := simulate.Stream(b, simulate.Options{Seed: 1, CPUs: 4, Threads: 60}, 3_000)
	var events, written int64
	for b.Loop() {
		r, err := format.NewReader(bytes.NewReader(stream))
		if err != nil {
			b.Fatal(err)
		}
		done, err := Write(r, io.Discard, Options{})
		if err != nil {
			b.Fatal(err)
		}
		r.Close()
		events += done.Events
		written += done.Bytes
	}
	b.ReportMetric(float64(events)/b.Elapsed().Seconds()/1e6, "Mevents/s")
	b.ReportMetric(float64(written)/float64(events), "B/event")
}
