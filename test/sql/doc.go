// Package sql asks every query of docs/sql.md of real captures, in DuckDB and in ClickHouse, and holds each number against
// what it finds in the JSON lines by itself.
package sql
