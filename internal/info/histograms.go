package info

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"wprof/internal/cli"
	"wprof/internal/histogram"
)

// maxBar is the length of the longest bar of a histogram.
const maxBar = 40

// histogramRows returns a row for each bucket between the first and the last one with amounts.
func histogramRows(c *histogram.Counts, unit string) (rows [][]string) {
	first, last, ok := c.Range()
	if !ok {
		return nil
	}
	total, most := float64(c.Total()), float64(c.Most())
	for i := first; i <= last; i++ {
		bar := strings.Repeat("#", int(math.Ceil(maxBar*float64(c[i])/most)))
		from, to := bucketRange(i, unit)
		rows = append(rows, []string{from, to, cli.Grouped(c[i]), percent(float64(c[i]), total), bar})
	}
	return rows
}

// bucketRange returns the least amount of a bucket, and below what they are.
func bucketRange(bucket int, unit string) (from, to string) {
	low := histogram.Low(bucket)
	switch {
	case bucket == histogram.Buckets-1:
		return amount(float64(low), unit), "or more"
	case bucket > 0:
		return amount(float64(low), unit), "to " + amount(float64(2*low), unit)
	case unit == "ns":
		return "0 ns", "to 1 ns"
	}
	return "", "below " + amount(1, unit)
}

// amount writes a number of a unit; those without one as whole numbers from 100 on.
func amount(n float64, unit string) string {
	negative := ""
	if n < 0 {
		negative, n = "-", -n
	}
	switch whole := math.Round(n); {
	case n >= math.MaxUint64:
		return negative + fmt.Sprintf("%.3g", n)
	case unit == "ns" && n < math.MaxInt64:
		return negative + brief(int64(whole))
	case unit == "bytes":
		return negative + size(uint64(whole))
	case n < 100 && n != whole:
		return negative + fmt.Sprintf("%.2f", n)
	default:
		return negative + cli.Grouped(uint64(whole))
	}
}

// quantiles are percentiles of which a table has columns.
func quantiles() []float64 { return []float64{0.5, 0.9, 0.99} }

// percentiles returns those of amounts as a table has them; none without amounts.
func percentiles(c *histogram.Counts, unit string) (cells []string) {
	if c.Total() == 0 {
		return nil
	}
	for _, q := range quantiles() {
		cells = append(cells, amount(c.Quantile(q), unit))
	}
	return cells
}

// heatmap has counts by time and bucket. Columns become longer, so that there are at most maxColumns.
type heatmap struct {
	from    int64 // when the first column begins, CLOCK_MONOTONIC ns
	length  int64 // of a column, ns
	columns [][histogram.Buckets]float64
}

const (
	maxColumns = 60
	// shortestColumn doubles to a second.
	shortestColumn = int64(time.Second) / 64
)

// add spreads counts evenly over the time from one moment to another.
func (h *heatmap) add(from, to int64, c *histogram.Counts) {
	first, last, ok := c.Range()
	if !ok {
		return
	}
	from = max(from, h.from)
	to = max(to, from)
	end := h.column(max(from, to-1))
	for n := h.column(from); n <= end; n++ {
		at := h.from + int64(n)*h.length
		share := 1.0
		if to > from {
			share = float64(min(to, at+h.length)-max(from, at)) / float64(to-from)
		}
		for i := first; i <= last; i++ {
			h.columns[n][i] += share * float64(c[i])
		}
	}
}

// addOne counts an amount at a moment.
func (h *heatmap) addOne(at, amount int64) {
	n := h.column(max(at, h.from))
	h.columns[n][histogram.Of(amount)]++
}

// column returns the column of a time, and makes it.
func (h *heatmap) column(at int64) int {
	for (at-h.from)/h.length >= maxColumns {
		h.double()
	}
	n := int((at - h.from) / h.length)
	for len(h.columns) <= n {
		h.columns = append(h.columns, [histogram.Buckets]float64{})
	}
	return n
}

// double merges each two columns.
func (h *heatmap) double() {
	h.length *= 2
	for n, of := range h.columns {
		if n%2 == 0 {
			h.columns[n/2] = of
			continue
		}
		for i := range of {
			h.columns[n/2][i] += of[i]
		}
	}
	h.columns = h.columns[:(len(h.columns)+1)/2]
}

// shades are from none to most.
const shades = " .:-=+*#%@"

// leastShown is the share of an event that is seen: intervals do not end exactly where columns do.
const leastShown = 0.05

// shade returns the character of a count. Each stands for a multiple of the one before, so that few are seen beside many.
func shade(n, most float64) byte {
	if n < leastShown {
		return shades[0]
	}
	most = max(2, most)
	return shades[1+int(math.Round((float64(len(shades))-2)*math.Log(min(max(1, n), most))/math.Log(most)))]
}

// tick is the number of columns between two times on the axis.
const tick = 10

// lines returns the map as text: a line for each bucket, the largest amounts first, and the axis below.
func (h *heatmap) lines(unit string) (lines []string) {
	first, last, most := histogram.Buckets, 0, 0.0
	for _, of := range h.columns {
		for i, n := range of {
			if n >= leastShown {
				first, last, most = min(first, i), max(last, i), max(most, n)
			}
		}
	}
	if first > last {
		return nil
	}
	most = max(2, most) // the first shade is one event, the last one more
	var labels []string
	width := 0
	for i := last; i >= first; i-- {
		from, to := bucketRange(i, unit)
		labels = append(labels, strings.TrimSpace(from+" "+to))
		width = max(width, len(labels[len(labels)-1]))
	}
	for n, label := range labels {
		row := make([]byte, len(h.columns))
		for at := range row {
			row[at] = shade(h.columns[at][last-n], most)
		}
		lines = append(lines, fmt.Sprintf("  %*s |%s|", width, label, row))
	}
	lines = append(lines, strings.Repeat(" ", width+3)+h.axis())
	return append(lines, fmt.Sprintf("  a column is %s; '%c' is up to 1 event, '%c' about %s", brief(h.length), shades[1], shades[len(shades)-1], cli.Grouped(uint64(math.Round(most)))))
}

// print prints the map, unless it has one column: that is a histogram.
func (h *heatmap) print(w io.Writer, unit string) {
	if len(h.columns) < 2 {
		return
	}
	fmt.Fprintln(w)
	for _, line := range h.lines(unit) {
		fmt.Fprintln(w, line)
	}
}

// axis returns the times below the columns.
func (h *heatmap) axis() string {
	var b strings.Builder
	at := "0 s"
	for n := 0; n < len(h.columns); n += tick {
		if n > 0 {
			at = brief(int64(n) * h.length)
		}
		fmt.Fprintf(&b, "|%-*s", tick-1, at)
	}
	return strings.TrimRight(b.String(), " ")
}
