// Package httpfence carries fencing tokens over HTTP: a [Transport] adds the run's token to
// requests, and [Middleware] refuses requests with a stale one. Package fence explains fencing and
// its rules.
//
//	client := &http.Client{Transport: &httpfence.Transport{}}          // in the job
//	mux.Handle("/accounts/", httpfence.Middleware(newest, resource)(h)) // in the service
//
// # The protocol
//
// A request has its token in the header Solotick-Fencing-Token, in decimal, as requests of http
// jobs do. The middleware answers
//
//	400  with a header that is no token, or for a resource whose name is no name of a resource
//	412  when the resource has seen a higher token; the header Solotick-Newest-Token has it
//	428  without the header
//	503  when the newest token cannot be read; the client may retry
//
// with a body of application/problem+json. The Transport turns a 412 with the header
// Solotick-Newest-Token into a [fence.StaleError]; it passes on any other 412.
//
// # The gap
//
// The middleware compares before the handler runs. Between the two, and while the handler runs, the
// service can complete a request with a higher token. So the middleware refuses requests that
// arrive late, but not requests that were accepted and write late. To close the gap, compare again
// in the step that writes. The handler finds the token with [fence.FromContext]:
//
//   - database/sql: [github.com/solotick/solotick/fence/sqlfence.Table.Check] in the handler's
//     transaction. The middleware may have the same table, by
//     [github.com/solotick/solotick/fence/sqlfence.Table.In], or a [fence.Memory] that refuses most
//     stale requests without the database.
//   - Redis: a script of fence/redisfence.
//   - in the process: [fence.Memory.Do], with the middleware's Memory.
//   - another service: a request with a [Transport] and the request's context, which has the token.
//
// and answers refused writes with [Refuse].
//
// A [fence.Memory] forgets when the server restarts, and each server has its own: behind a load
// balancer, use a table.
//
// # Authentication
//
// A token is no password, and a client with a high token locks the job out. Authenticate clients
// before this middleware.
package httpfence
