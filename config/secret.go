package config

import (
	"fmt"
	"io"
	"reflect"
)

// Hidden is printed in place of a secret.
const Hidden = "(hidden)"

// Secret is a string that prints as "(hidden)".
type Secret = Private[string]

// Private is a value that prints without its secrets, whatever prints it: a string as "(hidden)", a
// kind of work as a summary. [Private.Reveal] returns the value. The zero Private has the zero value,
// and prints as the empty string. Compare two by what they reveal, not with ==.
type Private[T any] struct {
	// A pointer, because fmt ignores the methods of unexported fields and would print what is held
	// here.
	value *T
}

// NewSecret returns a Private that reveals v.
func NewSecret[T any](v T) Private[T] {
	if reflect.ValueOf(v).IsZero() {
		return Private[T]{}
	}
	return Private[T]{value: &v}
}

// Reveal returns the value itself. Do not log it.
func (p Private[T]) Reveal() (v T) {
	if p.value != nil {
		v = *p.value
	}
	return v
}

// IsSet reports whether the value is not the zero value.
func (p Private[T]) IsSet() bool { return p.value != nil }

// String returns what may be shown of the value.
func (p Private[T]) String() string {
	if p.value == nil {
		return ""
	}
	return summary(*p.value)
}

// Format prints String, whatever the verb.
func (p Private[T]) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// MarshalText returns String, to encoding/json and to the handlers of log/slog.
func (p Private[T]) MarshalText() ([]byte, error) { return []byte(p.String()), nil }
