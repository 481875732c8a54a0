package config

import (
	"fmt"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// reader turns the nodes of one file into a Config and collects the faults on the way. It never
// stops at a fault.
type reader struct {
	file   string
	env    func(string) (string, bool) // nil: values are taken as they are
	faults Errors
	seen   map[faultKey]bool

	sections func() map[string]string // where keys belong; the tables cannot name what names them

	partial bool             // keys that a file needs may be absent
	at      map[string]value // the keys that are written, by their paths
	bad     map[string]bool  // which of them have a fault, so that the value that was read is not meant

	secrets map[string]bool // the variables that values which errors hide refer to

	spare   int                 // how many more values aliases may stand for
	stopped bool                // they stand for more
	merging map[*yaml.Node]bool // the mappings whose merge keys are being followed
}

// faultKey is the same for faults that are reported once: an anchored mapping or the defaults reach
// many jobs, but are written once.
type faultKey struct {
	line, column int
	rule         string
}

func newReader(file string, env func(string) (string, bool)) *reader {
	return &reader{file: file, env: env, seen: map[faultKey]bool{}, merging: map[*yaml.Node]bool{},
		at: map[string]value{}, secrets: map[string]bool{}, bad: map[string]bool{}, sections: sections}
}

// value is a node, where it is written and the path by which its author knows it.
type value struct {
	node         *yaml.Node // never an alias
	line, column int        // of the alias, when the value is reached through one
	key          *yaml.Node // whose value it is; nil for a value that is not in a mapping
	path         string
	order        int  // in which the keys were read
	secret       bool // errors must not show the text
	aliased      bool // this value or one around it is reached through an alias
}

// child returns the value that node is, within parent. Each value that is reached through an alias
// is counted, because a few lines of aliases can stand for more values than fit in memory.
func (r *reader) child(parent value, node *yaml.Node, path string) value {
	v := value{
		node: node, line: node.Line, column: node.Column, path: path,
		secret: parent.secret, aliased: parent.aliased,
	}
	if node.Kind == yaml.AliasNode {
		v.node, v.aliased = node.Alias, true
	}
	if v.aliased {
		r.spare--
	}
	return v
}

// exhausted reports whether aliases stand for too many values, and says so once.
func (r *reader) exhausted(v value) bool {
	if r.spare < 0 && !r.stopped {
		r.stopped = true
		r.add(v.line, v.column, v.path, "", "is where the aliases of this file exceed the number of values that they may stand for; use fewer")
	}
	return r.stopped
}

// fault notes that v breaks rule.
func (r *reader) fault(v value, rule string, args ...any) {
	r.add(v.line, v.column, v.path, v.written(), fmt.Sprintf(rule, args...))
}

// missing notes that v, a mapping, needs a key that it does not have.
func (r *reader) missing(v value, key, rule string) {
	r.add(v.line, v.column, join(v.path, key), "", "is missing; "+rule)
}

func (r *reader) add(line, column int, field, value, rule string) {
	key := faultKey{line, column, rule}
	if r.seen[key] {
		return
	}
	r.seen[key] = true
	r.faults = append(r.faults, &Error{
		File: r.file, Line: line, Column: column, Field: field, Value: value, Rule: rule,
	})
}

// written returns what an error may show of v: a scalar as it stands in the file, where references
// to the environment are not replaced yet.
func (v value) written() string {
	if v.node.Kind != yaml.ScalarNode || v.null() {
		return ""
	}
	if v.secret && !onlyReferences.MatchString(v.node.Value) {
		return Hidden
	}
	return mention(v.node.Value)
}

// null reports whether nothing, ~ or null is written.
func (v value) null() bool {
	return v.node.Kind == yaml.ScalarNode && v.node.Tag == "!!null" && v.node.Style&yaml.TaggedStyle == 0
}

// shape names v's type in the words of the errors.
func (v value) shape() string {
	switch v.node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// is checks that v is of the kind that a reader wants, and has no tag that asks for another.
func (r *reader) is(v value, kind yaml.Kind, want string) bool {
	if v.null() {
		if kind == yaml.MappingNode {
			want = "its keys below it, indented"
		}
		r.fault(v, "has no value; write %s", want)
		return false
	}
	if v.node.Kind != kind {
		r.fault(v, "must be %s, not %s", want, v.shape())
		return false
	}
	if tag := v.node.ShortTag(); v.node.Style&yaml.TaggedStyle != 0 && tag != plainTag(kind) {
		r.fault(v, "has the tag %s, which means nothing here; remove it", mention(tag))
		return false
	}
	return true
}

// plainTag is the only tag that a value of a kind may be given: it says what the value is anyway.
func plainTag(kind yaml.Kind) string {
	switch kind {
	case yaml.MappingNode:
		return "!!map"
	case yaml.SequenceNode:
		return "!!seq"
	default:
		return "!!str"
	}
}

var plainKey = regexp.MustCompile(`^([A-Za-z0-9_.-]{1,80}|<<)$`)

func join(path, key string) string {
	if !plainKey.MatchString(key) {
		key = mention(key)
	}
	return strings.TrimPrefix(path+"."+key, ".")
}
