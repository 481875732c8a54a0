package console

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/solotick/solotick/fleet"
)

// definitions keeps what replicas have of jobs that this program does not define: a revision never
// changes. It is used by one read of the fleet at a time.
type definitions struct {
	byJob map[string]kept
}

// kept holds the texts of some revisions of a job.
type kept struct {
	revisions string
	list      []fleet.Definition
}

// definitionsAtOnce bounds how many jobs one read of the fleet asks for: those of a large fleet
// come in bit by bit.
const definitionsAtOnce = 500

// of returns the definitions of the jobs of a status that were not given, as far as they are known
// by now. A job whose definitions cannot be read is asked for again with the next read.
func (d *definitions) of(ctx context.Context, f *fleet.Fleet, s *fleet.Status) map[string][]fleet.Definition {
	replicas := make(map[string]*fleet.Replica, len(s.Replicas))
	for i := range s.Replicas {
		replicas[s.Replicas[i].ID] = &s.Replicas[i]
	}
	now := map[string]kept{}
	var unknown []string
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Given || len(j.Replicas) == 0 {
			continue
		}
		k := kept{revisions: revisionsOf(j, replicas)}
		if before := d.byJob[j.Name]; before.revisions == k.revisions && before.list != nil {
			k = before
		} else {
			unknown = append(unknown, j.Name)
		}
		now[j.Name] = k
	}
	if read, err := f.Definitions(ctx, s.Replicas, unknown[:min(len(unknown), definitionsAtOnce)]); err == nil {
		for name, list := range read {
			k := now[name]
			k.list = list
			now[name] = k
		}
	}
	d.byJob = now
	all := make(map[string][]fleet.Definition, len(now))
	for name, k := range now {
		if k.list != nil {
			all[name] = k.list
		}
	}
	return all
}

// revisionsOf names the revisions of a job that live.
func revisionsOf(j *fleet.JobStatus, replicas map[string]*fleet.Replica) string {
	if len(j.Revisions) > 0 {
		return strings.Join(slices.Sorted(maps.Keys(j.Revisions)), " ")
	}
	if r := replicas[j.Replicas[0]]; r != nil {
		return r.Jobs[j.Name]
	}
	return ""
}
