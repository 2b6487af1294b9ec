// Package length tests the tools with long inputs and recordings: memory must not grow with their length.
package length
