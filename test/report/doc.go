// Package report tests the answers that the tools give by default, for programs with one known illness, for healthy ones and for idle
// ones. Each measures by itself what its threads do.
package report
