// Package debuginfod is a client of debuginfod servers, which give out programs and debug files by build-id (elfutils,
// debuginfod(8): GET /buildid/HEX/executable and /buildid/HEX/debuginfo).
//
// It follows the same environment variables as elfutils' client and shares its cache: $DEBUGINFOD_CACHE_PATH/HEX/debuginfo and so on,
// with an empty file for what no server had.
//
// Servers are not trusted: what they send is bounded in size and time, and kept only if it has the wanted build-id.
package debuginfod
