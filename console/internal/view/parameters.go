package view

import (
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

// parameters reads a query, and collects every fault of it.
type parameters struct {
	values url.Values
	known  map[string]bool
	faults []error
}

// parse reads the values by means of read. Any parameter that read does not ask for is a fault, but
// lang, which chooses the language of the page and no other part of it.
func parse(values url.Values, read func(p *parameters)) error {
	p := &parameters{values: values, known: map[string]bool{"lang": true}}
	read(p)
	names := slices.DeleteFunc(slices.Sorted(maps.Keys(p.known)), func(name string) bool { return name == "lang" })
	const most = 10
	unknown := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool { return p.known[name] })
	for i, name := range unknown {
		if i == most {
			p.fault(name, values.Get(name), fmt.Sprintf("and %d more are no parameters of this page either", len(unknown)-most-1))
			break
		}
		p.fault(name, values.Get(name), "is no parameter of this page; there are: "+strings.Join(names, ", "))
	}
	return errors.Join(p.faults...)
}

func (p *parameters) fault(field, value, rule string) {
	const most = 80
	if len(value) > most {
		value = value[:most] + "..."
	}
	if len(field) > most {
		field = field[:most] + "..."
	}
	p.faults = append(p.faults, &jobs.Fault{Field: strings.ToValidUTF8(field, "\uFFFD"), Value: strings.ToValidUTF8(value, "\uFFFD"), Rule: rule})
}

// one returns the value of a parameter that may be given once; "" when it is missing or empty.
func (p *parameters) one(name string) string {
	p.known[name] = true
	list := p.values[name]
	if len(list) > 1 {
		p.fault(name, strings.Join(list, " "), "must be given once")
	}
	if len(list) == 0 {
		return ""
	}
	return list[0]
}

// text returns a short text without control characters.
func (p *parameters) text(name string) string {
	s := p.one(name)
	switch {
	case len(s) > maxText:
		p.fault(name, s, fmt.Sprintf("must have at most %d bytes", maxText))
	case !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl):
		p.fault(name, s, "must be UTF-8 without control characters")
	default:
		return strings.TrimSpace(s)
	}
	return ""
}

// many returns the values of a parameter that may be repeated, or have several with commas between
// them, each once, in their order.
func (p *parameters) many(name, rule string, valid func(string) bool) (list []string) {
	list = []string{} // JSON has no null for it
	p.known[name] = true
	const most = 5 // faults of one parameter
	faults := 0
	for _, value := range p.values[name] {
		for item := range strings.SplitSeq(value, ",") {
			switch item = strings.TrimSpace(item); {
			case item == "" || slices.Contains(list, item):
			case !valid(item):
				p.fault(name, item, rule)
				if faults++; faults == most {
					return list
				}
			case len(list) == maxValues:
				p.fault(name, item, fmt.Sprintf("must be one of at most %d values", maxValues))
				return list
			default:
				list = append(list, item)
			}
		}
	}
	return list
}

// names returns the values of a parameter that names groups, replicas or jobs.
func (p *parameters) names(name string) []string { return p.many(name, naming.Rule, naming.Valid) }

func joined[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, s := range list {
		words[i] = string(s)
	}
	return strings.Join(words, ", ")
}

// number returns a whole number from low to high.
func (p *parameters) number(name string, low, high, without int) int {
	s := p.one(name)
	if s == "" {
		return without
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < low || n > high {
		p.fault(name, s, fmt.Sprintf("must be a whole number from %d to %d", low, high))
		return without
	}
	return n
}

// duration returns a duration from low to high, as Go writes it, or in days, as 30d.
func (p *parameters) duration(name string, low, high, without time.Duration) time.Duration {
	s := p.one(name)
	if s == "" {
		return without
	}
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n int
		n, err = strconv.Atoi(days)
		d = time.Duration(min(max(n, -1), 1e5)) * 24 * time.Hour
	}
	if err != nil || d < low || d > high {
		p.fault(name, s, fmt.Sprintf("must be a duration such as 90m, 6h or 7d, from %s to %s", short(low), short(high)))
		return without
	}
	return d
}

// time returns an instant, as RFC 3339 or in Unix milliseconds, within the years 1970 to 9999.
func (p *parameters) time(name string) time.Time { return p.instant(name, p.one(name)) }

func (p *parameters) instant(name, s string) time.Time {
	if s == "" {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339Nano, s)
	if ms, numErr := strconv.ParseInt(s, 10, 64); numErr == nil {
		t, err = time.UnixMilli(min(max(ms, -1), 1<<53)).UTC(), nil
	}
	if err != nil || t.Year() < 1970 || t.Year() > 9999 {
		p.fault(name, s, "must be a time as RFC 3339 writes it, such as 2030-01-31T08:00:00Z, or Unix milliseconds")
		return time.Time{}
	}
	return t.UTC()
}

// zone returns the zone that times are shown in: "" for each job's own, or an IANA name.
func (p *parameters) zone() string {
	s := p.text("zone")
	if s == "" {
		return ""
	}
	if _, err := time.LoadLocation(s); err != nil || strings.EqualFold(s, "local") {
		p.fault("zone", s, "must be a name of the IANA time zone database, such as Europe/Berlin, or left out for the zone of each job")
		return ""
	}
	return s
}

// written collects the parameters of a query that are not at their default.
type written url.Values

func (w written) set(name, value, without string) {
	if value != without {
		url.Values(w).Set(name, value)
	}
}

func (w written) list(name string, values []string) {
	if len(values) > 0 {
		url.Values(w).Set(name, strings.Join(values, ","))
	}
}

func (w written) time(name string, t time.Time) {
	if !t.IsZero() {
		url.Values(w).Set(name, t.UTC().Format(time.RFC3339Nano))
	}
}

// short writes a duration without units that are 0, and in days from two days on.
func short(d time.Duration) string {
	const day = 24 * time.Hour
	if d >= day && d%day == 0 {
		return strconv.Itoa(int(d/day)) + "d"
	}
	return durations.Short(d)
}
