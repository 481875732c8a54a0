package fleet

import (
	"context"
	"slices"
	"sync"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/jobs"
)

// asked is a job that Status looks at.
type asked struct {
	name string
	job  *jobs.Job // nil when it was not given
}

// namesAtOnce is how many keys the store looks through for each page of names.
const namesAtOnce = 1000

// withLeftOver adds the jobs that only the store knows, sorted by name: those with a watermark.
// Other records are of leases that no job has. named says that only certain names are wanted.
func (f *Fleet) withLeftOver(ctx context.Context, all []asked, named bool) ([]asked, error) {
	if named {
		return all, nil
	}
	known := make(map[string]bool, len(all))
	for _, a := range all {
		known[a.name] = true
	}
	var unknown []string
	for cursor := ""; ; {
		names, next, err := f.store.Names(ctx, cursor, namesAtOnce)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			if !known[name] {
				known[name] = true
				unknown = append(unknown, name)
			}
		}
		if cursor = next; cursor == "" {
			break
		}
	}
	slices.Sort(unknown)
	for page := range slices.Chunk(unknown, protocol.MaxSummaries) {
		list, err := f.store.Summarize(ctx, page)
		if err != nil {
			return nil, err
		}
		for _, r := range list {
			if r.Watermark != 0 {
				all = append(all, asked{name: r.Name})
			}
		}
	}
	return all, nil
}

// summaries calls do with the summary of each job, in any order but one after the other.
func (f *Fleet) summaries(ctx context.Context, all []asked, do func(i int, r protocol.Summary)) error {
	pages := (len(all) + protocol.MaxSummaries - 1) / protocol.MaxSummaries
	var one sync.Mutex
	return together(ctx, pages, func(ctx context.Context, n int) error {
		from := n * protocol.MaxSummaries
		page := all[from:min(from+protocol.MaxSummaries, len(all))]
		names := make([]string, len(page))
		for i, a := range page {
			names[i] = a.name
		}
		list, err := f.store.Summarize(ctx, names)
		if err != nil {
			return err
		}
		one.Lock()
		defer one.Unlock()
		for i, r := range list {
			do(from+i, r)
		}
		return nil
	})
}
