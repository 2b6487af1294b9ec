// Package histogram counts amounts by powers of two.
package histogram

import (
	"iter"
	"math"
	"math/bits"
)

// Buckets is the number of counts.
const Buckets = 64

// Counts has in element 0 how many amounts were below 1, and in each other element i how many were from 2^(i-1) to below 2^i. What is
// beyond 2^64 stays there.
type Counts [Buckets]uint64

// Of returns the bucket of an amount.
func Of(amount int64) int {
	return bits.Len64(uint64(max(0, amount)))
}

// Low is the least amount of a bucket; of the first it is 0, though it has those below too.
func Low(bucket int) uint64 {
	if bucket == 0 {
		return 0
	}
	return 1 << (bucket - 1)
}

// Add adds n amounts to a bucket; those beyond the last count there.
func (c *Counts) Add(bucket int, n uint64) {
	at := &c[min(bucket, Buckets-1)]
	*at = Sum(*at, n)
}

// Sum adds without overflow.
func Sum(a, b uint64) uint64 {
	sum, carry := bits.Add64(a, b, 0)
	return sum | -carry
}

// Merge adds the amounts of other counts.
func (c *Counts) Merge(other *Counts) {
	for i, n := range other {
		c.Add(i, n)
	}
}

// AddAll adds the counts of buckets in their order.
func (c *Counts) AddAll(counts iter.Seq[uint64]) {
	i := 0
	for n := range counts {
		c.Add(i, n)
		i++
	}
}

// Total returns the number of amounts.
func (c *Counts) Total() (n uint64) {
	for _, one := range c {
		n = Sum(n, one)
	}
	return n
}

// Most returns the largest count.
func (c *Counts) Most() (n uint64) {
	for _, one := range c {
		n = max(n, one)
	}
	return n
}

// Range returns the first and the last bucket with amounts; false: there is none.
func (c *Counts) Range() (first, last int, ok bool) {
	first = Buckets
	for i, n := range c {
		if n > 0 {
			first, last = min(first, i), i
		}
	}
	return first, last, first < Buckets
}

// Quantile estimates the amount that a share q of all does not exceed, as if those of each bucket were spread evenly. It is in the bucket
// in which that amount was. 0: there is none.
func (c *Counts) Quantile(q float64) float64 {
	var total, before float64
	for _, n := range c {
		total += float64(n)
	}
	rank, largest := max(1, math.Ceil(q*total)), 0.0
	for i, one := range c {
		n := float64(one)
		if one == 0 {
			continue
		}
		low := float64(Low(i))
		if largest = max(low, 2*low-1); rank <= before+n {
			return math.Round(low + (largest-low)*(rank-before)/n)
		}
		before += n
	}
	return largest
}
