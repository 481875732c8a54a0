// Package browser tests the console in a real Chromium, over fleets of real workers. It is a module
// of its own, so that programs which use the others get nothing of it.
//
// Chromium is driven over its own pipe by a few lines: see docs/adr.
package browser
