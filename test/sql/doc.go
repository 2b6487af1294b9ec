// Package sql runs every query of docs/sql.md on real captures, in DuckDB and in ClickHouse, and compares each number with
// one computed from the JSON lines.
package sql
