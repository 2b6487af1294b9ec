// Package length holds the tools against inputs and recordings that are long: memory must not grow with them.
package length
