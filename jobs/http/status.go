package http

import (
	"bytes"
	"fmt"
	nethttp "net/http"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/solotick/solotick/jobs"
)

// StatusRange is a range of status codes, both ends included.
type StatusRange struct{ From, To int }

func (r StatusRange) String() string {
	if r.From == r.To {
		return strconv.Itoa(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

func (c Call) succeeded(code int) bool {
	return slices.ContainsFunc(c.Success, func(r StatusRange) bool { return r.From <= code && code <= r.To })
}

// StatusError is the failure of a run whose response has a status outside of [Call].Success.
type StatusError struct {
	Code int
	Body string        // the first KiB of the response on one line; empty unless it is text
	Wait time.Duration // how long the server asked to wait, in Retry-After, at most 24h; 0 if it did not
}

func (e *StatusError) Error() string {
	text := "status " + strconv.Itoa(e.Code)
	if name := nethttp.StatusText(e.Code); name != "" {
		text += " " + name
	}
	if 300 <= e.Code && e.Code <= 399 {
		text += " (redirects are followed for GET and HEAD on the same host only; use the URL that it leads to)"
	}
	if e.Body != "" {
		text += ": " + e.Body
	}
	return text
}

// RetryAfter returns Wait; package jobs waits at least so long before another attempt.
func (e *StatusError) RetryAfter() time.Duration { return e.Wait }

// newStatusError makes the error of a response whose body starts with body. It is permanent where
// the same request would get the same answer.
func newStatusError(response *nethttp.Response, body []byte) error {
	err := &StatusError{Code: response.StatusCode, Body: oneLine(body), Wait: askedWait(response.Header)}
	if retryable(err.Code) {
		return err
	}
	return jobs.Permanent(err)
}

// retryable reports whether a status that is no success may be another one next time. The table is
// in the package comment.
func retryable(code int) bool {
	switch code {
	case nethttp.StatusRequestTimeout, nethttp.StatusTooEarly, nethttp.StatusTooManyRequests:
		return true
	case nethttp.StatusNotImplemented, nethttp.StatusHTTPVersionNotSupported:
		return false
	}
	return 500 <= code && code <= 599
}

// askedWait reads Retry-After. A date in it is compared with that of the response, which the same
// clock has written. Without one it is ignored, for the clock here may differ from the server's.
func askedWait(header nethttp.Header) time.Duration {
	const longest = 24 * time.Hour // no policy waits longer
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return time.Duration(min(max(seconds, 0), int(longest/time.Second))) * time.Second
	}
	until, err := nethttp.ParseTime(value)
	now, dateErr := nethttp.ParseTime(header.Get("Date"))
	if err != nil || dateErr != nil {
		return 0
	}
	return min(max(until.Sub(now), 0), longest)
}

// oneLine returns a body as one line for a log, and "" for a body that is not text, such as an
// image.
func oneLine(body []byte) string {
	body = body[:min(len(body), maxErrorText)]
	if !strings.HasPrefix(nethttp.DetectContentType(body), "text/") {
		return ""
	}
	text := string(bytes.ToValidUTF8(body, nil)) // the cut may have gone through a character
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return strings.Join(strings.Fields(text), " ")
}
