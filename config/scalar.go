package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/solotick/solotick/jobs"
)

// The readers below put what they read where they are told, and report whether they could. When not, they have noted
// the fault and left the place as it was, so that the checks to come see a sound value.

// text is a scalar's text with references replaced.
type text struct {
	string
	expanded bool // there were references, so an error must not show the text
}

// text reads any scalar as it is written: 12, true and 1.10 are "12", "true" and "1.10".
func (r *reader) text(v value, want string) (text, bool) {
	if !r.is(v, yaml.ScalarNode, want) {
		return text{}, false
	}
	if !r.expands(v) {
		return text{string: v.node.Value}, true
	}
	s, err := expand(v.node.Value, r.env)
	if err != nil {
		r.fault(v, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return text{}, false
	}
	return text{string: s, expanded: true}, true
}

func (r *reader) expands(v value) bool {
	return r.env != nil && v.node.Kind == yaml.ScalarNode && strings.Contains(v.node.Value, "${")
}

func readString[T ~string](r *reader, v value, to *T) bool {
	t, ok := r.text(v, "a string")
	if ok {
		*to = T(t.string)
	}
	return ok
}

// name reads what jobs.ValidName accepts.
func (r *reader) name(v value, to *string) bool {
	t, ok := r.text(v, "a name")
	if ok && !jobs.ValidName(t.string) {
		r.fault(v, "%s", jobs.NameRule)
		return false
	}
	if ok {
		*to = t.string
	}
	return ok
}

func (r *reader) oneOf(v value, to *string, options ...string) bool {
	rule := "must be one of " + strings.Join(options, ", ")
	t, ok := r.text(v, "one of "+strings.Join(options, ", "))
	if ok && !slices.Contains(options, t.string) {
		r.fault(v, "%s", rule)
		return false
	}
	if ok {
		*to = t.string
	}
	return ok
}

var bareNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]*)?$`)

// duration reads a Go duration, which may be negative: ranges are the caller's.
func (r *reader) duration(v value, to *time.Duration) bool {
	t, ok := r.text(v, "a duration such as 1m30s")
	if !ok {
		return false
	}
	d, err := time.ParseDuration(t.string)
	switch {
	case err == nil:
		*to = d
		return true
	case bareNumber.MatchString(t.string) && !t.expanded && len(t.string) < 10:
		r.fault(v, "needs a unit: write %ss for seconds, or use ms, m or h", strings.TrimSuffix(t.string, "."))
	case bareNumber.MatchString(t.string):
		r.fault(v, "needs a unit: ms, s, m or h")
	default:
		r.fault(v, "must be a duration such as 1m30s, in the units ns, us, ms, s, m and h")
	}
	return false
}

// durationWithin reads a duration from least to most; a most of 0 is no bound.
func (r *reader) durationWithin(v value, to *time.Duration, least, most time.Duration) {
	var d time.Duration
	switch ok := r.duration(v, &d); {
	case !ok:
	case d < least:
		r.fault(v, "must be at least %s", short(least))
	case most > 0 && d > most:
		r.fault(v, "must be at most %s", short(most))
	default:
		*to = d
	}
}

// short is d.String without trailing zero units: 24h, not 24h0m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

func (r *reader) integer(v value, to *int) bool {
	t, ok := r.text(v, "a whole number")
	if !ok {
		return false
	}
	if r.quoted(v, t) {
		r.fault(v, "must be a whole number without quotes")
		return false
	}
	n, err := strconv.Atoi(t.string)
	if !wholeNumber.MatchString(t.string) {
		r.fault(v, "must be a whole number, in plain decimal digits")
		return false
	}
	if err != nil {
		r.fault(v, "is too large a number")
		return false
	}
	*to = n
	return true
}

func (r *reader) boolean(v value, to *bool) bool {
	t, ok := r.text(v, "true or false")
	if !ok {
		return false
	}
	if r.quoted(v, t) {
		r.fault(v, "must be true or false, without quotes")
		return false
	}
	if t.string != "true" && t.string != "false" {
		r.fault(v, "must be true or false")
		return false
	}
	*to = t.string == "true"
	return true
}

// quoted reports whether v is written as a string on purpose. A value with references may be, because YAML wants
// quotes around ${NAME} inside braces and brackets.
func (r *reader) quoted(v value, t text) bool {
	return v.node.Style&^yaml.FlowStyle != 0 && !t.expanded
}

// list returns the items of a list.
func (r *reader) list(v value, want string) ([]value, bool) {
	if !r.is(v, yaml.SequenceNode, want) {
		return nil, false
	}
	items := make([]value, 0, len(v.node.Content))
	for i, node := range v.node.Content {
		if r.exhausted(v) {
			return nil, false
		}
		items = append(items, r.child(v, node, fmt.Sprintf("%s[%d]", v.path, i)))
	}
	return items, true
}
