// Package http is the kind of job that makes one HTTP request.
//
// The request carries the tick's identity as Idempotency-Key, the same for every attempt. Further
// headers are Solotick-Namespace, Solotick-Job, Solotick-Tick (RFC 3339 with milliseconds, UTC),
// Solotick-Fencing-Token, Solotick-Attempt and Solotick-Replica, and Solotick-Key with the key of a
// stored schedule. The payload of a trigger or a stored schedule is the body of a POST, PUT or PATCH
// for which [Call] has none, and else the header Solotick-Payload, in base64. A service that must not do the work twice keeps the key. One that must refuse a holder
// that was taken over keeps the highest token of each job, and refuses lower ones.
//
// # Outcome
//
// The status decides, once the whole response or 64 KiB of it have come. A status outside of
// [Call].Success is a [*StatusError]. Where the job's policy allows another attempt, this table
// decides whether one is made:
//
//	what came back                            another attempt
//	a status of Success                       no: the run has succeeded
//	408 Request Timeout, 425 Too Early,       yes
//	  429 Too Many Requests
//	any other status up to 499                no: the same request would be answered in the same way again
//	501 Not Implemented,                      no: likewise
//	  505 HTTP Version Not Supported
//	any other status from 500 to 599          yes
//	any other status                          no
//	more than 10 redirects                    no
//	no response, or one that breaks off:      yes
//	  a refused or lost connection, a
//	  timeout, an error of TLS or DNS
//
// A failure that is not tried again is marked with [jobs.Permanent]. A Retry-After of a response,
// in seconds or as a date, is the least wait before the next attempt, within the policy's
// MaxBackoff. A date is compared with the Date of the same response, and ignored without one: the
// clock here may not be the server's.
//
// # Long jobs
//
// A response with the header Solotick-Checkpoint, in base64url and at most 1 KiB, says where the job
// is; Solotick-Progress may say how far that is, such as "40 reading page 7". The next attempt has it
// as Solotick-Position. With [Call].Steps, a response 202 with a Retry-After is one step of the job,
// and no attempt: its checkpoint is written, and after that time the next request follows with it,
// until a response is another one, or the job's timeout has passed. The Idempotency-Key stays the
// tick's, so a service tells steps apart by their position.
//
// # Redirects
//
// Redirects are followed for GET and HEAD only, at most 10 times, and never to another host, port
// or scheme. The headers may hold secrets that are not meant for others. Any other redirect is the
// response itself, so it fails the run unless Success has its status.
//
// # Sent once
//
// net/http sends a request with an Idempotency-Key again, by itself, when a kept-alive connection
// breaks before the response. That would make two deliveries of one attempt, so the client that New
// makes opens a connection for each request. A client of the caller's own behaves as its
// transport does.
//
// # Secrets
//
// Errors name the method and the host. They hold no header, no user information, no path and no
// query of the URL: any of these may be a secret. They do hold the first KiB of text that the
// server answered.
package http
