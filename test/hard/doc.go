// Package hard holds the tools against inputs and surroundings that are hard to get right.
package hard
