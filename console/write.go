package console

import (
	"bytes"
	"compress/gzip"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/internal/joined"
	"github.com/solotick/solotick/jobs"
)

// write answers with the page, in the form that the request wants.
func (q *request) write(status int, shown any) *problem {
	var body bytes.Buffer
	var err error
	switch q.format {
	case asJSON:
		var text []byte
		text, err = marshal(shown)
		body.Write(text)
	case asText:
		shown, ok := shown.(view.Page)
		if !ok {
			return newProblem(http.StatusNotAcceptable, "this has no form as plain text")
		}
		body.WriteString(shown.PlainText())
	case asHTML:
		err = page.Render(&body, q.context(shown), shown)
	}
	if err != nil {
		return q.unwritable(err)
	}
	contentType := string(q.format)
	if q.format != asJSON {
		contentType += "; charset=utf-8"
	}
	q.send(status, contentType, body.Bytes(), nil)
	return nil
}

const htmlType = string(asHTML) + "; charset=utf-8"

// unwritable is the problem of a page that cannot be written.
func (q *request) unwritable(err error) *problem {
	q.c.options.logger.Error("a page cannot be written", slog.String("path", q.r.URL.Path), slog.Any("error", err))
	return newProblem(http.StatusInternalServerError, "this page cannot be written; the log says why")
}

// send answers with a body, compressed where that is worth it and the client takes it: by zipped
// where that is not nil. No page has a secret that somebody could guess by the length of the body.
func (q *request) send(status int, contentType string, body []byte, zipped func() []byte) {
	q.w.Header().Set("Content-Type", contentType)
	q.w.Header().Add("Vary", "Accept-Encoding")
	if len(body) >= minCompressed && page.AcceptsGzip(q.r.Header.Get("Accept-Encoding")) {
		q.w.Header().Set("Content-Encoding", "gzip")
		if zipped == nil {
			zipped = func() []byte { return compressed(body) }
		}
		body = zipped()
	}
	q.w.WriteHeader(status)
	if q.r.Method != http.MethodHead {
		_, _ = q.w.Write(body) // the client may be gone
	}
}

// minCompressed is from how many bytes on a body is compressed.
const minCompressed = 2 << 10

func compressed(body []byte) []byte { return page.Compressed(body, gzip.BestSpeed) }

// context has the facts that a page needs besides its view.
func (q *request) context(shown any) page.Context {
	v, _ := url.ParseQuery(q.r.URL.RawQuery) // its faults were returned before, or it is not shown
	c := page.Context{
		Prefix: q.prefix, Path: q.r.URL.Path, Query: v, Lang: q.language(v), Zone: v.Get("zone"),
		Stranger: q.caller.Role == "", Login: q.c.tokens != nil, Operate: q.c.may(q.caller, Operate) == nil,
	}
	if !c.Stranger {
		c.Namespace = q.c.fleet.Namespace()
	}
	c.ReadOnly = q.caller.Role != "" && !c.Operate
	if c.Login {
		c.User = q.caller.Name
	}
	if q.from != nil {
		c.Now = q.from.now()
	}
	_, confirms := shown.(page.ConfirmPage)
	_, edits := shown.(page.EditPage)
	if q.from != nil && !confirms && !edits { // a form in which somebody writes is not updated
		c.Events = q.prefix + "/events?after=" + q.c.events.id(q.from.seq)
	}
	return c
}

// writeProblem answers with a problem.
func (q *request) writeProblem(p *problem) {
	if q.format == asJSON {
		p.write(q.w)
		return
	}
	p.headers(q.w.Header())
	if q.format == asText {
		q.send(p.Status, string(asText)+"; charset=utf-8", []byte(p.Error()+"\n"), nil)
		return
	}
	if q.caller.Role == "" && len(q.r.Header.Values("Authorization")) == 0 {
		q.caller, _ = q.c.authenticate(q.r) // what has no route asks nobody
	}
	if q.write(p.Status, page.ErrorPage{Status: p.Status, Title: p.Title, Detail: p.Detail, Faults: p.Errors}) != nil {
		p.write(q.w)
	}
}

// badQuery returns the problem of a query with faults.
func badQuery(err error) *problem {
	var faults []page.Fault
	for _, err := range joined.Errors(err) {
		if f, ok := errors.AsType[*jobs.Fault](err); ok {
			faults = append(faults, fault(f.Field, f.Value, f.Rule))
			continue
		}
		faults = append(faults, fault("query", "", err.Error()))
	}
	return badRequest(faults...)
}

// shortened returns the beginning of a text from elsewhere, for a message.
func shortened(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most]
		for len(s) > 0 && !utf8.ValidString(s) && len(s) > most-utf8.UTFMax {
			s = s[:len(s)-1]
		}
		s += "..."
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
