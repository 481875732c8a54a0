// Package page draws the pages of the console as HTML. It has the templates, the drawings that the
// server makes, the static files, and one catalogue of texts in English and Chinese.
//
// A page needs no JavaScript: what changes is a form or a link. Where there is JavaScript, htmx
// swaps the part of the page that has changed. Nothing is inline, so that a content security policy
// without unsafe-inline holds: see [Policy].
package page
