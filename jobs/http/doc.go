// Package http is the kind of job that makes one HTTP request.
//
// The request carries the tick's identity as Idempotency-Key, the same for every attempt, and what else a run is told:
// Solotick-Namespace, Solotick-Job, Solotick-Tick (RFC 3339 with milliseconds, UTC), Solotick-Fencing-Token,
// Solotick-Attempt and Solotick-Replica. A service that must not do the work twice keeps the key; one that must not be
// written to by a holder that was taken over keeps the highest token of each job, and refuses lower ones.
//
// # Outcome
//
// The status decides, once the response has come whole or 64 KiB of it have. One outside of [Call].Success is a
// [*StatusError]. Those from 400 to 499 are permanent, for the same request would be refused again, but for 408 (request
// timeout), 425 (too early) and 429 (too many requests). Everything else, such as a refused connection, a timeout or a
// 503, is retried where the job's policy allows it; a Retry-After in seconds lengthens the wait, up to the policy's
// MaxBackoff. One that is a date is ignored, because it would have to be compared with a clock that may be wrong.
//
// # Redirects
//
// They are followed for GET and HEAD only, at most 10 times, and never to another host, port or scheme: the headers may
// hold secrets that are not meant for others. Any other redirect is the response itself, so it fails the run unless
// Success has its status.
//
// # Sent once
//
// net/http sends a request with an Idempotency-Key again, by itself, when a kept-alive connection breaks before the
// response. That would make two deliveries of one attempt, so the client that New makes opens a connection for each
// request. A client of the caller's own does what its transport does.
//
// # Secrets
//
// Errors name the method and the host. They hold no header, no user information, no path and no query of the URL: any of
// these may be a secret. They do hold the first KiB of text that the server answered.
package http
