package console

import (
	"context"
	"log/slog"
	"net/http"
	"path"
	"strings"

	"github.com/solotick/solotick/console/internal/page"
)

// ServeHTTP answers a request. Nothing is shown, and nothing changed, before it is known who asks.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	secure(w.Header())
	r, prefix, ok := c.below(r)
	if !ok {
		notFound("there is no such page").write(w)
		return
	}
	if r.URL.Path == "" { // links of the page need the slash
		w.Header().Set("Location", prefix+"/")
		w.WriteHeader(http.StatusPermanentRedirect)
		return
	}
	q := &request{c: c, w: w, r: r, prefix: prefix}
	if p := q.serve(); p != nil {
		q.fail(p)
	}
}

// secure sets the headers of every answer.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", page.Policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept, Cookie, Authorization")
}

// below returns the request with the path below the console, and the prefix that links to it need:
// the option's, or what [http.StripPrefix] has removed. No path of the console needs escapes other
// than the usual ones.
func (c *Console) below(r *http.Request) (_ *http.Request, prefix string, ok bool) {
	if own := c.options.prefix; own != "" {
		rest, ok := strings.CutPrefix(r.URL.Path, own)
		if !ok || rest != "" && rest[0] != '/' {
			return r, "", false
		}
		below := *r
		u := *r.URL
		u.Path, u.RawPath = rest, ""
		below.URL = &u
		return &below, own, r.URL.RawPath == "" && (rest == "" || isClean(rest))
	}
	whole, _, _ := strings.Cut(r.RequestURI, "?")
	prefix, found := strings.CutSuffix(whole, r.URL.EscapedPath())
	if !found || prefix != "" && (prefix[0] != '/' || !isClean(prefix) || strings.HasPrefix(prefix, "//")) {
		prefix = "" // the program has rewritten the request
	}
	return r, prefix, r.URL.RawPath == "" && (r.URL.Path == "" || isClean(r.URL.Path))
}

// isClean reports whether a path has no empty, . or .. element, but for a slash at its end.
func isClean(p string) bool {
	return strings.HasPrefix(p, "/") && (p == "/" || path.Clean(p) == strings.TrimSuffix(p, "/"))
}

// request is one request on its way.
type request struct {
	c      *Console
	w      http.ResponseWriter
	r      *http.Request
	prefix string
	caller Caller
	format format
	api    bool     // it is below /api/
	from   *reading // what the answer is made of; nil for what shows nothing of the fleet
}

var crossOrigin = http.NewCrossOriginProtection()

// serve finds the route, lets in who may, and answers; or returns why not.
func (q *request) serve() *problem {
	q.api = strings.HasPrefix(q.r.URL.Path, "/api/")
	if q.format = asJSON; !q.api {
		q.format = asHTML
	}
	if q.c.background.ctx.Err() != nil {
		return problemOf(errClosed)
	}
	if len(q.r.URL.RawQuery) > maxQuery {
		return newProblem(http.StatusRequestURITooLong, "the query must have at most 8192 bytes")
	}
	found, p := q.route()
	if p != nil {
		return p
	}
	if crossOrigin.Check(q.r) != nil {
		return forbidden("a page of another site has sent this request")
	}
	if !found.open {
		if q.caller, p = q.c.authenticate(q.r); p != nil {
			return q.orLogin(p)
		}
		if p = q.c.may(q.caller, found.needs); p != nil {
			return p
		}
	}
	q.r.Body = http.MaxBytesReader(q.w, q.r.Body, maxBody)
	if !found.stream {
		ctx, cancel := context.WithTimeout(q.r.Context(), q.c.options.limits.request)
		defer cancel()
		q.r = q.r.WithContext(ctx)
	}
	return found.serve(q)
}

// maxQuery bounds the query of a URL, in bytes.
const maxQuery = 8 << 10

// fail answers with a problem, in the form that the request wants.
func (q *request) fail(p *problem) {
	if p.fallback != nil {
		q.c.options.logger.Debug("a request to the console failed", slog.Int("status", p.Status), slog.Any("error", p.fallback))
	}
	q.writeProblem(p)
}
