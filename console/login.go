package console

import (
	"log/slog"
	"net/http"
	"net/url"
	"strings"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
)

func (q *request) static() *problem {
	q.w.Header().Del("Cache-Control")
	page.Static().ServeHTTP(q.w, q.r)
	return nil
}

// orLogin sends a browser without a session to the login form, and answers others with the problem.
func (q *request) orLogin(p *problem) *problem {
	if p.Status != http.StatusUnauthorized || q.api || q.format != asHTML || q.r.Method != http.MethodGet && q.r.Method != http.MethodHead ||
		len(q.r.Header.Values("Authorization")) > 0 {
		return p
	}
	next := q.r.URL.Path
	if q.r.URL.RawQuery != "" {
		next += "?" + q.r.URL.RawQuery
	}
	login := "/login?" + url.Values{"next": {next}}.Encode()
	if q.r.Header.Get("HX-Request") != "" { // a page fetches its part: the form must not take the place of that
		q.w.Header().Set("HX-Redirect", q.prefix+login)
		return p
	}
	q.redirect(login)
	return nil
}

// redirect sends the browser to a path below the console.
func (q *request) redirect(path string) {
	q.w.Header().Set("Location", q.prefix+path)
	q.w.WriteHeader(http.StatusSeeOther)
}

// safeNext returns where to go after a login: a path below the console, and no other site.
func safeNext(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || u.Opaque != "" || !isClean(u.Path) || strings.ContainsAny(next, "\\\x00\r\n\t") {
		return "/"
	}
	u.Fragment = ""
	return u.String()
}

func (q *request) loginForm() *problem {
	if q.c.tokens == nil {
		return notFound("there is nothing to log in to: no tokens are configured")
	}
	v, err := q.values()
	if err != nil {
		return problemOf(err)
	}
	return q.write(http.StatusOK, page.LoginPage{Next: safeNext(v.Get("next"))})
}

// login begins a session for who knows a token.
func (q *request) login() *problem {
	if q.c.tokens == nil {
		return notFound("there is nothing to log in to: no tokens are configured")
	}
	form, err := q.form()
	if err != nil {
		return problemOf(err)
	}
	var secret, next string
	if err := view.Read(form, "field", func(p *view.Parameters) {
		view.Checked(p, "token", &secret, view.AnyText)
		view.Checked(p, "next", &next, view.AnyText)
	}); err != nil {
		return badQuery(err)
	}
	next = safeNext(next)
	token, ok := q.c.tokens.find(strings.TrimSpace(secret))
	if !ok {
		p := q.c.wrongToken(q.r, "the token is not known")
		if q.format != asHTML {
			return p
		}
		p.headers(q.w.Header())
		return q.write(p.Status, page.LoginPage{Next: next, Failed: p.Detail})
	}
	q.c.sessions.begin(q.w, q.r, q.c.tokens, token)
	q.c.options.logger.Info("somebody has logged in to the console", slog.String("token", token.Name), slog.String("address", peerOf(q.r)))
	q.redirect(next)
	return nil
}

func (q *request) logout() *problem {
	if q.c.tokens != nil {
		q.c.sessions.end(q.w, q.r, q.c.tokens)
	}
	q.redirect("/login")
	return nil
}
