package zklease

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/go-zookeeper/zk"

	"github.com/solotick/solotick/internal/casstore"
	"github.com/solotick/solotick/internal/storekit"
)

// watch follows the values of a generation. A watch of ZooKeeper fires once, and says only that
// something has changed: reading the value sets the next one, so no change is missed, though several
// may be one. It ends with the connection, and is begun again by the caller.
type watch struct {
	mu    sync.Mutex
	paths map[string]struct{} // that have changed
	more  chan struct{}       // has an element when there are some, or an end
	ended error
}

// add notes that something has changed. It does not block.
func (w *watch) add(path string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.paths[path] = struct{}{}
	w.wakeLocked()
}

// end ends it: its watches are lost.
func (w *watch) end(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended == nil {
		w.ended = err
	}
	w.wakeLocked()
}

func (w *watch) wakeLocked() {
	select {
	case w.more <- struct{}{}:
	default: // it wakes anyway
	}
}

// take returns what has changed since it was called last.
func (w *watch) take(ctx context.Context) ([]string, error) {
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case <-w.more:
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended != nil {
		return nil, w.ended
	}
	paths := slices.Collect(maps.Keys(w.paths))
	clear(w.paths)
	return paths, nil
}

// Watch implements [casstore.Medium].
func (m *medium) Watch(ctx context.Context, changed func(key string, kept casstore.Kept), missed func()) error {
	w := &watch{paths: make(map[string]struct{}), more: make(chan struct{}, 1)}
	m.link.mu.Lock()
	m.link.watches[w] = struct{}{}
	m.link.mu.Unlock()
	defer func() {
		m.link.mu.Lock()
		delete(m.link.watches, w)
		m.link.mu.Unlock()
	}()
	t, err := m.open(ctx)
	if err != nil {
		return err
	}
	f := &follower{medium: m, tree: t, known: make(map[string]map[string]bool)}
	if err = f.begin(ctx); err == nil {
		missed()
	}
	for err == nil {
		var paths []string
		if paths, err = w.take(ctx); err == nil {
			err = f.follow(ctx, paths, changed)
		}
	}
	if errors.Is(err, errGone) {
		m.gone(t)
		return casstore.ErrWentBack
	}
	return err
}

// follower has a watch on each node of a generation.
type follower struct {
	*medium
	tree  *tree
	known map[string]map[string]bool // the values that are watched, by their buckets
}

// begin watches everything. Servers whose next change comes before one that was seen have gone back.
func (f *follower) begin(ctx context.Context) error {
	f.mu.Lock()
	newest := f.newest
	f.mu.Unlock()
	stat, err := f.writeClock(ctx, f.tree)
	if err != nil {
		return err
	}
	if stat.Mzxid <= newest {
		f.mu.Lock()
		f.newest = 0
		f.mu.Unlock()
		return casstore.ErrWentBack
	}
	var names []string
	for _, name := range nodes() {
		if name != "clock" {
			f.known[name] = make(map[string]bool)
			names = append(names, name)
		}
	}
	return f.list(ctx, names, nil)
}

// follow reads what has changed, and what has come to be.
func (f *follower) follow(ctx context.Context, paths []string, changed func(key string, kept casstore.Kept)) error {
	var keys, touched []string
	for _, path := range paths {
		switch bucket, child := f.tree.locate(path); {
		case f.known[bucket] == nil: // of another generation
		case child == "":
			touched = append(touched, bucket)
		default:
			if key, ok := keyOf(bucket, child); ok {
				keys = append(keys, key)
			}
		}
	}
	if err := f.read(ctx, keys, changed); err != nil {
		return err
	}
	return f.list(ctx, touched, changed)
}

// list watches for values in buckets.
func (f *follower) list(ctx context.Context, names []string, changed func(key string, kept casstore.Kept)) error {
	children := make([][]string, len(names))
	err := storekit.Each(len(names), func(i int) (err error) {
		children[i], err = f.children(ctx, f.tree.path+"/"+names[i])
		return err
	})
	if err != nil {
		return err
	}
	var fresh []string
	for i, name := range names {
		for _, child := range children[i] {
			if key, ok := keyOf(name, child); ok && !f.known[name][key] {
				fresh = append(fresh, key)
			}
		}
	}
	if changed != nil {
		return f.read(ctx, fresh, changed)
	}
	err = storekit.Each(len(fresh), func(i int) error {
		path := f.tree.valuePath(fresh[i])
		_, _, err := ask(ctx, f.link, func(c *zk.Conn) (bool, error) {
			defer f.link.flags.raise(path)()
			exists, _, err := c.Exists(path)
			return exists, err
		})
		return f.at(path, err)
	})
	for _, key := range fresh {
		f.known[bucketOf(key)][key] = true
	}
	return err
}

func (f *follower) children(ctx context.Context, path string) ([]string, error) {
	names, _, err := ask(ctx, f.link, func(c *zk.Conn) ([]string, error) {
		defer f.link.flags.raise(path)()
		names, _, err := c.Children(path)
		return names, err
	})
	if errors.Is(err, zk.ErrNoNode) {
		return nil, errGone
	}
	return names, f.at(path, err)
}

// read reads values and watches them.
func (f *follower) read(ctx context.Context, keys []string, changed func(key string, kept casstore.Kept)) error {
	list := make([]casstore.Kept, len(keys))
	err := storekit.Each(len(keys), func(i int) (err error) {
		list[i], _, err = f.get(ctx, f.tree, keys[i], func(c *zk.Conn, path string) ([]byte, *zk.Stat, error) {
			defer f.link.flags.raise(path)()
			return c.Get(path)
		})
		return err
	})
	if err != nil {
		return err
	}
	for i, key := range keys {
		if list[i].Revision != 0 {
			f.known[bucketOf(key)][key] = true
		} else {
			delete(f.known[bucketOf(key)], key)
		}
		changed(key, list[i])
	}
	return nil
}
