package protocol

import "reflect"

// Namespacer is a [Store] that knows the namespace which its records are kept in, as every store of
// this module does. The namespace names the fleet: it is part of each tick's identity, which runs
// pass on to what they call.
type Namespacer interface {
	// Namespace returns the namespace, always the same. It matches the pattern of a name.
	Namespace() string
}

// IsNil reports whether s is nil, or holds a nil pointer: constructors that take a store refuse
// that.
func IsNil(s any) bool {
	v := reflect.ValueOf(s)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// DefaultNamespace is the namespace of a store that is no [Namespacer]. The ticks of two fleets on
// such stores have equal identities where their jobs have equal names.
const DefaultNamespace = "default"

// NamespaceOf returns the namespace of a store, or [DefaultNamespace]. A store that wraps another
// is a [Namespacer] only if it has the method itself.
func NamespaceOf(s Store) string {
	if n, ok := s.(Namespacer); ok {
		return n.Namespace()
	}
	return DefaultNamespace
}
