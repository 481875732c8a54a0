package console

import (
	"context"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/fleet"
)

const (
	// historyAge is for how long the history of a job that has not changed is not read again.
	historyAge = time.Minute
	// maxHistories bounds the histories that are kept.
	maxHistories = 1000
)

// keptHistories keeps the histories of jobs that pages of several show, until the status of the job
// has changed. It is safe for concurrent use.
type keptHistories struct {
	mu    sync.Mutex
	byJob map[string]keptHistory
}

type keptHistory struct {
	of      *fleet.JobStatus // when it was read
	read    time.Time
	history fleet.JobHistory
}

// readHistories reads the histories of several jobs, one a line, that have changed since they were
// read last.
func (c *Console) readHistories(ctx context.Context, lines string) (map[string]fleet.JobHistory, error) {
	s, err := c.snapshot.get(ctx)
	if err != nil {
		return nil, err
	}
	names := strings.Split(lines, "\n")
	c.monitor.Show(names)
	now := make(map[string]*fleet.JobStatus, len(names))
	for _, name := range names {
		now[name] = nil
	}
	for i := range s.Status.Jobs {
		if _, wanted := now[s.Status.Jobs[i].Name]; wanted {
			job := s.Status.Jobs[i] // kept without the others
			now[job.Name] = &job
		}
	}
	list, unread := c.kept.of(now)
	began := time.Now()
	read, err := c.fleet.Histories(ctx, unread)
	if err != nil {
		return nil, err
	}
	maps.Copy(list, read)
	c.kept.add(read, now, began)
	return list, nil
}

// of returns the histories of jobs that have this status, and the names of those that are to be
// read.
func (k *keptHistories) of(jobs map[string]*fleet.JobStatus) (list map[string]fleet.JobHistory, unread []string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list = make(map[string]fleet.JobHistory, len(jobs))
	for name, job := range jobs {
		if h := k.byJob[name]; job != nil && h.of != nil && time.Since(h.read) < historyAge && sameJob(h.of, job) {
			list[name] = h.history
		} else {
			unread = append(unread, name)
		}
	}
	return list, unread
}

func (k *keptHistories) add(read map[string]fleet.JobHistory, jobs map[string]*fleet.JobStatus, at time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.byJob == nil || len(k.byJob)+len(read) > maxHistories {
		k.byJob = map[string]keptHistory{}
	}
	for name, history := range read {
		k.byJob[name] = keptHistory{jobs[name], at, history}
	}
}

// forget makes the history of a job that was changed be read again.
func (k *keptHistories) forget(job string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.byJob, job)
}
