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
	"strings"
	"time"

	"github.com/solotick/solotick/console/internal/page"
	"github.com/solotick/solotick/console/internal/view"
	"github.com/solotick/solotick/fleet"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
	"github.com/solotick/solotick/jobs"
)

// order is an action as a caller asks for it: by the URL of a form, by a form, or by JSON.
type order struct {
	fleet.Act
	action page.Action
	bulk   bool // it is for several jobs
	asked  bool // by a URL: nothing is done yet
	zone   string

	key     string        // of a trigger
	window  time.Duration // of the key
	request string        // of a trigger: identifies one that may be sent twice
	payload jobs.Payload  // of a trigger
	again   time.Time     // the tick that a trigger runs again; zero for none
	anyway  string        // "true" for one that may have run, or is not known
	tick    time.Time     // of a cancel; zero for the tick that runs, or else the one that waits

	revision string // of the schedule that is to be deleted

	lock  string // to be released
	token int    // of the grant that is to end

	jobs   []string       // in bulk, of the API
	filter view.JobFilter // in bulk, of a form, with the digest of the jobs that it chose
	digest string
}

const (
	maxWindow  = 30 * 24 * time.Hour
	maxRequest = 100 // bytes
	maxNamed   = 1000
)

// bind names the values of an order.
func (o *order) bind(p *view.Parameters) {
	view.Checked(p, "reason", &o.Reason, func(s string) string { return view.TextRule(oneLine(s), protocol.MaxReason) })
	o.Reason = oneLine(o.Reason)
	switch {
	case o.bulk && o.Via == wire.ViaAPI:
		p.Names("jobs", &o.jobs, maxNamed)
		p.Required("jobs")
	case o.bulk:
		o.filter.Bind(p)
		view.Checked(p, "digest", &o.digest, view.AnyText)
	}
	if o.asked {
		p.Zone(&o.zone)
	}
	switch o.action {
	case page.Trigger:
		o.bindTrigger(p)
	case page.Cancel:
		if !o.bulk {
			p.Time("tick", &o.tick)
		}
	case page.Release:
		view.Checked(p, "name", &o.lock, lockRule)
		p.Required("name")
		p.Number("token", &o.token, 1, 1<<53-1, 0)
		p.Required("token")
	case page.Delete:
		view.Checked(p, "revision", &o.revision, view.AnyText)
		if !o.asked {
			p.Required("revision")
		}
	case page.Pause, page.Resume, page.Repair, page.Forget:
	}
}

// bindTrigger names the values of a trigger. Its payload is no parameter of a URL: it may be secret,
// and proxies log those.
func (o *order) bindTrigger(p *view.Parameters) {
	view.Checked(p, "request", &o.request, func(s string) string {
		if !naming.Valid(s) || len(s) > maxRequest {
			return fmt.Sprintf("must have at most %d letters, digits, dots, hyphens and underscores", maxRequest)
		}
		return ""
	})
	if o.bulk {
		return
	}
	p.Time("again", &o.again)
	view.Checked(p, "anyway", &o.anyway, func(s string) string {
		if s != "true" && s != "false" {
			return "must be true or false"
		}
		return ""
	})
	view.Checked(p, "key", &o.key, view.NameRule)
	ms := int(o.window.Milliseconds())
	p.Number("window_ms", &ms, 1, int(maxWindow.Milliseconds()), 0)
	if o.window = time.Duration(ms) * time.Millisecond; ms > 0 && o.key == "" {
		p.Fault("window_ms", fmt.Sprint(ms), "must be left out without a key")
	}
	if !o.asked {
		view.Checked(p, "payload", &o.payload, func(s jobs.Payload) string {
			if !protocol.ValidPayload(string(s)) {
				return protocol.PayloadRule
			}
			return ""
		})
	}
}

func lockRule(s string) string {
	if !protocol.ValidName(s) {
		return protocol.NameRule
	}
	return ""
}

// oneLine returns a text that people typed with single spaces in place of the ends of its lines.
func oneLine(s string) string {
	return strings.TrimSpace(strings.NewReplacer("\r\n", " ", "\n", " ", "\t", " ").Replace(s))
}

// fields returns the values of an order but its reason, as fields that nobody sees.
func (o *order) fields() (list []page.Field) {
	for name, values := range view.Write(o.bind) {
		if name != "reason" && name != "zone" {
			list = append(list, page.Field{Name: name, Value: values[0]})
		}
	}
	slices.SortFunc(list, func(a, b page.Field) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// order reads what a request asks to be done.
func (q *request) order(action page.Action, bulk bool) (order, error) {
	o := order{action: action, bulk: bulk, asked: q.r.Method != http.MethodPost}
	o.By, o.Via = q.caller.by(), wire.ViaConsole
	var values url.Values
	var err error
	noun := "field"
	switch {
	case o.asked:
		noun = "parameter"
		values, err = q.values()
	case q.api:
		o.Via = wire.ViaAPI
		values, err = q.body()
	default:
		values, err = q.form()
	}
	if err != nil {
		return o, err
	}
	if err := view.Read(values, noun, o.bind); err != nil {
		return o, badQuery(err)
	}
	if !q.api {
		o.payload = unixLines(o.payload)
	}
	return o, nil
}

// form returns the body of a form.
func (q *request) form() (url.Values, error) {
	mediaType, _, err := mime.ParseMediaType(q.r.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/x-www-form-urlencoded" {
		return nil, newProblem(http.StatusUnsupportedMediaType, "Content-Type: must be application/x-www-form-urlencoded")
	}
	if err := q.r.ParseForm(); err != nil {
		return nil, bodyProblem(err)
	}
	return q.r.PostForm, nil
}

// bodyProblem returns the problem of a body that cannot be read.
func bodyProblem(err error) *problem {
	if tooLarge, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return newProblem(http.StatusRequestEntityTooLarge, fmt.Sprintf("the body must have at most %d bytes", tooLarge.Limit))
	}
	return badRequest(fault("body", "", "cannot be read: "+err.Error()))
}

// body reads the JSON of a request, an object of strings, numbers and a list of jobs, as if it were
// a form.
func (q *request) body() (url.Values, error) {
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
		return nil, badRequest(fault("body", shortened(string(text)), "must be a JSON object: "+err.Error()))
	}
	return formOf(fields)
}

func formOf(fields map[string]any) (url.Values, error) {
	v := url.Values{}
	var faults []page.Fault
	for name, value := range fields {
		list, isList := value.([]any)
		if isList != (name == "jobs") && value != nil {
			faults = append(faults, fault(shortened(name), shortened(fmt.Sprint(value)), "must be a string or a number; of jobs, a list of names"))
			continue
		}
		if !isList {
			list = []any{value}
		}
		for i, item := range list {
			if is, ok := item.(bool); ok && name == "anyway" {
				item = fmt.Sprint(is)
			}
			switch text := fmt.Sprint(item); item.(type) {
			case nil:
			case string:
				if isList && !naming.Valid(text) {
					faults = append(faults, fault(fmt.Sprintf("%s[%d]", name, i), shortened(text), naming.Rule))
				}
				v.Add(name, text)
			case json.Number:
				if isList {
					faults = append(faults, fault(fmt.Sprintf("%s[%d]", name, i), text, "must be a string"))
				}
				v.Add(name, text)
			default:
				faults = append(faults, fault(shortened(name), shortened(text), "must be a string or a number"))
			}
		}
	}
	if faults != nil {
		slices.SortFunc(faults, func(a, b page.Fault) int { return strings.Compare(a.Field, b.Field) })
		return nil, badRequest(faults...)
	}
	return v, nil
}
