package view

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/solotick/solotick/internal/durations"
	"github.com/solotick/solotick/internal/naming"
	"github.com/solotick/solotick/jobs"
)

// maxText bounds a text that a parameter carries, in bytes, and maxValues how often a parameter may
// be repeated.
const (
	maxText   = 256
	maxValues = 100
)

const day = 24 * time.Hour

// Parameters reads the values of a URL or a form into variables, or writes variables as values: so
// each parameter is named once. It collects every fault of what it reads.
type Parameters struct {
	values  url.Values
	writing bool
	known   map[string]bool
	faults  []error
}

// Query is what a page is asked with.
type Query[Q any] interface {
	*Q
	bind(p *Parameters)
}

// Parse reads a query from the values of a URL. Its error is that of [Read].
func Parse[Q any, P Query[Q]](values url.Values) (q Q, err error) {
	err = Read(values, "parameter", P(&q).bind)
	return q, err
}

// Values writes q as a query of a URL, without parameters at their defaults.
func Values[Q any, P Query[Q]](q Q) url.Values {
	return Write(P(&q).bind)
}

// Write writes the values that bind names, without those at their defaults.
func Write(bind func(p *Parameters)) url.Values {
	p := &Parameters{values: url.Values{}, writing: true}
	bind(p)
	return p.values
}

// Read reads the values that bind names. Its error joins a [*jobs.Fault] for each fault. Any other
// value is one, but lang, which chooses the language of a page and no other part of it. noun is what
// a value is called.
func Read(values url.Values, noun string, bind func(p *Parameters)) error {
	p := &Parameters{values: values, known: map[string]bool{"lang": true}}
	bind(p)
	delete(p.known, "lang")
	rule := "is no " + noun + " here; there are none"
	if names := slices.Sorted(maps.Keys(p.known)); len(names) > 0 {
		rule = "is no " + noun + " here; there are: " + strings.Join(names, ", ")
	}
	const most = 10
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool { return p.known[name] || name == "lang" })
	for i, name := range unknown {
		if i == most {
			p.Fault(name, values.Get(name), fmt.Sprintf("and %d more are unknown too", len(unknown)-most-1))
			break
		}
		p.Fault(name, values.Get(name), rule)
	}
	return errors.Join(p.faults...)
}

// Fault notes that a value breaks a rule.
func (p *Parameters) Fault(field, value, rule string) {
	const most = 80
	if len(value) > most {
		value = value[:most] + "..."
	}
	if len(field) > most {
		field = field[:most] + "..."
	}
	p.faults = append(p.faults, &jobs.Fault{Field: strings.ToValidUTF8(field, "\uFFFD"), Value: strings.ToValidUTF8(value, "\uFFFD"), Rule: rule})
}

// put writes a value that is not at its default, and reports whether p writes.
func (p *Parameters) put(name, value, without string) bool {
	if p.writing && value != without {
		p.values.Set(name, value)
	}
	return p.writing
}

// one returns the value of a parameter that may be given once; "" when it is missing or empty.
func (p *Parameters) one(name string) string {
	p.known[name] = true
	list := p.values[name]
	if len(list) > 1 {
		p.Fault(name, strconv.Itoa(len(list))+" values", "must be given once")
	}
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// Checked is a text, of which rule returns the rule that it breaks; "" when it breaks none.
func Checked[T ~string](p *Parameters, name string, s *T, rule func(T) string) {
	if p.put(name, string(*s), "") {
		return
	}
	if *s = T(p.one(name)); *s == "" {
		return
	}
	if broken := rule(*s); broken != "" {
		p.Fault(name, fmt.Sprint(*s), broken) // a secret prints something else
		*s = ""
	}
}

// AnyText breaks no rule.
func AnyText(string) string { return "" }

// Required makes it a fault that a value is missing or empty.
func (p *Parameters) Required(name string) {
	if !p.writing && p.values.Get(name) == "" {
		p.Fault(name, "", "must be given")
	}
}

// Text is a short text without control characters, nor space around it.
func (p *Parameters) Text(name string, s *string) {
	Checked(p, name, s, func(s string) string { return TextRule(s, maxText) })
	*s = strings.TrimSpace(*s)
}

// TextRule returns the rule that a text of a person breaks; "" when it breaks none.
func TextRule(s string, most int) string {
	switch {
	case len(s) > most:
		return fmt.Sprintf("must have at most %d bytes", most)
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		return "must be UTF-8 without control characters"
	}
	return ""
}

// NameRule returns the rule that the name of a job, group or replica breaks; "" when it breaks none.
func NameRule(s string) string {
	if !naming.Valid(s) {
		return naming.Rule
	}
	return ""
}

// many are values that may be repeated, or have several with commas between them, each once, in
// their order.
func many[T ~string](p *Parameters, name string, list *[]T, most int, rule string, valid func(T) bool) {
	if p.writing {
		p.put(name, joined(*list, ","), "")
		return
	}
	*list = []T{} // JSON has no null for it
	p.known[name] = true
	if n := len(p.values[name]); n > most {
		p.Fault(name, strconv.Itoa(n)+" values", fmt.Sprintf("must be given at most %d times", most))
		return
	}
	const mostFaults = 5 // of one parameter
	faults := 0
	for _, value := range p.values[name] {
		for word := range strings.SplitSeq(value, ",") {
			switch item := T(strings.TrimSpace(word)); {
			case item == "" || slices.Contains(*list, item):
			case !valid(item):
				p.Fault(name, string(item), rule)
				if faults++; faults == mostFaults {
					return
				}
			case len(*list) == most:
				p.Fault(name, string(item), fmt.Sprintf("must be one of at most %d values", most))
				return
			default:
				*list = append(*list, item)
			}
		}
	}
}

// Names are those of groups, replicas or jobs.
func (p *Parameters) Names(name string, list *[]string, most int) {
	many(p, name, list, most, naming.Rule, naming.Valid)
}

func joined[T ~string](list []T, separator string) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, separator)
}

