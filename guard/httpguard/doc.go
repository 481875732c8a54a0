// Package httpguard carries fencing tokens over HTTP: a [Transport] adds the run's token to requests, and [Middleware]
// refuses those with a stale one. What fencing is, and its rules, is in package guard.
//
//	client := &http.Client{Transport: &httpguard.Transport{}}          // in the job
//	mux.Handle("/accounts/", httpguard.Middleware(newest, resource)(h)) // in the service
//
// # What is said
//
// A request has its token in the header Solotick-Fencing-Token, in decimal, as those of http jobs have it. It is answered
//
//	400  with a header that is no token, or for a resource whose name [guard.Validate] refuses
//	412  when the resource has seen a higher token; the header Solotick-Newest-Token says which
//	428  without the header
//	503  when the newest token could not be asked for; it may be tried again
//
// with a body of application/problem+json. The Transport turns a 412 with the header Solotick-Newest-Token into a
// [guard.StaleError]; a 412 without it is somebody else's, and an answer like any other.
//
// # The gap
//
// The middleware compares before the handler runs. Between the two, and while the handler runs, a request with a higher
// token may come and be done. So the middleware keeps away requests that come late, and not those that were let in and write
// late. To close the gap, compare once more in the step that writes. The handler finds the token with [guard.FromContext]:
//
//   - database/sql: [github.com/solotick/solotick/guard/sqlguard.Table.Check] in the handler's transaction. The middleware may have
//     the same table, by [github.com/solotick/solotick/guard/sqlguard.Table.In], or a [guard.Memory] that only saves the database the
//     obvious cases.
//   - Redis: a script of guard/redisguard.
//   - in the process: [guard.Memory.Do], with the middleware's Memory.
//   - another service: a request with a [Transport] and the request's context, which has the token.
//
// and answers what they refuse with [Refuse].
//
// A [guard.Memory] forgets when the server restarts, and each server has its own: behind a load balancer take a table.
//
// # Who may ask
//
// A token is no password. Let the middleware run behind the one that knows who is asking: whoever may send a high token locks
// the job out.
package httpguard
