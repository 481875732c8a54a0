package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// actionRoute is an action on jobs, with the fields that its form and its JSON have.
type actionRoute struct {
	action action
	fields []string
}

// fieldPayload is no parameter of a URL: it may be secret, and proxies log those.
const fieldPayload = "payload"

var actions = []actionRoute{
	{actionPause, []string{"reason"}},
	{actionResume, []string{"reason"}},
	{actionTrigger, []string{"reason", "key", "window_ms", "request", fieldPayload}},
	{actionCancel, []string{"reason", "tick"}},
	{actionRepair, []string{"reason"}},
	{actionForget, []string{"reason"}},
}

func (a actionRoute) routes() []route {
	name := "/" + string(a.action)
	return []route{
		{method: "GET", pattern: "/jobs/{job}" + name, needs: Operate, serve: answer(a.confirm)},
		{method: "POST", pattern: "/jobs/{job}" + name, needs: Operate, serve: a.submit},
		{method: "GET", pattern: "/actions" + name, needs: Operate, serve: answer(a.confirmAll)},
		{method: "POST", pattern: "/actions" + name, needs: Operate, serve: a.submitAll},
		{method: "POST", pattern: "/api/v1/jobs/{job}" + name, needs: Operate, serve: answer(a.call)},
		{method: "POST", pattern: "/api/v1/actions" + name, needs: Operate, serve: answer(a.callAll)},
	}
}

var lockRoutes = []route{
	{method: "GET", pattern: "/locks/release", needs: Operate, serve: answer((*request).confirmRelease)},
	{method: "POST", pattern: "/locks/release", needs: Operate, serve: (*request).submitRelease},
	{method: "POST", pattern: "/api/v1/locks/release", needs: Operate, serve: answer((*request).callRelease)},
}

// checkFields returns the problem of fields that are not known, or given twice.
func checkFields(v url.Values, known []string) *problem {
	var faults []fault
	for name, list := range v {
		switch {
		case !slices.Contains(known, name):
			faults = append(faults, fault{shortened(name), shortened(list[0]), "is no field here; there are: " + strings.Join(known, ", ")})
		case len(list) > 1:
			faults = append(faults, fault{name, shortened(list[1]), "must be given once"})
		}
	}
	if faults == nil {
		return nil
	}
	slices.SortFunc(faults, func(a, b fault) int { return strings.Compare(a.Field, b.Field) })
	return badRequest(faults...)
}

// act says who acts, why, and via what.
func (q *request) act(v url.Values) fleet.Act {
	act := fleet.Act{By: q.caller.by(), Reason: oneLine(v.Get("reason")), Via: wire.ViaConsole}
	if q.api {
		act.Via = wire.ViaAPI
	}
	return act
}

// order reads what an action needs besides its job.
func (a actionRoute) order(q *request, v url.Values) (order, *problem) {
	o := order{Act: q.act(v), action: a.action, key: v.Get("key"), request: v.Get("request")}
	var faults []fault
	if rule := reasonRule(o.Reason); rule != "" {
		faults = append(faults, fault{"reason", shortened(o.Reason), rule})
	}
	if o.key != "" && !naming.Valid(o.key) {
		faults = append(faults, fault{"key", shortened(o.key), naming.Rule})
	}
	if o.request != "" && (!naming.Valid(o.request) || len(o.request) > maxRequest) {
		faults = append(faults, fault{"request", shortened(o.request), fmt.Sprintf("must have at most %d letters, digits, dots, hyphens and underscores", maxRequest)})
	}
	if o.payload = jobs.Payload(v.Get(fieldPayload)); !q.api {
		o.payload = jobs.Payload(strings.ReplaceAll(string(o.payload), "\r\n", "\n")) // as forms send the end of a line
	}
	if !protocol.ValidPayload(string(o.payload)) {
		faults = append(faults, fault{fieldPayload, fmt.Sprint(o.payload), protocol.PayloadRule})
	}
	if text := v.Get("window_ms"); text != "" {
		n, err := strconv.ParseInt(text, 10, 64)
		switch {
		case err != nil || n < 1 || n > maxWindow.Milliseconds():
			faults = append(faults, fault{"window_ms", shortened(text), fmt.Sprintf("must be a whole number from 1 to %d", maxWindow.Milliseconds())})
		case o.key == "":
			faults = append(faults, fault{"window_ms", text, "must be left out without a key"})
		}
		o.window = time.Duration(n) * time.Millisecond
	}
	if text := v.Get("tick"); text != "" {
		var rule string
		if o.tick, rule = parseTick(text); rule != "" {
			faults = append(faults, fault{"tick", shortened(text), rule})
		}
	}
	if faults != nil {
		return o, badRequest(faults...)
	}
	return o, nil
}