// Number is a whole number from low to high.
func (p *Parameters) Number(name string, n *int, low, high, without int) {
	if p.put(name, strconv.Itoa(*n), strconv.Itoa(without)) {
		return
	}
	*n = without
	if s := p.one(name); s != "" {
		given, err := strconv.Atoi(s)
		if err != nil || given < low || given > high {
			p.Fault(name, s, fmt.Sprintf("must be a whole number from %d to %d", low, high))
			return
		}
		*n = given
	}
}

// duration is from low to high, as Go writes it, or in days, as 30d.
func (p *Parameters) duration(name string, d *time.Duration, low, high, without time.Duration) {
	if p.put(name, short(*d), short(without)) {
		return
	}
	*d = without
	s := p.one(name)
	if s == "" {
		return
	}
	given, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		given = time.Duration(min(max(n, -1), 1e5)) * day
	}
	if err != nil || given < low || given > high {
		p.Fault(name, s, fmt.Sprintf("must be a duration such as 90m, 6h or 7d, from %s to %s", short(low), short(high)))
		return
	}
	*d = given
}

// Time is an instant, as RFC 3339 or in Unix milliseconds, within the years 1970 to 9999.
func (p *Parameters) Time(name string, t *time.Time) {
	if p.writing {
		if !t.IsZero() {
			p.put(name, t.UTC().Format(time.RFC3339Nano), "")
		}
		return
	}
	*t = time.Time{}
	s := p.one(name)
	if s == "" {
		return
	}
	given, err := time.Parse(time.RFC3339Nano, s)
	if ms, numErr := strconv.ParseInt(s, 10, 64); numErr == nil {
		given, err = time.UnixMilli(min(max(ms, -1), 1<<53)).UTC(), nil
	}
	if err != nil || given.Year() < 1970 || given.Year() > 9999 {
		p.Fault(name, s, "must be a time as RFC 3339 writes it, such as 2030-01-31T08:00:00Z, or Unix milliseconds")
		return
	}
	*t = given.UTC()
}

// Zone is the zone that times are shown in: "" for each job's own, or an IANA name.
func (p *Parameters) Zone(zone *string) {
	p.Text("zone", zone)
	if p.writing || *zone == "" {
		return
	}
	if _, err := time.LoadLocation(*zone); err != nil || strings.EqualFold(*zone, "local") {
		p.Fault("zone", *zone, "must be a name of the IANA time zone database, such as Europe/Berlin, or left out for the zone of each job")
		*zone = ""
	}
}

// cursors are the places that a page begins after or ends before: one of them, or none.
func (p *Parameters) cursors(after, before *string, rule func(string) string) {
	Checked(p, "after", after, rule)
	Checked(p, "before", before, rule)
	if !p.writing && *after != "" && *before != "" {
		p.Fault("before", *before, "must not be given beside after")
	}
}

// encode writes a cursor.
func encode(cursor any) string {
	text, _ := json.Marshal(cursor) //nolint:errchkjson // of strings and numbers: it cannot fail
	return base64.RawURLEncoding.EncodeToString(text)
}

// decode reads a cursor, and reports whether encode has written it.
func decode[C any](s string) (c C, ok bool) {
	text, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || json.Unmarshal(text, &c) != nil || encode(c) != s {
		return *new(C), false
	}
	return c, true
}

// short writes a duration without units that are 0, and in days from two days on.
func short(d time.Duration) string {
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return durations.Short(d)
}
