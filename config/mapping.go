package config

import (
	"fmt"

	"go.yaml.in/yaml/v4"
)

// entry is one key of a mapping and its value.
type entry struct {
	key   string
	value value // its path is the key's, too
}

// wrongKey notes that the key of e breaks rule.
func (r *reader) wrongKey(e entry, rule string) {
	r.add(e.value.key.Line, e.value.key.Column, e.value.path, "", rule)
}

// entries returns what the mapping v holds: its own keys in their order, then those that merge keys
// (<<) bring and it does not have. Of several merged mappings the first to have a key wins.
func (r *reader) entries(v value) []entry {
	var all []entry
	var merges []value
	lines := map[string]int{}
	for i := 0; i+1 < len(v.node.Content); i += 2 {
		if r.exhausted(v) {
			return nil
		}
		k, node := v.node.Content[i], v.node.Content[i+1]
		if !simpleKey(k) {
			r.add(k.Line, k.Column, v.path, "", "has a key that is not a plain word; write every key as a word and a colon")
			continue
		}
		path := join(v.path, k.Value)
		if line, ok := lines[k.Value]; ok {
			r.add(k.Line, k.Column, path, "", fmt.Sprintf("is written twice, first at line %d; keep one", line))
			continue
		}
		lines[k.Value] = k.Line
		if k.Tag == "!!merge" {
			merges = append(merges, r.child(v, node, path))
			continue
		}
		all = append(all, entry{key: k.Value, value: r.child(v, node, path)})
		all[len(all)-1].value.key = k
	}
	r.merging[v.node] = true
	defer delete(r.merging, v.node)
	for _, m := range merges {
		r.merge(v, m, func(e entry) {
			if _, ok := lines[e.key]; !ok {
				lines[e.key] = e.value.key.Line
				all = append(all, e)
			}
		})
	}
	return all
}

// merge yields the entries that m, the value of a merge key of v, brings.
func (r *reader) merge(v, m value, yield func(entry)) {
	sources := []value{m}
	if m.node.Kind == yaml.SequenceNode {
		sources = nil
		for _, node := range m.node.Content {
			sources = append(sources, r.child(m, node, m.path))
		}
	}
	for _, source := range sources {
		if r.exhausted(v) {
			return
		}
		if source.node.Kind != yaml.MappingNode {
			r.fault(source, "must be a mapping, or a list of mappings, to merge from; not %s", source.shape())
			continue
		}
		if r.merging[source.node] {
			r.fault(source, "merges a mapping into itself")
			continue
		}
		source.path = v.path // to the author of a merge its keys stand here
		for _, e := range r.entries(source) {
			yield(e)
		}
	}
}

// simpleKey reports whether k is one word, such as every key of a configuration is.
func simpleKey(k *yaml.Node) bool {
	return k.Kind == yaml.ScalarNode && k.Style&yaml.TaggedStyle == 0 && k.Tag != "!!null"
}
