// Package packets makes packets of many kinds, and sends them between two devices of a network namespace of its own.
package packets
