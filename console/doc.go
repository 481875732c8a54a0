// Package console shows a fleet to people and programs: web pages, an API, and a stream of what
// changes.
//
//	c, err := console.New(store, console.WithTokens(console.Token{Name: "ops", Role: console.Operate, File: "/run/secrets/ops"}))
//	mux.Handle("/cron/", http.StripPrefix("/cron", c))
//	server.RegisterOnShutdown(c.Close)
//
// Every page works without JavaScript. Its URL answers with HTML, JSON or text, by the Accept
// header, or with .json or .txt at the end of its path. The API is at /api/v1, and describes itself
// at /api/v1/openapi.yaml. Errors are problem documents (RFC 9457).
//
// # Who may
//
// A caller has the role [Read] or [Operate]. With [WithTokens] each request needs a bearer token,
// or the session of a browser that has logged in with one. With [WithAccess] the program decides.
// Without both the console answers only requests from this machine to a loopback address of it, by
// the name localhost or that address, and changes nothing. What changes something is a POST, and
// none that the page of another site has sent.
//
// # Reads of the store
//
// Nothing, while nobody looks. Otherwise it reads the fleet once for all who look, at most once a
// second and for a fifth of the time. The first time it reads all records, then at most 200 for
// each second: see [fleet.Monitor]. It learns from the store which jobs others trigger, pause,
// resume or cancel. Tabs that show the same share one page of a reading. While there are streams it reads again and again, and sends
// the differences as events. While the store does not answer, pages show the last reading for ten
// minutes, and say so. Pages of one tick, of the audit log and of forms do not; the API answers
// with 503.
//
// A stream can be resumed from the id of an event for as long as the newest 1024 are kept in
// memory. An id that is too old, or of another process, is answered with the event reset: start
// over. There are 2000 streams at most. With [WithTokens] or [WithAccess] each caller has 500 of
// them at most, and 500 are for those who operate. A client that takes nothing for 10 s is dropped.
package console
