// Package page drives a page in a headless Chromium, so that tests use a page as people do, by mouse and keyboard,
// and check what is then shown. Chromium and Node.js have to be installed.
package page
