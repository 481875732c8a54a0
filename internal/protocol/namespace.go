package protocol

import "reflect"

// IsNil reports whether s is nil, or holds a nil pointer: constructors that take a store refuse
// that.
func IsNil(s any) bool {
	v := reflect.ValueOf(s)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// DefaultNamespace is the namespace of a store in memory that was not given one.
const DefaultNamespace = "default"
