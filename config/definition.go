package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math"
	"strings"

	"go.yaml.in/yaml/v4"
)

// definition identifies the work of a job: the kind and a digest of its keys and values. The values
// count as the file has them, before ${NAME} is replaced: so replicas on different hosts agree, and
// a variable's secret is not in it. Comments, layout, quotes, the order of keys, and whether a
// value is written or reached through an alias or a merge key make no difference. It is a digest
// since the file itself may hold secrets, and specs are printed.
//
// Call it only when nothing was found wrong with v, which has been read: it sets no bound to what
// aliases stand for.
func (r *reader) definition(v value) (digest string, details map[string]string) {
	spare := r.spare
	r.spare = math.MaxInt // what aliases stand for here is counted already
	defer func() { r.spare = spare }()
	plain := r.plain(v)
	text, _ := json.Marshal(plain) //nolint:errchkjson // maps, lists and strings; the keys of a map are sorted
	sum := sha256.Sum256(text)
	kind := v.path[strings.LastIndexByte(v.path, '.')+1:]
	details = map[string]string{}
	describe(details, kind, plain)
	return kind + " " + hex.EncodeToString(sum[:]), details
}

// plain is v as maps, lists and strings, aliases and merge keys resolved, and keys without a value
// left out.
func (r *reader) plain(v value) any {
	switch v.node.Kind {
	case yaml.MappingNode:
		fields := map[string]any{}
		for _, e := range r.entries(v) {
			if !e.value.null() {
				fields[e.key] = r.plain(e.value)
			}
		}
		return fields
	case yaml.SequenceNode:
		items := make([]any, len(v.node.Content))
		for i, node := range v.node.Content {
			items[i] = r.plain(r.child(v, node, v.path))
		}
		return items
	default:
		return v.node.Value
	}
}
