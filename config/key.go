package config

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/solotick/solotick/internal/durations"
)

// A key is one key of a mapping that fills an S. The tables of keys (topKeys, redisKeys, jobKeys
// and those that they name) are the only place that lists the keys of the file. The reader, the
// reference page, the JSON schema and the rule of reloads come from them.
type key[S any] struct {
	name  string
	about string // what the key means, for the reference and for editors

	required string // how to add the key where it is missing; "" for one that may be absent
	fallback string // what the reference says of the default; "": the default itself

	filled  bool // the key without a value is an error, which its kind reports
	secret  bool // errors must not show the value
	live    bool // a running worker applies a change; a change of any other setting needs a restart
	policy  bool // defaults may have the key, too
	refused bool // the key explains only why it cannot be used

	read   func(r *reader, v value, s *S) bool
	value  func(s *S) any                // points to what the key fills
	rows   func(path string, s *S) []row // of the keys below
	whole  bool                          // a change of a key below is one of this key
	schema schema
	values string // which values there are, for the reference
}

// kind is how values of type T are written.
type kind[T any] struct {
	// read puts what v says into to. Otherwise it reports a fault, leaves to as it was and returns
	// false.
	read   func(r *reader, v value, to *T) bool
	schema schema
	values string // which values there are, for the reference

	rows  func(path string, t *T) []row // of the keys of a mapping; nil for other kinds
	whole bool                          // these are compared together
}

// field makes a key that fills the part of an S which at returns.
func field[S, T any](name string, k kind[T], at func(*S) *T, about string) key[S] {
	f := key[S]{name: name, about: about, schema: k.schema, values: k.values, whole: k.whole}
	f.read = func(r *reader, v value, s *S) bool { return k.read(r, v, at(s)) }
	f.value = func(s *S) any { return at(s) }
	f.rows = func(path string, s *S) []row {
		if k.rows == nil {
			return nil
		}
		return k.rows(path, at(s))
	}
	return f
}

func (k key[S]) needed(add string) key[S]      { k.required = add; return k }
func (k key[S]) defaultsTo(text string) key[S] { k.fallback = text; return k }
func (k key[S]) neverEmpty() key[S]            { k.filled = true; return k }
func (k key[S]) hidden() key[S]                { k.secret = true; return k }
func (k key[S]) changesLive() key[S]           { k.live = true; return k }
func (k key[S]) orInDefaults() key[S]          { k.policy = true; return k }

// mapping is the kind of a mapping with these keys. check, which may be nil, looks at all that was
// read.
func mapping[T any](keys []key[T], check func(r *reader, v value, to *T)) kind[T] {
	return kind[T]{
		read: func(r *reader, v value, to *T) bool {
			ok := readKeys(r, v, keys, to)
			if ok && check != nil {
				check(r, v, to)
			}
			return ok
		},
		schema: schemaOf(keys),
		values: "a mapping",
		rows:   func(path string, t *T) []row { return rowsOf(keys, path, t) },
	}
}

// optional makes a kind whose values stay nil where nothing is written.
func optional[T any](k kind[T]) kind[*T] {
	return kind[*T]{
		schema: k.schema,
		values: k.values,
		rows:   func(path string, _ **T) []row { return k.rows(path, new(T)) },
		whole:  true,
		read: func(r *reader, v value, to **T) bool {
			fresh := new(T)
			ok := k.read(r, v, fresh)
			if ok {
				*to = fresh
			}
			return ok
		},
	}
}

// readKeys reads the mapping v into to, key by key in the order of the file, and reports whether v
// is one. A key without a value (null) is as good as absent, except one that must have a value.
// r.at and r.bad say afterwards which keys are written, and which of them have a fault.
func readKeys[S any](r *reader, v value, keys []key[S], to *S) bool {
	if !r.is(v, yaml.MappingNode, "a mapping") {
		return false
	}
	for _, e := range r.entries(v) {
		i := slices.IndexFunc(keys, func(k key[S]) bool { return k.name == e.key })
		switch {
		case i < 0:
			r.wrongKey(e, "is not a known key; "+r.suggestion(e.key, namesOf(keys)))
		case e.value.null() && !keys[i].filled:
		case keys[i].refused:
			e.value.secret = true
			keys[i].read(r, e.value, to)
		default:
			e.value.secret = keys[i].secret
			e.value.order = len(r.at)
			r.at[e.value.path] = e.value
			r.bad[e.value.path] = !keys[i].read(r, e.value, to)
		}
	}
	for _, k := range keys {
		if _, ok := r.at[join(v.path, k.name)]; !ok && k.required != "" && !r.partial {
			r.missing(v, k.name, k.required)
		}
	}
	return true
}

func namesOf[S any](keys []key[S]) []string {
	all := make([]string, len(keys))
	for i, k := range keys {
		all[i] = k.name
	}
	slices.Sort(all)
	return all
}

// row is one key: a line of the reference.
type row struct {
	path, fallback, values, about string
	policy, live                  bool
	value                         any // points to what the key fills; nil where the keys below say it
}

// same reports whether two values of a key say the same. A list without items says the same as
// none.
func (r row) same(other row) bool {
	if r.value == nil {
		return true
	}
	a, b := reflect.ValueOf(r.value).Elem(), reflect.ValueOf(other.value).Elem()
	if a.Kind() == reflect.Slice && a.Len() == 0 {
		return b.Len() == 0
	}
	return reflect.DeepEqual(a.Interface(), b.Interface())
}

// rowsOf lists keys and the keys below them. to holds the value of each, which is the default in
// the reference.
func rowsOf[S any](keys []key[S], path string, to *S) (rows []row) {
	for _, k := range keys {
		if k.refused {
			continue
		}
		at := join(path, k.name)
		below := k.rows(at, to)
		one := row{path: at, values: k.values, about: k.about, policy: k.policy, live: k.live}
		if below == nil || k.whole {
			one.value = k.value(to)
		}
		for i := range below {
			below[i].policy, below[i].live = k.policy, below[i].live || k.live
			if k.whole {
				below[i].value = nil
			}
		}
		switch {
		case k.required != "":
			one.fallback = cmp.Or(k.fallback, "required")
		case below == nil:
			one.fallback = cmp.Or(k.fallback, shown(k.value(to)))
		}
		rows = append(append(rows, one), below...)
	}
	return rows
}

// shown is a default as it would be written.
func shown(to any) string {
	switch v := reflect.ValueOf(to).Elem(); {
	case v.IsZero() && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map || v.Kind() == reflect.String || v.Kind() == reflect.Struct):
		return "none"
	case v.Type() == reflect.TypeFor[time.Duration]():
		return durations.Short(time.Duration(v.Int()))
	default:
		return strings.ToLower(fmt.Sprint(v.Interface()))
	}
}