const (
	maxWindow  = 30 * 24 * time.Hour
	maxRequest = 100 // bytes
)

// oneLine returns a text that people typed with single spaces in place of the ends of its lines.
func oneLine(s string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s))
}

// reasonRule returns the rule that the reason of an action breaks; "" when it breaks none.
func reasonRule(s string) string {
	switch {
	case len(s) > protocol.MaxReason:
		return fmt.Sprintf("must have at most %d bytes", protocol.MaxReason)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "must be UTF-8 without control characters"
	}
	return ""
}

// parseTick reads a tick as RFC 3339 or in Unix milliseconds.
func parseTick(s string) (time.Time, string) {
	const rule = "must be a time such as 2026-11-20T01:00:00Z, or Unix milliseconds"
	t, err := time.Parse(time.RFC3339Nano, s)
	if ms, numErr := strconv.ParseInt(s, 10, 64); numErr == nil {
		t, err = time.UnixMilli(ms), nil
	}
	if err != nil || t.UnixMilli() < 1 || t.Year() > 9999 {
		return time.Time{}, rule
	}
	return t.UTC(), ""
}

// body reads the JSON of a request, an object of strings and numbers with these fields, as if it
// were a form. lists are fields with a list of strings.
func (q *request) body(known []string, lists ...string) (url.Values, *problem) {
	mediaType, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	text, readErr := io.ReadAll(q.r.Body)
	switch {
	case readErr != nil:
		return nil, bodyProblem(readErr)
	case len(bytes.TrimSpace(text)) == 0:
		return url.Values{}, nil
	case err != nil || mediaType != "application/json":
		return nil, newProblem(http.StatusUnsupportedMediaType, "Content-Type: must be application/json")
	}
	var fields map[string]any
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&fields); err != nil || decoder.More() || fields == nil {
		if err == nil {
			err = errors.New("there must be one object and nothing else")
		}
		return nil, badRequest(fault{"body", shortened(string(text)), "must be a JSON object: " + err.Error()})
	}
	return formOf(fields, known, lists)
}

func formOf(fields map[string]any, known, lists []string) (url.Values, *problem) {
	v := url.Values{}
	var faults []fault
	for name, value := range fields {
		list, isList := value.([]any)
		switch {
		case value == nil:
		case slices.Contains(lists, name) && isList:
			for i, item := range list {
				s, ok := item.(string)
				if !ok {
					faults = append(faults, fault{fmt.Sprintf("%s[%d]", name, i), shortened(fmt.Sprint(item)), "must be a string"})
				}
				v.Add(name, s)
			}
		case slices.Contains(lists, name):
			faults = append(faults, fault{name, shortened(fmt.Sprint(value)), "must be a list of strings"})
		default:
			switch value.(type) {
			case string, json.Number:
				v.Set(name, fmt.Sprint(value))
			default:
				faults = append(faults, fault{shortened(name), shortened(fmt.Sprint(value)), "must be a string or a number"})
			}
		}
	}
	single := url.Values{}
	for name, list := range v {
		if !slices.Contains(lists, name) {
			single[name] = list
		}
	}
	if p := checkFields(single, append(slices.Clone(known), lists...)); p != nil {
		faults = append(faults, p.Errors...)
	}
	if faults == nil {
		return v, nil
	}
	slices.SortFunc(faults, func(a, b fault) int { return strings.Compare(a.Field, b.Field) })
	return nil, badRequest(faults...)
}

func byteCount(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }
