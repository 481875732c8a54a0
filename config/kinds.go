package config

import (
	"net/textproto"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/solotick/solotick/jobs/exec"
	"github.com/solotick/solotick/jobs/http"
)

// The kinds of work that a job can do.

const commandShape = `a list of strings, such as [./report.sh, --full] or [sh, -c, "…"]`

var execKeys = []key[exec.Command]{
	field("command", command, func(e *exec.Command) *[]string { return &e.Args },
		"the program and its arguments; no shell is involved").needed("add " + commandShape),
	field("dir", argument, func(e *exec.Command) *string { return &e.Dir },
		"where it runs").defaultsTo("the worker's directory"),
	field("env", variables, func(e *exec.Command) *map[string]string { return &e.Env },
		"added to the worker's environment; no name starts with SOLOTICK_").hidden(),
	field("kill_grace", durationWithin(0, 0), func(e *exec.Command) *time.Duration { return &e.KillGrace },
		"from SIGTERM to SIGKILL, to the whole process group"),
}

// argument takes a string that the operating system can be given.
var argument = checked("a string", "text", "", func(s string) string {
	if strings.ContainsRune(s, 0) {
		return "must not hold the character U+0000"
	}
	return ""
})

var program = checked("a string", "text", "", func(s string) string {
	if s == "" {
		return "must name a program"
	}
	if strings.ContainsRune(s, 0) {
		return "must not hold the character U+0000"
	}
	return ""
})

var command = list[string]{
	want: commandShape, values: "a list of strings",
	size: notEmpty("is empty; write " + commandShape),
	item: func(i int) kind[string] {
		if i == 0 {
			return program
		}
		return argument
	},
}.kind()

var variables = dictionary(asWritten, func(name, text string, _ int) (ofName, ofValue string) {
	switch {
	case name == "" || strings.ContainsAny(name, "=\x00"):
		return "must be a name of an environment variable, without = in it", ""
	case strings.HasPrefix(name, "SOLOTICK_"):
		return "is set for each run, as all names with SOLOTICK_ are; choose another name", ""
	case strings.ContainsRune(text, 0):
		return "", "must not hold the character U+0000"
	}
	return "", ""
})

var (
	methods = []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
	// net/http takes these from the request's body, and drops what a header says.
	derivedHeaders = []string{"Content-Length", "Transfer-Encoding", "Trailer"}
)

var newCall = http.Call{Success: []http.StatusRange{{From: 200, To: 299}}, Timeout: defaultHTTPTimeout}

var httpKeys = []key[http.Call]{
	field("method", method, func(h *http.Call) *string { return &h.Method },
		"of the request").defaultsTo("GET, or POST with a body"),
	field("url", requestURL, func(h *http.Call) *string { return &h.URL },
		"where the request goes").needed("add one such as https://example.com/hook"),
	field("headers", headers, func(h *http.Call) *map[string]string { return &h.Headers },
		"added to those that are set for each run").hidden(),
	field("body", anyText[string]("text"), func(h *http.Call) *string { return &h.Body }, "of the request").hidden(),
	field("success", success, func(h *http.Call) *[]http.StatusRange { return &h.Success },
		"the status codes of a run that succeeded").defaultsTo("[200-299]"),
	field("steps", boolean, func(h *http.Call) *bool { return &h.Steps },
		"an answer 202 with Retry-After is one step of a long job; the job needs a timeout"),
	field("timeout", durationWithin(1, 0), func(h *http.Call) *time.Duration { return &h.Timeout }, "of one request"),
}

// chooseMethod fills in the method that depends on the body.
func chooseMethod(_ *reader, _ value, h *http.Call) {
	switch {
	case h.Method != "":
	case h.Body != "":
		h.Method = "POST"
	default:
		h.Method = "GET"
	}
}

var method = single("a method such as POST", strings.Join(methods, ", ")+", in any case", textSchema("^[A-Za-z]+$"),
	func(t text) (string, string) {
		upper := strings.ToUpper(t.string)
		if !slices.Contains(methods, upper) {
			return "", "must be one of " + strings.Join(methods, ", ")
		}
		return upper, ""
	})

var requestURL = func() kind[string] {
	k := checked("a URL such as https://example.com/hook", "absolute, http or https", "^[Hh][Tt][Tt][Pp][Ss]?://", requestURLRule)
	read := k.read
	k.read = func(r *reader, v value, to *string) bool {
		v.secret = strings.ContainsAny(v.node.Value, "@?#$") // what may come with these may be a password
		return read(r, v, to)
	}
	return k
}()

