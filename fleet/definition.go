package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/solotick/solotick/internal/wire"
)

// definitions returns the fields of each revision of a job that is kept; none where the store keeps
// no journals.
func (f *Fleet) definitions(ctx context.Context, job string) (map[string]map[string]string, error) {
	notes, err := f.store.Notes(ctx, wire.DefinitionsOf(job), 0)
	if err != nil {
		return nil, err
	}
	known := make(map[string]map[string]string, len(notes))
	for _, n := range notes {
		if fields, ok := wire.DefinitionFields(n.Text, job); ok {
			known[n.Request] = fields
		}
	}
	return known, nil
}

// Definitions returns the definitions that the replicas of a status have of several jobs, by their
// names, as [Description] has them. A job without any is left out.
func (f *Fleet) Definitions(ctx context.Context, replicas []Replica, names []string) (map[string][]Definition, error) {
	list := make([][]Definition, len(names))
	err := together(ctx, len(names), func(ctx context.Context, i int) error {
		known, err := f.definitions(ctx, names[i])
		d := Description{JobStatus: JobStatus{Name: names[i]}}
		d.define(nil, replicas, known)
		list[i] = d.Definitions
		return err
	})
	if err != nil {
		return nil, err
	}
	by := make(map[string][]Definition, len(names))
	for i, name := range names {
		if len(list[i]) > 0 {
			by[name] = list[i]
		}
	}
	return by, nil
}

// Differences returns the fields in which the definitions differ, sorted: none where one of them is
// not known.
func (d Description) Differences() (fields []string) {
	all := map[string]bool{}
	for _, def := range d.Definitions {
		if def.Fields == nil {
			return nil
		}
		for name := range def.Fields {
			all[name] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, def := range d.Definitions[1:] {
			if def.Fields[name] != d.Definitions[0].Fields[name] {
				fields = append(fields, name)
				break
			}
		}
	}
	return fields
}
