package jobs

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// Registry is a set of jobs with a name each. The zero value is empty and ready; a Registry must
// not be copied after first use. It is safe for concurrent use.
type Registry struct {
	mu     sync.RWMutex
	byName map[string]*Job
}

// Add adds jobs, all or none of them. The error joins a [*Fault] for each job that is nil, and for
// each name that the registry, or an earlier one of jobs, has already.
func (r *Registry) Add(jobs ...*Job) error {
	r.mu.Lock()
	defer r.mu.Unlock()

	var faults []error
	added := make(map[string]*Job, len(jobs))
	for i, job := range jobs {
		if job == nil {
			faults = append(faults, &Fault{Field: fmt.Sprintf("jobs[%d]", i), Value: "nil", Rule: "must be a job"})
			continue
		}
		name := job.Name()
		_, before := r.byName[name]
		_, now := added[name]
		if before || now {
			faults = append(faults, &Fault{Field: fmt.Sprintf("jobs[%d].name", i), Value: name,
				Rule: "must be unique: another job has this name; rename one of the two"})
		}
		added[name] = job
	}
	if len(faults) > 0 {
		return errors.Join(faults...)
	}
	if r.byName == nil {
		r.byName = added
		return nil
	}
	maps.Copy(r.byName, added)
	return nil
}

// Set adds jobs, each in place of the job that has its name, if there is one. Of several jobs of
// one name the last one stays. Jobs that are nil are left out.
func (r *Registry) Set(jobs ...*Job) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.byName == nil {
		r.byName = make(map[string]*Job, len(jobs))
	}
	for _, job := range jobs {
		if job != nil {
			r.byName[job.Name()] = job
		}
	}
}

// Remove removes the job of that name, and reports whether there was one.
func (r *Registry) Remove(name string) (removed bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, removed = r.byName[name]
	delete(r.byName, name)
	return removed
}

// Get returns the job of that name; ok reports whether there is one.
func (r *Registry) Get(name string) (job *Job, ok bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	job, ok = r.byName[name]
	return job, ok
}

// All returns the jobs, sorted by name. The slice is the caller's.
func (r *Registry) All() []*Job {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return slices.SortedFunc(maps.Values(r.byName), func(a, b *Job) int { return cmp.Compare(a.Name(), b.Name()) })
}
