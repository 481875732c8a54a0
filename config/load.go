package config

import (
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v4"
)

// maxSize bounds the file, so that a wrong path (a device, a disk image) is an error and not the
// end of the memory.
const maxSize = 64 << 20

// Read returns the text of the file at path, for [Parse]: all of it, or more than Parse takes. The
// error is that of the operating system, wrapped.
func Read(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	return data, nil
}

// Parse checks data, the text of a configuration file, and returns what it says. name stands for
// the file in errors. env looks up a variable of the environment, as [os.LookupEnv] does; nil is an
// environment without variables. The error is an [Errors] that holds everything wrong with data,
// and then there is no Config.
func Parse(name string, data []byte, env func(string) (string, bool)) (*Config, error) {
	if env == nil {
		env = func(string) (string, bool) { return "", false }
	}
	r := newReader(name, env)
	c := Default()
	if root, ok := r.document(data); ok {
		if r.readSettings(root, c) {
			c.Jobs = r.jobs(c)
			c.SecretVariables = slices.Sorted(maps.Keys(r.secrets))
		}
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// err returns all faults, sorted, as an Errors; nil if there is none.
func (r *reader) err() error {
	if len(r.faults) == 0 {
		return nil
	}
	r.faults.sort()
	return r.faults
}

// document returns the root of the only document in data.
func (r *reader) document(data []byte) (value, bool) {
	if len(data) > maxSize {
		r.add(1, 1, "", "", fmt.Sprintf("is larger than %d MiB; is it the right file?", maxSize>>20))
		return value{}, false
	}
	if line, column, rule, ok := unreadable(data); !ok {
		r.add(line, column, "", "", rule)
		return value{}, false
	}
	var documents []yaml.Node
	if err := yaml.Load(data, &documents, yaml.WithAllDocuments()); err != nil {
		r.syntax(err, data)
		return value{}, false
	}
	if len(documents) == 0 {
		r.add(1, 1, "", "", emptyRule)
		return value{}, false
	}
	if len(documents) > 1 {
		second := documents[1]
		r.add(second.Line, second.Column, "", "", "starts a second document; a configuration is one, so remove the --- or what follows")
	}
	first := documents[0].Content[0]
	root := value{node: first, line: first.Line, column: first.Column}
	if root.null() {
		r.add(1, 1, "", "", emptyRule)
		return value{}, false
	}
	r.spare = 10_000 + 10*count(root.node)
	return root, true
}

const emptyRule = "is empty; add jobs:, a list of jobs, each with a name, a schedule and one of " + kindList

// count is the number of nodes that are written in the file from n on, aliases not followed.
func count(n *yaml.Node) int {
	total := 1
	for _, child := range n.Content {
		total += count(child)
	}
	return total
}
