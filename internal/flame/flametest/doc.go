// Package flametest makes profiles and graphs for tests.
package flametest