// requestURLRule returns the rule that a URL breaks; "" when it breaks none.
func requestURLRule(s string) string {
	u, err := url.Parse(s)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "":
		return "must be an absolute URL that starts with http:// or https://, such as https://example.com/hook"
	case !validPort(u.Port(), true):
		return "must have a port from 1 to 65535"
	}
	return ""
}

var headers = dictionary(textproto.CanonicalMIMEHeaderKey, func(name, text string, earlier int) (ofName, ofValue string) {
	switch {
	case name == "" || strings.ContainsFunc(name, notInHeaderName):
		return "must be a header's name: letters, digits and !#$%&'*+-.^_`|~", ""
	case earlier > 0:
		return "is written twice, first at line " + strconv.Itoa(earlier) + " (upper and lower case are the same); keep one", ""
	case name == "Idempotency-Key" || strings.HasPrefix(name, "Solotick-"):
		return "is set for each run; remove it", ""
	case slices.Contains(derivedHeaders, name):
		return "follows from the body; remove it", ""
	case strings.ContainsFunc(text, func(c rune) bool { return c < ' ' && c != '\t' || c == 0x7f }):
		return "", "must be one line without control characters"
	case name == "Host" && !isHost(text):
		return "", "must be a host, such as example.com"
	}
	return "", ""
})

func notInHeaderName(c rune) bool {
	letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
	return !letter && !strings.ContainsRune("!#$%&'*+-.^_`|~", c)
}

func isHost(s string) bool {
	u, err := url.Parse("http://" + s)
	return err == nil && s != "" && u.Host == s
}

var success = list[http.StatusRange]{
	want: "a list of status codes and ranges, such as [200-299, 404]", values: "status codes and ranges, 200 to 599",
	size: notEmpty("is empty, so no run could succeed; write one such as [200-299, 404]"),
	item: func(int) kind[http.StatusRange] { return statusRange },
}.kind()

var statusRange = single("a status code such as 204, or a range such as 200-299", "", textSchema("^[0-9]{3}(-[0-9]{3})?$"),
	func(t text) (http.StatusRange, string) {
		first, last, isRange := strings.Cut(t.string, "-")
		if !isRange {
			last = first
		}
		from, ok := parseStatus(first)
		to, ok2 := parseStatus(last)
		if !ok || !ok2 || from > to {
			return http.StatusRange{}, "must be a status code such as 204, or a range such as 200-299, from 200 to 599"
		}
		return http.StatusRange{From: from, To: to}, ""
	})

func parseStatus(s string) (int, bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil && len(s) == 3 && n >= 200 && n <= 599
}

var streamKeys = []key[RedisStream]{
	field("stream", streamKey, func(s *RedisStream) *string { return &s.Stream },
		"the stream's key in the Redis of the fleet").needed("add the key of the stream, such as events"),
	field("maxlen", number[int64](0, 0, "must be at least 0; 0 keeps every entry"), func(s *RedisStream) *int64 { return &s.MaxLen },
		"about how many entries to keep; 0 keeps all"),
	field("fields", entryFields, func(s *RedisStream) *map[string]string { return &s.Fields },
		"added to those that are set for each entry").hidden(),
}

var streamKey = checked("the key of a stream, such as events", "text without } but that of a hash tag such as {eu}", ".", func(s string) string {
	switch {
	case s == "":
		return "must be the key of a stream, such as events"
	case strings.Contains(s, "}") && !hasHashTag(s):
		return "must not hold a } outside of a hash tag such as {eu}"
	}
	return ""
})

// hasHashTag reports whether a part of key alone decides about its slot of a Redis Cluster. That
// part is the text between the first { and the first } after it, unless it is empty.
func hasHashTag(key string) bool {
	_, after, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(after, "}")
	return closed && tag != ""
}

// setFields are set in each entry of a stream.
var setFields = []string{
	"namespace", "job", "tick", "tick_unix_ms", "tick_id", "fencing_token", "attempt", "replica",
}

var entryFields = dictionary(asWritten, func(name, _ string, _ int) (ofName, ofValue string) {
	switch {
	case name == "":
		return "must not be an empty name", ""
	case slices.Contains(setFields, name):
		return "is set for each entry; choose another name", ""
	}
	return "", ""
})

var logKeys = []key[Log]{
	field("message", checked("a string", "text", `\S`, func(s string) string {
		if strings.TrimSpace(s) == "" {
			return "must not be blank"
		}
		return ""
	}), func(l *Log) *string { return &l.Message }, "what to log").needed("add what to log"),
}
