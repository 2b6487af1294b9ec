package info

import (
	"fmt"
	"strconv"
	"strings"

	"wprof/internal/cli"
	"wprof/internal/printable"
)

// size writes a number of bytes for people: 12.3 MB, in steps of 1,000.
func size[T int64 | uint64](n T) string {
	v, unit := float64(n), 0
	units := [...]string{"B", "kB", "MB", "GB", "TB", "PB", "EB"}
	for v >= 999.95 && unit < len(units)-1 {
		v, unit = v/1000, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d B", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[unit])
}

// seconds writes nanoseconds as seconds: 5.000 s; very small ones as microseconds.
func seconds(ns int64) string {
	if ns != 0 && ns > -1e6 && ns < 1e6 {
		return fmt.Sprintf("%.1f us", float64(ns)/1e3)
	}
	whole := fmt.Sprintf("%.3f", float64(ns)/1e9)
	digits, fraction, _ := strings.Cut(whole, ".")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || n == 0 {
		return whole + " s"
	}
	return cli.Grouped(n) + "." + fraction + " s"
}

// percent writes a share. Less than the whole is never 100.0%.
func percent(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	share := 100 * part / whole
	if part < whole {
		share = min(share, 99.9)
	}
	return fmt.Sprintf("%.1f%%", share)
}

// name makes a name from a capture safe to print: it may have any bytes, and some control a terminal.
func name[T string | []byte](raw T) string {
	s := string(raw)
	if s != "" && printable.Is(s) {
		return s
	}
	return strconv.Quote(s)
}
