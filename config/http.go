package config

import (
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

var (
	methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	// net/http takes these from the request's body, and drops what a header says.
	derivedHeaders = []string{"Content-Length", "Transfer-Encoding", "Trailer"}
)

// http reads a job's request. What it returns is sound only if no fault was noted.
func (r *reader) http(v value) *HTTP {
	h := &HTTP{Success: []StatusRange{{From: 200, To: 299}}, Timeout: defaultHTTPTimeout}
	hasURL := false
	ok := r.fields(v, keys{
		"method":  func(v value) { r.method(v, &h.Method) },
		"url":     func(v value) { hasURL = true; r.requestURL(v, &h.URL) },
		"headers": func(v value) { h.Headers = r.headers(v) },
		"body":    func(v value) { v.secret = true; readString(r, v, &h.Body) },
		"success": func(v value) { r.success(v, &h.Success) },
		"timeout": func(v value) { r.durationWithin(v, &h.Timeout, 1, 0) },
	})
	if ok && !hasURL {
		r.missing(v, "url", "add one such as https://example.com/hook")
	}
	if h.Method == "" {
		h.Method = "GET"
		if h.Body != "" {
			h.Method = "POST"
		}
	}
	return h
}

func (r *reader) method(v value, to *string) {
	t, ok := r.text(v, "a method such as POST")
	if !ok {
		return
	}
	if method := strings.ToUpper(t.string); slices.Contains(methods, method) {
		*to = method
		return
	}
	r.fault(v, "must be one of %s", strings.Join(methods, ", "))
}

func (r *reader) requestURL(v value, to *string) {
	v.secret = strings.ContainsAny(v.node.Value, "@?#") // what may come with these may be a password
	t, ok := r.text(v, "a URL such as https://example.com/hook")
	if !ok {
		return
	}
	u, err := url.Parse(t.string)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		r.fault(v, "must be an absolute URL that starts with http:// or https://, such as https://example.com/hook")
	case !validPort(u.Port(), true):
		r.fault(v, "must have a port from 1 to 65535")
	default:
		*to = t.string
	}
}

func (r *reader) headers(v value) map[string]string {
	v.secret = true
	var headers map[string]string
	lines := map[string]int{}
	r.dictionary(v, func(e entry, text string) {
		name := textproto.CanonicalMIMEHeaderKey(e.key)
		if rule := headerRule(name, lines[name]); rule != "" {
			r.wrongKey(e, rule)
		} else if strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }) {
			r.fault(e.value, "must be one line without control characters")
		} else if name == "Host" && !isHost(text) {
			r.fault(e.value, "must be a host, such as example.com")
		}
		headers = with(headers, e.key, text)
		lines[name] = e.value.key.Line
	})
	return headers
}

// headerRule says what is wrong with the canonical name of a header, which line has already unless that is 0.
func headerRule(name string, line int) string {
	switch {
	case name == "" || strings.ContainsFunc(name, notInHeaderName):
		return "must be a header's name: letters, digits and !#$%&'*+-.^_`|~"
	case line > 0:
		return "is written twice, first at line " + strconv.Itoa(line) + " (upper and lower case are the same); keep one"
	case name == "Idempotency-Key" || strings.HasPrefix(name, "Solotick-"):
		return "is set for each run; remove it"
	case slices.Contains(derivedHeaders, name):
		return "follows from the body; remove it"
	}
	return ""
}

func notInHeaderName(c rune) bool {
	letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

func isHost(s string) bool {
	u, err := url.Parse("http://" + s)
	return err == nil && s != "" && u.Host == s
}

// success reads status codes and ranges of them.
func (r *reader) success(v value, to *[]StatusRange) {
	items, ok := r.list(v, "a list of status codes and ranges, such as [200-299, 404]")
	if !ok {
		return
	}
	if len(items) == 0 {
		r.fault(v, "is empty, so no run could succeed; write one such as [200-299, 404]")
		return
	}
	ranges := make([]StatusRange, 0, len(items))
	for _, item := range items {
		t, ok := r.text(item, "a status code such as 204, or a range such as 200-299")
		if !ok {
			continue
		}
		codes, ok := parseStatusRange(t.string)
		if !ok {
			r.fault(item, "must be a status code such as 204, or a range such as 200-299, from 200 to 599")
		}
		ranges = append(ranges, codes)
	}
	*to = ranges
}

func parseStatusRange(s string) (StatusRange, bool) {
	first, last, isRange := strings.Cut(s, "-")
	if !isRange {
		last = first
	}
	from, ok := parseStatus(first)
	to, ok2 := parseStatus(last)
	return StatusRange{From: from, To: to}, ok && ok2 && from <= to
}

func parseStatus(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 3 && n >= 200 && n <= 599
}
