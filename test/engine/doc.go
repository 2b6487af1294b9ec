// Package engine queries traces with Perfetto's own trace processor, so that tests check what the interface will show and
// not what our encoder meant. query.mjs beside it runs SQL in the engine that scripts/fetch-engine downloads.
package engine
