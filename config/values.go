package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/solotick/solotick/internal/durations"
	"github.com/solotick/solotick/internal/naming"
)

// text is a scalar's text with references replaced.
type text struct {
	string
	expanded bool // there were references, so an error must not show the text
	quoted   bool // written as a string on purpose
}

// text reads any scalar as it is written: 12, true and 1.10 are "12", "true" and "1.10".
func (r *reader) text(v value, want string) (text, bool) {
	if !r.is(v, yaml.ScalarNode, want) {
		return text{}, false
	}
	if !r.expands(v) {
		return text{string: v.node.Value, quoted: v.node.Style&^yaml.FlowStyle != 0}, true
	}
	env := r.env
	if v.secret {
		env = r.secretEnv
	}
	s, err := expand(v.node.Value, env)
	if err != nil {
		r.fault(v, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
		return text{}, false
	}
	// YAML wants quotes around ${NAME} inside braces and brackets, so they say nothing.
	return text{string: s, expanded: true}, true
}

func (r *reader) expands(v value) bool {
	return r.env != nil && v.node.Kind == yaml.ScalarNode && strings.Contains(v.node.Value, "${")
}

// single is the kind of a single value. want says what it is where something else is written. parse
// returns the value or the rule that the text breaks.
func single[T any](want, values string, s schema, parse func(text) (T, string)) kind[T] {
	return kind[T]{values: values, schema: s, read: func(r *reader, v value, to *T) bool {
		t, ok := r.text(v, want)
		if !ok {
			return false
		}
		parsed, rule := parse(t)
		if rule != "" {
			r.fault(v, "%s", rule)
			return false
		}
		*to = parsed
		return true
	}}
}

// checked is the kind of a string that keeps a rule: check returns the rule that the string breaks,
// or "".
func checked(want, values, pattern string, check func(string) string) kind[string] {
	return single(want, values, textSchema(pattern), func(t text) (string, string) { return t.string, check(t.string) })
}

// anyText takes any string. Package jobs judges it.
func anyText[T ~string](values string, options ...T) kind[T] {
	s := textSchema("")
	if options != nil {
		s, values = enumSchema(options), joinedWords(options)
	}
	return single("a string", values, s, func(t text) (T, string) { return T(t.string), "" })
}

const nameSchema = `^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`

// name takes what naming.Valid accepts.
var name = checked("a name", "a name", nameSchema, func(s string) string {
	if !naming.Valid(s) {
		return naming.Rule
	}
	return ""
})

// nameOrEmpty takes "" as well, which is as good as absent.
var nameOrEmpty = checked("a name", "a name", nameSchema+"|^$", func(s string) string {
	if s != "" && !naming.Valid(s) {
		return naming.Rule
	}
	return ""
})

// word takes text that is not empty and holds no control characters.
var word = checked("a string", "text", ".", func(s string) string {
	switch {
	case s == "":
		return "must not be empty"
	case strings.ContainsFunc(s, unicode.IsControl):
		return "must not hold control characters"
	}
	return ""
})

// filled takes text that is not empty. An empty secret is most likely a variable that is set to
// nothing.
var filled = checked("a string", "text", ".", func(s string) string {
	if s == "" {
		return "must not be empty; remove the key when there is none"
	}
	return ""
})

// secret is the kind of a value that nothing prints.
func secret[T any](k kind[T]) kind[Private[T]] {
	private := kind[Private[T]]{values: k.values, schema: k.schema, read: func(r *reader, v value, to *Private[T]) bool {
		var read T
		ok := k.read(r, v, &read)
		if ok {
			*to = NewSecret(read)
		}
		return ok
	}}
	if k.rows != nil {
		private.rows = func(path string, _ *Private[T]) []row { return k.rows(path, new(T)) }
	}
	return private
}

// startingWith is the kind of a mapping whose keys change a copy of start.
func startingWith[T any](start T, k kind[T]) kind[T] {
	made := k
	made.rows = func(path string, _ *T) []row { fresh := start; return k.rows(path, &fresh) }
	made.read = func(r *reader, v value, to *T) bool {
		*to = start
		return k.read(r, v, to)
	}
	return made
}

func oneOf[T ~string](options ...T) kind[T] {
	list := joinedWords(options)
	return single("one of "+list, list, enumSchema(options), func(t text) (T, string) {
		if !slices.Contains(options, T(t.string)) {
			return "", "must be one of " + list
		}
		return T(t.string), ""
	})
}

func joinedWords[T ~string](words []T) string {
	return strings.Join(each(words, func(w T) string { return string(w) }), ", ")
}

// unitsAndNumbers is a duration, which may be too long.
var unitsAndNumbers = regexp.MustCompile(`^[+-]?([0-9]+(\.[0-9]*)?(ns|us|µs|ms|s|m|h))+$`)

var bareNumber = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]*)?$`)

// duration takes a Go duration, which may be negative. Package jobs judges it, and says values of
// its range.
func duration(values string) kind[time.Duration] {
	return single("a duration such as 1m30s", values, durationSchema(), parseDuration)
}

func parseDuration(t text) (time.Duration, string) {
	d, err := time.ParseDuration(t.string)
	switch {
	case err == nil:
		return d, ""
	case bareNumber.MatchString(t.string) && !t.expanded && len(t.string) < 10:
		return 0, fmt.Sprintf("needs a unit: write %ss for seconds, or use ms, m or h", strings.TrimSuffix(t.string, "."))
	case bareNumber.MatchString(t.string):
		return 0, "needs a unit: ms, s, m or h"
	case unitsAndNumbers.MatchString(t.string):
		return 0, "must be at most 2562047h, in the units ns, us, ms, s, m and h"
	default:
		return 0, "must be a duration such as 1m30s, in the units ns, us, ms, s, m and h"
	}
}

// durationWithin takes a duration from least to most; a most of 0 is no limit.
func durationWithin(least, most time.Duration) kind[time.Duration] {
	values := fmt.Sprintf("%s to %s", durations.Short(least), durations.Short(most))
	if most == 0 {
		values = durations.Short(least) + " or more"
	}
	if least == 1 && most == 0 {
		values = "above 0s"
	}
	return single("a duration such as 1m30s", values, durationSchema(), func(t text) (time.Duration, string) {
		d, rule := parseDuration(t)
		switch {
		case rule != "":
		case d < least:
			rule = "must be at least " + durations.Short(least)
		case most > 0 && d > most:
			rule = "must be at most " + durations.Short(most)
		}
		return d, rule
	})
}

var wholeNumber = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)

// number takes a whole number from least to most; a most of 0 is no limit. A number out of range
// breaks rule; a rule of "" leaves the range to package jobs.
func number[T int | int64](least, most T, rule string) kind[T] {
	values := fmt.Sprintf("%d to %d", least, most)
	if most == 0 {
		values = fmt.Sprintf("%d or more", least)
	}
	return single("a whole number", values, numberSchema(int64(least), int64(most)), func(t text) (T, string) {
		n, err := strconv.ParseInt(t.string, 10, strconv.IntSize)
		switch {
		case t.quoted:
			return 0, "must be a whole number without quotes"
		case !wholeNumber.MatchString(t.string):
			return 0, "must be a whole number, in plain decimal digits"
		case err != nil:
			return 0, "is too large a number"
		case rule != "" && (T(n) < least || most > 0 && T(n) > most):
			return 0, rule
		}
		return T(n), ""
	})
}

var boolean = single("true or false", "true, false", booleanSchema, func(t text) (bool, string) {
	if t.quoted {
		return false, "must be true or false, without quotes"
	}
	if t.string != "true" && t.string != "false" {
		return false, "must be true or false"
	}
	return t.string == "true", ""
})

// list is how lists of T are written.
type list[T any] struct {
	want   string // what it is, where something else is written
	values string
	open   bool // a sound item is no secret, even in a list that is one
	item   func(i int) kind[T]
	size   func(n int) string // the rule that a list of n items breaks, or ""; nil: any
	// repeat returns the rule that an item breaks beside the earlier ones, or ""; nil: none.
	repeat func(item T, earlier []T) string
	check  func(r *reader, items []value, all []T) // of a list without faults so far; nil: none
}

// uniqueNames is the repeat of a list of things at path that have a name each.
func uniqueNames[T any](what, path string, nameOf func(T) string) func(item T, earlier []T) string {
	return func(item T, earlier []T) string {
		name := nameOf(item)
		i := slices.IndexFunc(earlier, func(e T) bool { return nameOf(e) == name })
		if name == "" || i < 0 {
			return ""
		}
		return fmt.Sprintf("has the name of %s[%d]; each %s needs a name of its own", path, i, what)
	}
}

func (l list[T]) kind() kind[[]T] {
	return kind[[]T]{values: l.values, schema: listSchema(l.item(0).schema), read: func(r *reader, v value, to *[]T) bool {
		before := len(r.faults)
		items, ok := r.list(v, l.want)
		if !ok {
			return false
		}
		if l.size != nil {
			if rule := l.size(len(items)); rule != "" {
				r.fault(v, "%s", rule)
				ok = false
			}
		}
		all := make([]T, 0, len(items))
		for i, item := range items {
			var t T
			if !l.item(i).read(r, item, &t) {
				ok = false
				continue
			}
			if l.repeat != nil {
				if rule := l.repeat(t, all); rule != "" {
					item.secret = item.secret && !l.open
					r.fault(item, "%s", rule)
					ok = false
				}
			}
			all = append(all, t)
		}
		*to = all // also where an item is wrong, for checks of the others
		if l.check != nil && len(r.faults) == before {
			l.check(r, items, all)
		}
		return ok
	}}
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

func notEmpty(rule string) func(int) string {
	return func(n int) string {
		if n == 0 {
			return rule
		}
		return ""
	}
}

var groupNames = list[string]{want: "a list of names such as [eu, us]", values: "names", item: func(int) kind[string] { return name }}.kind()

// dictionary is the kind of a mapping whose keys are the author's own. rule returns what a name and
// its value break, or "" each; earlier is the line of the same name, or 0. fold makes names equal
// that are the same.
func dictionary(fold func(string) string, rule func(name, text string, earlier int) (ofName, ofValue string)) kind[map[string]string] {
	s := schema{"type": "object", "additionalProperties": textSchema("")}
	return kind[map[string]string]{values: "names to strings", schema: s, read: func(r *reader, v value, to *map[string]string) bool {
		if !r.is(v, yaml.MappingNode, "a mapping of names to values") {
			return false
		}
		good := true
		all, lines := map[string]string{}, map[string]int{}
		for _, e := range r.entries(v) {
			t, ok := r.text(e.value, `a string ("" for an empty one)`)
			if !ok {
				good = false
				continue
			}
			name := fold(e.key)
			ofName, ofValue := rule(name, t.string, lines[name])
			switch {
			case ofName != "":
				r.wrongKey(e, ofName)
			case ofValue != "":
				r.fault(e.value, "%s", ofValue)
			}
			good = good && ofName == "" && ofValue == ""
			all[e.key], lines[name] = t.string, e.value.key.Line
		}
		if len(all) > 0 {
			*to = all
		}
		return good
	}}
}

func asWritten(name string) string { return name }
