package http

import (
	"errors"
	"fmt"
	"maps"
	nethttp "net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/jobs"
)

// defaultTimeout is the limit of a [Call] that sets none.
const defaultTimeout = time.Minute

// Call describes the request that a job makes.
type Call struct {
	// Method is one of GET, HEAD, POST, PUT, PATCH, DELETE and OPTIONS, in any case. Empty means
	// POST where there is a Body, else GET.
	Method string
	// URL is absolute, http or https. User information in it becomes basic authentication.
	URL string
	// Headers are sent as they are. Host replaces the host of the URL in the request, and
	// User-Agent the default one. The headers that describe the run, and those that net/http
	// derives from the body, cannot be set.
	Headers map[string]string
	// Body is sent as it is. It has no Content-Type unless Headers has one.
	Body string
	// Success holds the status codes that are success. Empty means 200 to 299.
	Success []StatusRange
	// Steps makes a response with the status 202 and a Retry-After one step of a long job: the next
	// request follows after that time, with the position that the response named. The job must have
	// a timeout, which limits all steps together. See "Long jobs" in the package comment.
	Steps bool
	// Timeout limits one request, from the connection to the end of the response. 0 means
	// a minute. The context of the run limits it as well.
	Timeout time.Duration
}

var (
	methods = []string{
		nethttp.MethodGet, nethttp.MethodHead, nethttp.MethodPost, nethttp.MethodPut,
		nethttp.MethodPatch, nethttp.MethodDelete, nethttp.MethodOptions,
	}
	runHeaders = []string{
		headerTickID, headerNamespace, headerJob, headerKey, headerTick, headerToken, headerAttempt, headerReplica,
		headerPayload, headerPosition,
	}
	// net/http takes these from the request's other fields, and drops what a header map says.
	derivedHeaders = []string{"Content-Length", "Transfer-Encoding", "Trailer"}
)

// normalize returns the call with its defaults filled in, in memory of its own, or every fault of
// it.
func (c Call) normalize() (Call, error) {
	var faults []error
	fault := func(field string, value any, rule string) {
		faults = append(faults, &jobs.Fault{Field: field, Value: fmt.Sprint(value), Rule: rule})
	}

	switch {
	case c.Method != "":
		c.Method = strings.ToUpper(c.Method)
	case c.Body != "":
		c.Method = nethttp.MethodPost
	default:
		c.Method = nethttp.MethodGet
	}
	if !slices.Contains(methods, c.Method) {
		fault("http.method", c.Method, "must be one of "+strings.Join(methods, ", "))
	}

	if u, err := url.Parse(c.URL); err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		fault("http.url", redact(c.URL), "must be an absolute URL, such as https://example.com/path")
	}

	headers := make(map[string]string, len(c.Headers))
	for _, name := range slices.Sorted(maps.Keys(c.Headers)) {
		field := "http.headers." + name
		canonical := nethttp.CanonicalHeaderKey(name)
		value := c.Headers[name]
		_, twice := headers[canonical]
		switch {
		case !isToken(name):
			fault(field, name, "must be a header's name: letters, digits and !#$%&'*+-.^_`|~ only")
		case twice:
			fault(field, name, "must be set once: names of headers that differ in case are the same")
		case slices.Contains(runHeaders, canonical):
			fault(field, name, "is set for each run; remove it")
		case slices.Contains(derivedHeaders, canonical):
			fault(field, name, "follows from the body; remove it")
		case !isHeaderValue(value) || (canonical == "Host" && !isHost(value)):
			fault(field, hidden, "must be one line without control characters, and a host where the name is Host")
		}
		headers[canonical] = value
	}
	c.Headers = headers

	for i, r := range c.Success {
		if r.From < 200 || r.To > 599 || r.From > r.To {
			fault(fmt.Sprintf("http.success[%d]", i), r, "must be a status or a range of them, from 200 to 599")
		}
	}
	if len(c.Success) == 0 {
		c.Success = []StatusRange{{From: 200, To: 299}}
	}
	c.Success = slices.Clone(c.Success)

	if c.Timeout < 0 {
		fault("http.timeout", c.Timeout, "must be at least 0s; 0s means "+defaultTimeout.String())
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	return c, errors.Join(faults...)
}

// hidden stands where a value may be a secret.
const hidden = "(hidden)"

// redact leaves out of a URL, also one that cannot be parsed, what may be a secret and is not
// needed to recognise it.
func redact(raw string) string {
	if at := strings.LastIndex(raw, "@"); at >= 0 {
		scheme, _, ok := strings.Cut(raw[:at], "//")
		if !ok {
			return hidden
		}
		raw = scheme + "//" + hidden + raw[at:]
	}
	if end := strings.IndexAny(raw, "?#"); end >= 0 {
		raw = raw[:end+1] + hidden
	}
	return raw
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
		return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

func isHeaderValue(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}

func isHost(s string) bool {
	u, err := url.Parse("http://" + s)
	return err == nil && s != "" && u.Host == s
}
