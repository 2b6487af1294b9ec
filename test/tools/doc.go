// Package tools lets tests use the product as its users do: by its built binaries, its pipes and its exit statuses.
package tools
